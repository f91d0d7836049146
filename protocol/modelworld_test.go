package protocol_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/egress"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store/storetest"
	"github.com/sallyport-mcp/sallyport/internal/sealed"
	"github.com/sallyport-mcp/sallyport/protocol"
	"github.com/sallyport-mcp/sallyport/registry"
)

// world is one state folder with two hosts, the files written by plugins, and an HTTP server that counts requests.
// It runs one schedule at a time.
type world struct {
	t      testing.TB
	dir    string
	keys   *sealed.Keys
	secret string // source of the keys
	up     *httptest.Server
	mu     sync.Mutex
	hosts  [2]*host

	current atomic.Pointer[schedule]
	opened  int
}

// newWorld creates a world, in memory where the system offers it, as only processes crash.
func newWorld(t testing.TB) *world {
	dir, err := os.MkdirTemp("/dev/shm", "sallyport-model-")
	if err != nil {
		dir = t.TempDir()
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: dir, secret: hex.EncodeToString(sealed.RandomKey())}
	if w.keys, err = sealed.NewKeys([]byte(w.secret)); err != nil {
		t.Fatal(err)
	}
	w.up = httptest.NewServer(http.HandlerFunc(w.serve))
	for _, name := range []string{"files", "direct"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for i := range w.hosts {
		w.hosts[i] = w.open()
	}
	t.Cleanup(func() {
		for _, h := range w.all() {
			h.close()
		}
		w.up.Close()
		_ = os.RemoveAll(dir)
	})
	return w
}

// host is a simulated process. After its death none of its operations has an effect.
type host struct {
	world    *world
	name     string
	dead     atomic.Bool
	die      func() // kills the real process
	store    *store.Store
	gates    *hostfuncs.Host
	registry *registry.Registry
	server   *protocol.Server
}

// died is the panic of an operation after the host's death.
type died struct{}

var errDied = errors.New("the host is dead")

const manifest = `{"name":"p","tools":[
	{"name":"run","description":"runs a program","inputSchema":{"type":"object"}},
	{"name":"job","description":"runs a program as a task","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}]}`

// open starts a host on the state folder, as sallyport does.
func (w *world) open() *host {
	w.opened++
	h := &host{world: w, name: fmt.Sprintf("host-%d-%d", os.Getpid(), w.opened)}
	state := filepath.Join(w.dir, "state")
	o := storetest.Options(w.t, state)
	o.Reached = func(step string) error {
		if step == "read" { // changes nothing
			return nil
		}
		return h.reached("store " + step)
	}
	h.store = store.New(o)
	h.gates = hostfuncs.NewHost(&hostfuncs.Options{Store: h.store, State: state, Web: egress.Options{UserAgent: h.name}, Reached: func(step string) {
		if h.reached(step) != nil {
			panic(died{})
		}
	}})
	if err := h.gates.Recover(); err != nil {
		w.t.Errorf("recovery: %v", err)
	}
	r, err := registry.New(context.Background(), registry.Options{Host: h.gates})
	if err != nil {
		w.t.Fatal(err)
	}
	h.registry = r
	plugins := map[string]registry.Config{}
	for _, name := range []string{"p", "q"} {
		if err := r.AddGo(name, []byte(strings.Replace(manifest, `"p"`, fmt.Sprintf("%q", name), 1)), h.guest); err != nil {
			w.t.Fatal(err)
		}
		plugins[name] = registry.Config{Grants: w.grants(name)}
	}
	if err := r.Configure(plugins); err != nil {
		w.t.Fatal(err)
	}
	h.server = protocol.NewServer(r, &protocol.Options{Keys: w.keys, Store: h.store})
	return h
}

// grants returns the grants of a plugin. The called plugin has none that ask.
func (w *world) grants(name string) *grant.Set {
	lines := []string{
		"kv: 1MiB", "fs: write " + w.dir + "/files/**", "fs: write " + w.dir + "/direct/** {mode: direct}",
		"net: GET " + w.up.URL + "/**", "net: POST " + w.up.URL + "/free/**",
	}
	if name == "p" {
		lines = append(lines, "elicitation", "net: POST "+w.up.URL+"/asked/** {ask: true}", "tools: q-run {any: true}")
	}
	s := grant.NewSet()
	for _, line := range lines {
		g, err := grant.ParseLine(line)
		if err != nil {
			w.t.Fatal(line, err)
		}
		s = s.With(g)
	}
	return s
}

// reached is called at each durable step of the host.
func (h *host) reached(step string) error {
	if h.dead.Load() {
		return errDied
	}
	if s := h.world.current.Load(); s != nil && s.event(h, step) {
		if h.dead.Store(true); h.die != nil {
			h.die()
		}
		return errDied
	}
	return nil
}

func (h *host) close() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = h.server.Close(ctx)
	_ = h.registry.Close(ctx)
	h.gates.Close()
	_ = h.store.Close()
}

// reap replaces dead hosts by new ones.
func (w *world) reap() {
	for i, h := range w.all() {
		if h.dead.Load() {
			h.close()
			next := w.open()
			w.mu.Lock()
			w.hosts[i] = next
			w.mu.Unlock()
		}
	}
}

// all returns the hosts.
func (w *world) all() [2]*host {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.hosts
}

// serve is the HTTP server. Requests of dead hosts do not count as sent.
func (w *world) serve(rw http.ResponseWriter, r *http.Request) {
	var from *host
	for _, h := range w.all() {
		if h.name == r.UserAgent() {
			from = h
		}
	}
	s := w.current.Load()
	if from == nil && s != nil && strings.HasPrefix(r.UserAgent(), "host-") && !strings.HasPrefix(r.UserAgent(), fmt.Sprintf("host-%d-", os.Getpid())) {
		from = &host{name: r.UserAgent()} // from another process
	}
	if from == nil || from.dead.Load() || s == nil {
		panic(http.ErrAbortHandler)
	}
	s.serve(from, rw, r)
}

// tally counts events for the final table.
type tally struct {
	mu     sync.Mutex
	counts map[string]int
}

func (t *tally) add(what string, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = map[string]int{}
	}
	t.counts[what] += n
}
