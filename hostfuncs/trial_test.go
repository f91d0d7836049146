package hostfuncs_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/recording"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
	"github.com/sallyport-mcp/sallyport/internal/sealed"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// studio is a host that records the calls of one plugin.
type studio struct {
	t      *testing.T
	host   *hostfuncs.Host
	folder *recording.Folder
	plugin hostfuncs.Plugin
	now    time.Time
}

func newStudio(t *testing.T, o hostfuncs.Options, lines ...string) *studio {
	t.Helper()
	s := &studio{t: t, now: time.Now()}
	keys := sealed.Random()
	s.folder = recording.NewFolder(recording.Options{Dir: filepath.Join(t.TempDir(), "recorded"), Keys: func() (*sealed.Keys, error) { return keys, nil }})
	o.Recordings, o.State = s.folder, t.TempDir()
	s.host = hostfuncs.NewHost(&o)
	t.Cleanup(s.host.Close)
	s.plugin = hostfuncs.Plugin{Name: "demo", Digest: "sha256:1", Record: 7 * 24 * time.Hour, Grants: mustSet(t, lines...)}
	return s
}

// gate opens the gate of a call, or of a trial.
func (s *studio) gate(trial *recording.Call) *hostfuncs.Gate {
	s.t.Helper()
	g := s.host.Plugin(s.plugin).NewGate(hostfuncs.Call{ID: "c1", Principal: "stdio:1", Method: "tools/call", Tool: "send",
		Entry: grant.Entry{Kind: "tool", Name: "send"}, Params: json.RawMessage(`{"name":"send"}`), DryRun: trial != nil, Trial: trial})
	s.t.Cleanup(g.Close)
	return g
}

// record makes a call and returns its recording.
func (s *studio) record(do func(g *hostfuncs.Gate)) *recording.Call {
	s.t.Helper()
	g := s.gate(nil)
	do(g)
	g.Keep(json.RawMessage(`{"content":[]}`), nil)
	g.Close()
	calls, err := s.folder.Calls("demo", s.plugin.Record)
	if err != nil || len(calls.All) != 1 {
		s.t.Fatalf("got %d recorded calls, %v, want 1", len(calls.All), err)
	}
	return &calls.All[0]
}

// counted is a server that counts its connections.
func counted(t *testing.T, h http.HandlerFunc) (url string, connections *atomic.Int32) {
	t.Helper()
	connections = &atomic.Int32{}
	s := httptest.NewUnstartedServer(h)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s.URL, connections
}

// A trial takes the recorded answers, also of redirects and for other bodies and queries, and sends nothing, however it
// is granted.
func TestTrial_sendsNothing(t *testing.T) {
	at, connections := counted(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/old" {
			http.Redirect(w, r, "/new", http.StatusFound)
			return
		}
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s", r.Method, r.URL, body)
	})
	s := newStudio(t, hostfuncs.Options{}, "net: GET,POST "+at+"/**")
	post := func(path, body string) string {
		return fmt.Sprintf(`{"method":"POST","url":%q,"body":%q}`, at+path, body)
	}
	c := s.record(func(g *hostfuncs.Gate) {
		for _, params := range []string{get(at + "/old"), get(at + "/a?q=1"), post("/b", "one")} {
			if _, err := fetch(t, g, params); err != nil {
				t.Fatal(err)
			}
		}
	})
	before := connections.Load()
	if before == 0 {
		t.Fatal("the recorded call made no connection")
	}
	g := s.gate(c)
	for _, x := range []struct{ params, want string }{{get(at + "/old"), "GET /new "}, {get(at + "/a?q=2"), "GET /a?q=1 "}, {post("/b", "two"), "POST /b one"}} {
		if a, err := fetch(t, g, x.params); err != nil || a.text != x.want {
			t.Errorf("%s: got %q, %v, want the recorded %q", x.params, a.text, err, x.want)
		}
	}
	for _, params := range []string{get(at + "/other"), get("http://127.0.0.1:1/"), post("/b", "again"), get(at + "/old")} {
		if a, err := fetch(t, g, params); err == nil {
			t.Errorf("%s: got %q, want an error", params, a.text)
		}
	}
	trial := g.Tried(nil, nil)
	if n := connections.Load() - before; n != 0 {
		t.Errorf("got %d connections in the trial, want none", n)
	}
	compared := recording.NewComparison([]recording.Call{*c})
	compared.Add(c, &trial)
	var got []string
	for _, d := range compared.Report().Differences {
		got = append(got, fmt.Sprintf("%s %s %t", d.Kind, strings.TrimPrefix(d.What, "GET "+at), d.Denied))
	}
	want := "host GET http://127.0.0.1:1/ true, request /other false, request POST " + at + "/b false, request /old false, arguments /a false, arguments POST " + at + "/b false, answer send false"
	if strings.Join(got, ", ") != want {
		t.Errorf("got %s\nwant %s", strings.Join(got, ", "), want)
	}
}

// Neither keys nor files of a trial last, and the recorded file is read as it was, though it is changed or gone.
func TestTrial_writesNothing(t *testing.T) {
	dir := t.TempDir()
	kept := store.New(store.Options{Dir: t.TempDir()})
	t.Cleanup(func() { kept.Close() })
	s := newStudio(t, hostfuncs.Options{Store: kept}, "kv: 1MiB", "fs: write "+dir+"/**")
	changed, gone, written := filepath.Join(dir, "changed"), filepath.Join(dir, "gone"), filepath.Join(dir, "written")
	for _, path := range []string{changed, gone} {
		if err := os.WriteFile(path, []byte("as it was"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	use := func(g *hostfuncs.Gate, text string) {
		t.Helper()
		tree := g.WASI().Tree()
		for _, path := range []string{changed, gone} {
			if got, e := readFile(tree, path); got != "as it was" || e != wasi.ESUCCESS {
				t.Errorf("%s: got %q, %v, want its contents at the recording", path, got, e)
			}
			if st, e := tree.Stat(path, true); e != wasi.ESUCCESS || st.Size != 9 {
				t.Errorf("%s: got size %d, %v, want 9", path, st.Size, e)
			}
		}
		if e := writeFile(tree, written, text); e != wasi.ESUCCESS {
			t.Errorf("write: got %v", e)
		}
		if got, e := readFile(tree, written); got != text || e != wasi.ESUCCESS {
			t.Errorf("written: got %q, %v, want %q", got, e, text)
		}
		if _, err := g.Ask(t.Context(), "kv/set", json.RawMessage(`{"key":"k","value":"`+text+`"}`), nil); err != nil {
			t.Error(err)
		}
	}
	c := s.record(func(g *hostfuncs.Gate) {
		use(g, "first")
		if err := g.Land(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	if err := os.WriteFile(changed, []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	g := s.gate(c)
	use(g, "second")
	if err := g.Land(t.Context()); err != nil {
		t.Fatal(err)
	}
	trial := g.Tried(json.RawMessage(`{"content":[]}`), nil)
	g.Close()
	if raw, err := os.ReadFile(written); err != nil || string(raw) != "first" {
		t.Errorf("written: got %q, %v, want the text of the call that was performed", raw, err)
	}
	look := s.gate(nil)
	if raw, err := look.Ask(t.Context(), "kv/get", json.RawMessage(`{"key":"k"}`), nil); err != nil || !strings.Contains(string(raw), `"first"`) {
		t.Errorf("key: got %s, %v, want that of the call that was performed", raw, err)
	}
	compared := recording.NewComparison([]recording.Call{*c})
	compared.Add(c, &trial)
	for _, d := range compared.Report().Differences {
		if d.Kind != recording.Arguments || d.What != "store a value" {
			t.Errorf("got the difference %+v, want only the value", d)
		}
	}
}

// Values of secrets are not in a recording, whichever way the plugin uses them, and placeholders have names.
func TestRecording_holdsNoSecrets(t *testing.T) {
	t.Setenv("SALLYPORT_TEST_KEY", secretValue)
	var seen []string
	at := echo(t, &seen)
	s := newStudio(t, hostfuncs.Options{}, "net: GET,POST "+at+"/**",
		`secret: OPEN {from: env SALLYPORT_TEST_KEY, reveal: true}`,
		`secret: KEY {from: env SALLYPORT_TEST_KEY, to: `+at+`/v1/**, as: "Authorization: Bearer {secret}"}`)
	c := s.record(func(g *hostfuncs.Gate) {
		if raw, err := g.Ask(t.Context(), "secrets/get", json.RawMessage(`{"name":"OPEN"}`), nil); err != nil || !strings.Contains(string(raw), secretValue) {
			t.Fatalf("got %s, %v, want the value", raw, err)
		}
		for _, params := range []string{get(at + "/v1/a"), fmt.Sprintf(`{"method":"POST","url":%q,"body":"mine is %s"}`, at+"/b", secretValue)} {
			if _, err := fetch(t, g, params); err != nil {
				t.Fatal(err)
			}
		}
	})
	raw, err := json.Marshal(c)
	if err != nil || strings.Contains(string(raw), secretValue) {
		t.Errorf("got %s, %v, want no value in it", raw, err)
	}
	var names []string
	for _, x := range c.Exchanges {
		names = append(names, x.Secrets...)
		if strings.Contains(string(x.Request)+string(x.Outcome), secretValue) {
			t.Errorf("%s: got %q and %q, want no value in it", x.Act, x.Request, x.Outcome)
		}
	}
	if strings.Join(names, " ") != "KEY" {
		t.Errorf("got the secrets %v, want KEY in one request", names)
	}
	g := s.gate(c)
	raw, err = g.Ask(t.Context(), "secrets/get", json.RawMessage(`{"name":"OPEN"}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fetch(t, g, fmt.Sprintf(`{"method":"POST","url":"https://new.example/%s","body":%q}`, secretValue, raw)); err == nil {
		t.Error("a request to a new host: got an answer, want none")
	}
	trial := g.Tried(raw, &runtime.EndError{Kind: runtime.KindTrap, Message: "trapped with " + secretValue})
	if raw, err := json.Marshal(trial); err != nil || strings.Contains(string(raw), secretValue) || !strings.Contains(string(raw), "new.example") {
		t.Errorf("trial: got %s, %v, want the new host, and no value", raw, err)
	}
	for _, x := range trial.Exchanges {
		if strings.Contains(string(x.Request), secretValue) {
			t.Errorf("trial: %s: got %q, want no value in it", x.Act, x.Request)
		}
	}
}

// A call is recorded once it is over, within its bounds, and only if the operator asked for it.
func TestRecording_ofWhichCalls(t *testing.T) {
	at, _ := counted(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, recording.MaxCall)) })
	for name, c := range map[string]struct {
		record time.Duration
		call   hostfuncs.Call
		err    error
		large  bool
		want   int
	}{
		"a call":       {time.Hour, hostfuncs.Call{Method: "tools/call"}, nil, false, 1},
		"a failure":    {time.Hour, hostfuncs.Call{Method: "tools/call"}, &runtime.EndError{Kind: runtime.KindTrap, Message: "trapped"}, false, 1},
		"a prompt":     {time.Hour, hostfuncs.Call{Method: "prompts/get"}, nil, false, 1},
		"not asked":    {0, hostfuncs.Call{Method: "tools/call"}, nil, false, 0},
		"a list":       {time.Hour, hostfuncs.Call{Method: "tools/list"}, nil, false, 0},
		"a dry run":    {time.Hour, hostfuncs.Call{Method: "tools/call", DryRun: true}, nil, false, 0},
		"a question":   {time.Hour, hostfuncs.Call{Method: "tools/call"}, hostfuncs.ErrSuspended, false, 0},
		"a large call": {time.Hour, hostfuncs.Call{Method: "tools/call"}, nil, true, 0},
	} {
		s := newStudio(t, hostfuncs.Options{}, "net: GET "+at+"/**")
		s.plugin.Record = c.record
		g := s.host.Plugin(s.plugin).NewGate(c.call)
		if c.large {
			if a, err := fetch(t, g, get(at)); err != nil || len(a.text) != recording.MaxCall {
				t.Errorf("%s: got %d bytes, %v, want the whole answer", name, len(a.text), err)
			}
		}
		g.Keep(nil, c.err)
		g.Close()
		calls, err := s.folder.Calls("demo", time.Hour)
		if err != nil || len(calls.All) != c.want || calls.Damaged != 0 {
			t.Errorf("%s: got %d recorded calls, %v, want %d", name, len(calls.All), err, c.want)
		}
		if c.want == 1 && c.err != nil && !strings.Contains(calls.All[0].Failed, "trapped") {
			t.Errorf("%s: got %+v, want its failure", name, calls.All[0])
		}
	}
}
