//go:build replicas

package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// versions returns the versions of the hosts that answer, sorted.
func (c *cluster) versions() []string {
	var all []string
	for range 2 * len(c.replicas) {
		r := c.post(c.t.Context(), "", "server/discover", map[string]any{}, nil)
		var found struct {
			ServerInfo struct{ Version string }
			Meta       struct {
				Server struct{ Version string } `json:"io.modelcontextprotocol/serverInfo"`
			} `json:"_meta"`
		}
		if err := json.Unmarshal(r.asked, &found); err != nil || !r.ok() {
			c.t.Errorf("discover: got %s, %v", r.reason(), err)
			continue
		}
		all = append(all, found.ServerInfo.Version+found.Meta.Server.Version)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// nextVersion builds the program with another version.
func nextVersion(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	source, err := filepath.Abs(filepath.Join("internal", "host", "version.go"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	other, overlay := filepath.Join(dir, "version.go"), filepath.Join(dir, "overlay.json")
	put(t, other, regexp.MustCompile(`const next = ".*"`).ReplaceAll(text, []byte(`const next = "0.2.0-next"`)))
	replaced, err := json.Marshal(map[string]any{"Replace": map[string]string{source: other}})
	if err != nil {
		t.Fatal(err)
	}
	put(t, overlay, replaced)
	binary := filepath.Join(dir, "sallyport")
	if out, err := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-overlay", overlay, "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return binary
}

// rolling stops one host after the other, changes it while it is stopped, and starts it again.
func (c *cluster) rolling(change func(r *replica)) {
	for _, r := range c.replicas {
		r.drain()
		change(r)
		r.start()
		r.untilReady()
		eventually(c.t, "haproxy uses "+r.name, func() bool { return c.uses(r) })
	}
}

// uses reports whether haproxy sends requests to a host: it counts it as up.
func (c *cluster) uses(r *replica) bool {
	answer, err := http.Get(c.stats)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	table, err := io.ReadAll(answer.Body)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(table)) {
		if strings.HasPrefix(line, "replicas,"+r.name+",") {
			return strings.Contains(line, ",UP,")
		}
	}
	return false
}

// The drill of docs/operating.md: the program, a plugin and the configuration are updated, one host after the other, and no
// call fails.
func TestCluster_updatesWithoutAFailedCall(t *testing.T) {
	c := newCluster(t)
	newer, before := nextVersion(t), c.versions()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	l, stop := newLoad(ctx, c), make(chan struct{})
	l.strict = true
	var work sync.WaitGroup
	work.Go(func() {
		l.run(1, stop, "stateless", "plain effect", "keyed effect", "question", "task", "task heard", "kv", "session")
	})
	c.binary = newer
	c.rolling(func(*replica) {})
	after := c.versions()
	if len(before) != 1 || !slices.Equal(after, []string{"0.2.0-next"}) {
		t.Errorf("got versions %q and then %q, want one and then 0.2.0-next", before, after)
	}
	c.rolling(func(r *replica) {
		config, err := os.ReadFile(r.config)
		if err != nil {
			t.Error(err)
		}
		put(t, r.config, []byte(strings.Replace(string(config), "deadline: 60s", "deadline: 50s", 1)))
	})
	close(stop)
	work.Wait()

	// Calls that wait for an answer are bound to the plugin's bytes: these are without questions.
	stop = make(chan struct{})
	work.Go(func() { l.run(2, stop, "stateless", "plain effect", "keyed effect", "kv") })
	c.rolling(func(r *replica) {
		put(t, filepath.Join(r.plugins, "effects.wasm"), marked(t, guest(t, "effects"), "new"))
	})
	c.approve("effects")
	close(stop)
	work.Wait()
	l.check(t)
	l.print(t)
}

// approve approves the bytes of a plugin at one host, for all.
func (c *cluster) approve(plugin string) {
	r := c.replicas[0]
	cmd := exec.Command(c.binary, "approve", plugin, r.plugins, "--config", r.config)
	cmd.Env = append(os.Environ(), asProgram+"=1", "HOME="+filepath.Dir(r.config))
	if screen, code := answer(c.t, cmd, "y"); code != 0 {
		c.t.Errorf("approve: got exit code %d, want 0: %s", code, screen)
	}
}

// knownEverywhere begins a session of 2025-11-25 and uses it at each host.
func (c *cluster) knownEverywhere(l *load) string {
	session := l.initialize()
	for range 2 * len(c.replicas) {
		if r := c.post(c.t.Context(), session, "ping", map[string]any{}, nil); r.status != http.StatusOK || r.code != 0 {
			c.t.Errorf("a session at each host: got %s, want success", r.reason())
		}
	}
	return session
}

// servesKnown uses a session that the hosts know, while they cannot reach the database: calls that store nothing are served,
// its state and new sessions are refused.
func (c *cluster) servesKnown(name, session string) {
	count := map[string]any{"name": "effects-look", "arguments": effects("", step{"do": "count"})}
	if r := c.post(c.t.Context(), session, "tools/call", count, nil); !r.ok() {
		c.t.Errorf("%s: a call in a session: got %s, want success", name, r.reason())
	}
	if r := c.post(c.t.Context(), session, "logging/setLevel", map[string]any{"level": "error"}, nil); r.ok() || r.kind != "unavailable" {
		c.t.Errorf("%s: a change of the session: got %s, want unavailable", name, r.reason())
	}
	if r := c.post(c.t.Context(), strings.Repeat("A", 26), "ping", map[string]any{}, nil); r.status != http.StatusServiceUnavailable || !r.later {
		c.t.Errorf("%s: a session that is not known: got %s, want 503 with Retry-After", name, r.reason())
	}
}

// While the database is away, calls that store nothing are served, those that do are refused and say so, and nothing that
// was stored is lost.
func TestCluster_servesWithoutTheDatabase(t *testing.T) {
	c := newCluster(t)
	l := newLoad(t.Context(), c)
	if l.keepKey(1) != isDone {
		t.Fatal("the key is not kept")
	}
	session := c.knownEverywhere(l)
	for name, lose := range map[string]func(r *replica){
		"cut":    func(r *replica) { r.line.Cut() },
		"silent": func(r *replica) { r.line.Silence() },
	} {
		for _, r := range c.replicas {
			lose(r)
		}
		for range 2 * len(c.replicas) {
			for method, params := range map[string]map[string]any{"tools/list": {}, "tools/call": keyed("effects-look", "", step{"do": "count"})} {
				if r := c.post(t.Context(), "", method, params, nil); !r.ok() {
					t.Errorf("%s: %s: got %s, want success", name, method, r.reason())
				}
			}
			c.servesKnown(name, session)
			path := l.path("refused", 0, l.tries())
			for tool, params := range map[string]map[string]any{
				"a key":  keyed("effects-run", path, l.fetch(path)),
				"a task": keyed("effects-job", "", l.fetch(path)),
				"kv":     keyed("effects-run", "", step{"do": "ask", "text": "kv/set", "params": map[string]any{"key": "k", "value": 1}}),
			} {
				r := c.post(t.Context(), "", "tools/call", params, nil)
				if r.ok() || r.kind != "unavailable" || !r.again || !strings.Contains(r.text(), "kept") && !strings.Contains(r.text(), "nothing was written") {
					t.Errorf("%s: %s: got %s %s, want a refusal that says so", name, tool, r.reason(), r.text())
				}
			}
			l.tell(path, isRefused)
		}
		for _, r := range c.replicas {
			r.line.Mend()
		}
		if l.keepKey(2) != isDone || l.polledTask(2) != isDone {
			t.Errorf("after %s: got no success", name)
		}
		l.posts(session, "initialized", http.MethodPost, map[string]any{"method": "notifications/initialized"}, http.StatusAccepted)
	}
	l.check(t)
}
