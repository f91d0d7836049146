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
	"github.com/sallyport-mcp/sallyport/protocol"
	"github.com/sallyport-mcp/sallyport/protocol/sealed"
	"github.com/sallyport-mcp/sallyport/registry"
)

// world is one state folder with two hosts on it, the files that plugins write, and a server on the network that counts
// what arrives. Schedules run in it one after the other.
type world struct {
	t      testing.TB
	dir    string
	keys   *sealed.Keys
	secret string // that they are made of
	up     *httptest.Server
	mu     sync.Mutex
	hosts  [2]*host

	current atomic.Pointer[schedule]
	opened  int
}

// newWorld makes a world, in memory where the system has a file system there: crashes are of processes.
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

// host is one process, as far as one can die within a test: from its death on nothing that it does lasts or leaves.
type host struct {
	world    *world
	name     string
	dead     atomic.Bool
	die      func() // where it dies in truth
	store    *store.Store
	gates    *hostfuncs.Host
	registry *registry.Registry
	server   *protocol.Server
}

// died is the panic of what a host does after its death.
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
	h.store = store.New(store.Options{Dir: state, Reached: func(step string) error { return h.reached("store " + step) }})
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

// grants are the lines of a plugin. The one that is called by the other asks nobody.
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

// reached is a step of the host that a crash would leave behind.
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

// reap starts hosts in the place of those that died.
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

// all are the hosts.
func (w *world) all() [2]*host {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.hosts
}

// serve is the server on the network. A request of a host that has died was never sent.
func (w *world) serve(rw http.ResponseWriter, r *http.Request) {
	var from *host
	for _, h := range w.all() {
		if h.name == r.UserAgent() {
			from = h
		}
	}
	s := w.current.Load()
	if from == nil && s != nil && strings.HasPrefix(r.UserAgent(), "host-") && !strings.HasPrefix(r.UserAgent(), fmt.Sprintf("host-%d-", os.Getpid())) {
		from = &host{name: r.UserAgent()} // of another process
	}
	if from == nil || from.dead.Load() || s == nil {
		panic(http.ErrAbortHandler)
	}
	s.serve(from, rw, r)
}

// tally is the closing table.
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
