//go:build replicas

package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/postgrestest"
	"github.com/sallyport-mcp/sallyport/transport/auth"
)

// cluster is a set of hosts that share one PostgreSQL database, behind haproxy.
//
//	clients ─▶ haproxy ─▶ replica ─▶ Line ─▶ PostgreSQL
//	                         └─▶ effectLedger
type cluster struct {
	t        *testing.T
	database *postgrestest.Server
	ledger   *effectLedger
	replicas []*replica
	url      string // of haproxy
	stats    string // of its table of hosts
	token    string
	binary   string // of the next start
	log      *os.File
}

// replica is one host, with a state folder and a way to the database of its own.
type replica struct {
	c       *cluster
	name    string
	address string
	admin   string
	plugins string
	config  string
	state   string
	line    *postgrestest.Line
	cmd     *exec.Cmd
	ended   chan error
}

// newCluster starts a database, three hosts and haproxy.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t, ledger: newEffectLedger(t)}
	var err error
	if c.database, err = postgrestest.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.database.Close() })
	dir := t.TempDir()
	if c.log, err = os.Create(filepath.Join(replicasLogs(t), t.Name()+".log")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.log.Close() })
	c.token = auth.New()
	tokens := filepath.Join(dir, "tokens")
	put(t, tokens, []byte(auth.Line("ann", c.token)+"\n"))
	if err := os.Chmod(tokens, 0o600); err != nil {
		t.Fatal(err)
	}
	if c.binary, err = os.Executable(); err != nil {
		t.Fatal(err)
	}
	keys, compiled := keyFile(t), compiledState(t, folder(t, guest(t, "effects")))
	for i := range 3 {
		r := &replica{c: c, name: fmt.Sprint("r", i+1), address: freeAddress(t), admin: freeAddress(t), line: c.database.NewLine(t),
			plugins: folder(t, guest(t, "effects")), config: filepath.Join(t.TempDir(), "sallyport.yaml"), state: filepath.Join(t.TempDir(), "state")}
		copyCompiled(t, compiled, r.state)
		put(t, r.config, []byte(c.settings(r, tokens, keys)))
		r.start()
		c.replicas = append(c.replicas, r)
		t.Cleanup(r.stop)
	}
	for _, r := range c.replicas {
		r.untilReady()
	}
	c.startBalancer(filepath.Join(dir, "haproxy.cfg"))
	return c
}

// replicasLogs returns the folder of the hosts' logs, which stays.
func replicasLogs(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(sharedState(t), "replicas")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func (c *cluster) settings(r *replica, tokens, keys string) string {
	return fmt.Sprintf(`store: %s
state_keys: %s
state: %s
console: "off"
http: {addr: "%s", tokens: %s, behind_proxy: true, proxies: [127.0.0.1], linger: 2s, drain: 10s, rate: 100000}
admin: {listen: "%s"}
plugins:
  effects:
    limits: {deadline: 60s, concurrency: 16}
    grants: [elicitation, "kv: 16MiB", "net: POST %s/once/**", {net: "POST %s/again/**", idempotent: true}]
`, r.line.URL, keys, r.state, r.address, tokens, r.admin, c.ledger.url, c.ledger.url)
}

// freeAddress returns an address of this machine that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// start starts the host, and does not wait for it.
func (r *replica) start() {
	cmd := exec.Command(r.c.binary, "serve", "--config", r.config, r.plugins)
	cmd.Env = append(os.Environ(), asProgram+"=1", "HOME="+filepath.Dir(r.config))
	cmd.Stderr = &namedLines{name: r.name, to: r.c.log}
	if err := cmd.Start(); err != nil {
		r.c.t.Error(err)
		return
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // ends with the program
	r.cmd, r.ended = cmd, ended
}

// untilReady waits until the host says that it is ready.
func (r *replica) untilReady() {
	for end := time.Now().Add(hang); time.Now().Before(end) && len(r.ended) == 0; time.Sleep(20 * time.Millisecond) {
		if answer, err := http.Get("http://" + r.admin + "/ready"); err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return
			}
		}
	}
	r.c.t.Errorf("%s is never ready: %s has its log", r.name, r.c.log.Name())
}

func (r *replica) signal(s os.Signal) {
	if err := r.cmd.Process.Signal(s); err != nil {
		r.c.t.Errorf("%s: %v", r.name, err)
	}
}

// kill ends the host at once.
func (r *replica) kill() {
	r.signal(syscall.SIGKILL)
	<-r.ended
}

// drain ends the host as a supervisor does, and waits for its end.
func (r *replica) drain() {
	r.signal(syscall.SIGTERM)
	select {
	case err := <-r.ended:
		if err != nil {
			r.c.t.Errorf("%s: stopped with %v, want success", r.name, err)
		}
	case <-time.After(hang):
		r.c.t.Errorf("%s does not end", r.name)
		r.kill()
	}
}

func (r *replica) stop() {
	_ = r.cmd.Process.Signal(syscall.SIGCONT)
	r.drain()
}

// startBalancer starts haproxy, with the requests in turn, those of sessions too.
func (c *cluster) startBalancer(file string) {
	at, stats := freeAddress(c.t), freeAddress(c.t)
	c.stats = "http://" + stats + "/;csv"
	var servers strings.Builder
	for _, r := range c.replicas {
		_, port, _ := net.SplitHostPort(r.admin)
		fmt.Fprintf(&servers, "  server %s %s check port %s\n", r.name, r.address, port)
	}
	startHaproxy(c.t, file, fmt.Sprintf(balancer, at, stats, servers.String()), c.log)
	c.url = "http://" + at + "/mcp"
	eventually(c.t, "haproxy serves", func() bool {
		answer, err := http.Get(c.url)
		if err != nil {
			return false
		}
		answer.Body.Close()
		return answer.StatusCode == http.StatusUnauthorized
	})
}

// startHaproxy starts haproxy with a configuration, which it writes to a file.
func startHaproxy(t *testing.T, file, config string, log io.Writer) {
	t.Helper()
	put(t, file, []byte(config))
	cmd := exec.Command("haproxy", "-db", "-f", file)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
}

// balancer is the configuration of haproxy in docs/operating.md, with short times. It repeats a request only if nothing
// of it was done.
const balancer = `global
  maxconn 4096
  tune.bufsize 65536
defaults
  mode http
  timeout connect 2s
  timeout client 2m
  timeout server 65s
  timeout http-request 10s
frontend mcp
  bind %s
  option httpclose
  default_backend replicas
frontend stats
  bind %s
  stats enable
  stats uri /
backend replicas
  balance roundrobin
  option forwardfor
  option redispatch 1
  retries 3
  retry-on conn-failure 503
  option httpchk
  http-check send meth GET uri /ready ver HTTP/1.1 hdr Host localhost
  default-server inter 300ms fastinter 200ms fall 2 rise 1
%s`

// namedLines writes lines with the name of their host.
type namedLines struct {
	name string
	to   io.Writer
	rest []byte
}

func (n *namedLines) Write(p []byte) (int, error) {
	n.rest = append(n.rest, p...)
	for {
		line, rest, found := bytes.Cut(n.rest, []byte("\n"))
		if !found {
			return len(p), nil
		}
		if _, err := fmt.Fprintf(n.to, "%s %s %s\n", time.Now().Format("15:04:05.000"), n.name, line); err != nil {
			return 0, err
		}
		n.rest = slices.Clone(rest)
	}
}

// effectLedger is the outside world, which counts each effect by its path, its key and its time.
type effectLedger struct {
	url string

	mu      sync.Mutex
	effects map[string][]string // idempotency keys of the requests, by path
}

func newEffectLedger(t *testing.T) *effectLedger {
	t.Helper()
	l := &effectLedger{effects: map[string][]string{}}
	server := &http.Server{Handler: l}
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(at) }() // ends with Close
	t.Cleanup(func() { _ = server.Close() })
	l.url = "http://" + at.Addr().String()
	return l
}

func (l *effectLedger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	l.effects[r.URL.Path] = append(l.effects[r.URL.Path], r.Header.Get("Idempotency-Key"))
	l.mu.Unlock()
	fmt.Fprint(w, "did ", r.URL.Path)
}

// times returns how often an effect was performed: requests with equal keys under /again/ are one.
func (l *effectLedger) times(path string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	keys := l.effects[path]
	if strings.HasPrefix(path, "/again/") {
		sorted := slices.Sorted(slices.Values(keys))
		return len(slices.Compact(sorted))
	}
	return len(keys)
}
