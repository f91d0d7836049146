package streamable

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// served is a site behind Listen and Serve.
type served struct {
	*site
	l    *Listener
	stop context.CancelFunc
	done chan error
}

func serve(t *testing.T, f *fake, o *Options) *served {
	t.Helper()
	if o.Addr == "" {
		o.Addr = "127.0.0.1:0"
	}
	l, err := Listen(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	h := newHandler(f, o)
	s := &served{&site{t, h, l.URL()}, l, stop, make(chan error, 1)}
	go func() { s.done <- l.Serve(ctx, h) }()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		stop()
	})
	return s
}

func (s *served) end() {
	s.t.Helper()
	s.stop()
	if err := receive(s.t, s.done); err != nil {
		s.t.Errorf("Serve: %v", err)
	}
}

// dial opens a raw connection.
func (s *served) dial() net.Conn {
	s.t.Helper()
	c, err := net.Dial("tcp", s.l.Addr().String())
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(patience))
	return c
}

// raw sends bytes and returns the status line of the response and the rest of the connection.
func raw(t *testing.T, c net.Conn, request string) (status, rest string) {
	t.Helper()
	go io.WriteString(c, request)
	all, _ := io.ReadAll(c) // a reset after the response is fine
	status, rest, _ = strings.Cut(string(all), "\r\n")
	return status, rest
}

func TestServe_answersMalformedHTTP(t *testing.T) {
	s := serve(t, newFake(), &Options{})
	for _, test := range []struct{ name, request, status string }{
		{"no http", "hello\r\n\r\n", "HTTP/1.1 400 Bad Request"},
		{"tls", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", "HTTP/1.1 400 Bad Request"},
		{"huge header", "POST /mcp HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 64<<10) + "\r\n\r\n", "HTTP/1.1 431 Request Header Fields Too Large"},
		{"many headers", "POST /mcp HTTP/1.1\r\nHost: localhost\r\n" + strings.Repeat("A: b\r\n", 20000) + "\r\n", "HTTP/1.1 431 Request Header Fields Too Large"},
		{"control in header", "POST /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Name: a\x01b\r\n\r\n", "HTTP/1.1 400 Bad Request"},
		{"two lengths", "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "HTTP/1.1 400 Bad Request"},
		{"two hosts", "POST /mcp HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n", "HTTP/1.1 400 Bad Request"},
		{"no host", "POST /mcp HTTP/1.0\r\n\r\n", "HTTP/1.0 403 Forbidden"},
		{"absolute evil url", "POST http://evil.example/mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", "HTTP/1.1 403 Forbidden"},
		{"huge length", "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n", "HTTP/1.1 413 Request Entity Too Large"},
		{"bad chunk", "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n", "HTTP/1.1 400 Bad Request"},
		{"endless chunks", "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.Repeat("100000\r\n"+strings.Repeat(" ", 1<<20)+"\r\n", 18), "HTTP/1.1 413 Request Entity Too Large"},
	} {
		if got, _ := raw(t, s.dial(), test.request); got != test.status {
			t.Errorf("%s: %q, want %q", test.name, got, test.status)
		}
	}
	s.want("the next call still works", "POST", callBody("echo", "hi"), modernHeaders("tools/call", "echo", nil), 200, `{"jsonrpc":"2.0","id":1,"result":"hi"}`)
	s.end()
}

const rawHead = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "

func TestServe_refusesSlowBodies(t *testing.T) {
	s := serve(t, newFake(), &Options{})
	s.h.bodyTimeout = 50 * time.Millisecond
	status, rest := raw(t, s.dial(), rawHead+"100\r\n\r\n{")
	if status != "HTTP/1.1 408 Request Timeout" || !strings.HasSuffix(rest, refused("the body took too long")) {
		t.Errorf("got %s\n%s", status, rest)
	}
	patient := serve(t, newFake(), &Options{})
	patient.h.bodyTimeout = 2 * patience // the body would be waited for longer than this test lasts
	evil := strings.Replace(rawHead, "Host", "Origin: http://evil\r\nHost", 1)
	if status, _ = raw(t, patient.dial(), evil+"100\r\n\r\n{"); status != "HTTP/1.1 403 Forbidden" {
		t.Errorf("got %s", status)
	}
	patient.end()
	c := s.dial()
	io.WriteString(c, rawHead+"100\r\n\r\n{")
	c.(*net.TCPConn).CloseWrite()
	status, rest = raw(t, c, "")
	if status != "HTTP/1.1 400 Bad Request" || !strings.HasSuffix(rest, refused("the body ended early")) {
		t.Errorf("got %s\n%s", status, rest)
	}
	s.end()
}

// TestServe_renewsDeadlinesForEachRequest sends a second request on a connection after the deadlines of the first.
func TestServe_renewsDeadlinesForEachRequest(t *testing.T) {
	s := serve(t, newFake(), &Options{})
	s.h.bodyTimeout = 500 * time.Millisecond
	c := s.dial()
	in := bufio.NewReader(c)
	for range 2 {
		body := callBody("echo", "hi")
		fmt.Fprintf(c, "%s%d\r\nMcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: echo\r\n\r\n%s", rawHead, len(body), body)
		r, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(r.Body)
		if r.StatusCode != 200 || !strings.Contains(string(got), `"hi"`) {
			t.Errorf("%d %s", r.StatusCode, got)
		}
		// A later slow body is refused even after the deadline of this one.
		if status, _ := raw(t, s.dial(), rawHead+"100\r\n\r\n{"); status != "HTTP/1.1 408 Request Timeout" {
			t.Errorf("got %s", status)
		}
	}
	c.Close()
	s.end()
}

func TestServe_boundsTheMemoryForBodies(t *testing.T) {
	s := serve(t, newFake(), &Options{})
	s.h.admission.bodies.left = 200 << 10
	big := callBody("quiet", strings.Repeat("x", 250<<10))
	small := callBody("quiet", strings.Repeat("x", 50<<10))
	extra := modernHeaders("tools/call", "quiet", nil)
	for range 3 { // resources are returned
		r := s.want("big", "POST", big, extra, 503, refused("too many large messages at once"))
		if r.Header.Get("Retry-After") != "1" {
			t.Error("no Retry-After")
		}
		s.want("small", "POST", small, extra, 200, doneBody)
	}
	s.h.admission.bodies.left = defaultBodies
	for range 3 {
		s.want("big", "POST", big, extra, 200, doneBody)
	}
	if left := s.h.admission.bodies.left; left != defaultBodies || len(s.h.admission.bodies.of) != 0 {
		t.Errorf("%d bytes are missing: %v", defaultBodies-left, s.h.admission.bodies.of)
	}
	s.end()
}

// Idle, refused or silent strangers, and a caller with many unfinished bodies, do not block other callers.
func TestServe_servesCallersBesideManyStrangers(t *testing.T) {
	f, log := newFake(), &logged{}
	s := serve(t, f, &Options{Tokens: tokens{"a": "alice", "e": "eve"}, Logger: slog.New(slog.NewTextHandler(log, nil))})
	for i := range 1100 {
		c := s.dial()
		if i%2 == 0 {
			go io.WriteString(c, "GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n")
		}
	}
	half := strings.Replace(rawHead, "\r\n", "\r\nAuthorization: Bearer e\r\n", 1) + "16000000\r\n\r\n" + strings.Repeat(" ", 1<<20)
	for range 40 {
		c := s.dial()
		go io.WriteString(c, half)
	}
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	alice := modernHeaders("tools/call", "echo", headers{"Authorization": "Bearer a"})
	for i := range 200 {
		text := "hi"
		if i%10 == 0 {
			text = strings.Repeat("x", 1<<20)
		}
		r, err := client.Do(s.request(t.Context(), "POST", callBody("echo", text), alice))
		if err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
		body, err := io.ReadAll(r.Body)
		r.Body.Close()
		if want := `{"jsonrpc":"2.0","id":1,"result":"` + text + `"}`; r.StatusCode != 200 || string(body) != want || err != nil {
			t.Fatalf("call %d: %d, %d bytes, %v", i, r.StatusCode, len(body), err)
		}
		if i%50 == 0 { // also on new connections
			client.CloseIdleConnections()
		}
	}
	for _, want := range []string{"most by 127.0.0.1", "setting=http.connections"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q: %s", want, log)
		}
	}
	client.CloseIdleConnections()
	s.h.cancel()
	s.stop()
}

// logged is a log buffer that is safe for concurrent use.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// A stranger has one attempt per connection. A caller keeps its connection, even after refusals.
func TestServe_givesStrangersOneAttemptPerConnection(t *testing.T) {
	s := serve(t, newFake(), &Options{Tokens: tokens{"a": "alice"}})
	s.h.bodyTimeout = 50 * time.Millisecond
	for _, test := range []struct{ name, request, status string }{
		{"no token", "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n", "HTTP/1.1 401 Unauthorized"},
		{"an unknown token", "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer x\r\n\r\n", "HTTP/1.1 401 Unauthorized"},
		{"another path", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 404 Not Found"},
		{"another host", "GET /mcp HTTP/1.1\r\nHost: evil\r\n\r\n", "HTTP/1.1 403 Forbidden"},
	} {
		if got, rest := raw(t, s.dial(), test.request); got != test.status || !strings.Contains(rest, "Connection: close\r\n") {
			t.Errorf("%s: %q\n%s", test.name, got, rest)
		}
	}
	c := s.dial()
	in := bufio.NewReader(c)
	for range 3 {
		io.WriteString(c, "PUT /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer a\r\n\r\n")
		r, err := http.ReadResponse(in, nil)
		if err != nil || r.StatusCode != 405 || r.Close {
			t.Fatalf("%v, %v", r, err)
		}
		io.Copy(io.Discard, r.Body)
	}
	c.Close()
	s.end()
}

// One caller has at most three quarters of the requests in flight, including streams.
func TestServe_limitsACallersShareOfRequests(t *testing.T) {
	f := newFake()
	s := serve(t, f, &Options{Connections: 64, Tokens: tokens{"a": "alice", "e": "eve"}})
	eve, alice := headers{"Authorization": "Bearer e"}, headers{"Authorization": "Bearer a"}
	in := headers{"Authorization": "Bearer e", "Mcp-Session-Id": s.begin(eve)}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	standing := s.open(ctx, "GET", "", in)
	s.reads(standing, priming("0-0"))
	var calls sync.WaitGroup
	for range 47 {
		calls.Go(func() {
			s.want("eve's", "POST", callBody("wait", ""), modernHeaders("tools/call", "wait", eve), 200, doneBody)
		})
		receive(t, f.entered)
	}
	r := s.want("one too many", "POST", callBody("echo", "hi"), modernHeaders("tools/call", "echo", eve), 429, refused("too many requests at once"))
	if r.Header.Get("Retry-After") != "1" {
		t.Error("no Retry-After")
	}
	s.want("alice's", "POST", callBody("echo", "hi"), modernHeaders("tools/call", "echo", alice), 200, `{"jsonrpc":"2.0","id":1,"result":"hi"}`)
	close(f.release)
	calls.Wait()
	s.want("eve's again", "POST", callBody("echo", "hi"), modernHeaders("tools/call", "echo", eve), 200, `{"jsonrpc":"2.0","id":1,"result":"hi"}`)
	cancel()
	http.DefaultClient.CloseIdleConnections()
	s.end()
	if len(s.h.admission.requests.of) != 0 || s.h.admission.requests.left != 64 {
		t.Errorf("%v, %d left", s.h.admission.requests.of, s.h.admission.requests.left)
	}
}

// A caller has at most a quarter of the memory for large messages.
func TestServe_limitsACallersShareOfBodies(t *testing.T) {
	s := serve(t, newFake(), &Options{Bodies: 1 << 20, MaxMessage: 200 << 10, Tokens: tokens{"a": "alice", "e": "eve"}})
	head := strings.Replace(rawHead, "\r\n", "\r\nAuthorization: Bearer e\r\n", 1)
	for range 2 { // of 400 KiB each
		go io.WriteString(s.dial(), head+"190000\r\n\r\n"+strings.Repeat(" ", 180000))
	}
	for s.shareOf("token:eve") < 380002 {
		runtime.Gosched()
	}
	big := callBody("quiet", strings.Repeat("x", 150<<10))
	ask := func(token string, status int, want string) {
		t.Helper()
		s.want(token, "POST", big, modernHeaders("tools/call", "quiet", headers{"Authorization": "Bearer " + token}), status, want)
	}
	ask("e", 503, refused("too many large messages at once"))
	ask("a", 200, doneBody)
	http.DefaultClient.CloseIdleConnections()
	s.stop()
}

func (s *served) shareOf(caller string) int {
	b := s.h.admission.bodies
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.of[caller]
}

func TestServe_shutdownWaitsForCalls(t *testing.T) {
	f := newFake()
	s := serve(t, f, &Options{})
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		s.want("call", "POST", callBody("wait", ""), modernHeaders("tools/call", "wait", nil), 200, doneBody)
	}()
	receive(t, f.entered)
	rests := s.dial() // it is closed by the shutdown, after the listener
	if err := s.request(t.Context(), "POST", callBody("echo", ""), modernHeaders("tools/call", "echo", nil)).Write(rests); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(rests)
	if response, err := http.ReadResponse(r, nil); err != nil {
		t.Fatal(err)
	} else if _, err := io.Copy(io.Discard, response.Body); err != nil || response.Close {
		t.Fatal("the connection does not stay:", err)
	}
	s.stop()
	if _, err := r.ReadByte(); err != io.EOF {
		t.Fatal(err)
	}
	if len(s.done) > 0 {
		t.Fatalf("Serve returned %v with a call in flight", <-s.done)
	}
	if c, err := net.Dial("tcp", s.l.Addr().String()); err == nil {
		c.Close()
		t.Error("a new connection is accepted")
	}
	close(f.release)
	<-answered
	s.end()
}

func TestServe_shutdownCancelsCallsAfterTheDrain(t *testing.T) {
	f := newFake()
	s := serve(t, f, &Options{Drain: 10 * time.Millisecond})
	in := headers{"Mcp-Session-Id": s.begin(nil)}
	answered := make(chan struct{}, 2)
	ask := func(body string, extra headers) {
		s.want("call", "POST", body, extra, 200, cancelledBody("1", "the server is shutting down"))
		answered <- struct{}{}
	}
	go ask(callBody("wait", ""), modernHeaders("tools/call", "wait", nil))
	go ask(legacyBody(1, "tools/call", `{"name":"wait"}`), in)
	for range 2 {
		receive(t, f.entered)
	}
	s.end()
	for range 2 {
		if err := receive(t, f.left); err != context.Canceled {
			t.Errorf("a call ended with %v", err)
		}
		receive(t, answered)
	}
	if f.connected.Load() != f.closed.Load() {
		t.Errorf("%d connected, %d closed", f.connected.Load(), f.closed.Load())
	}
}

func TestListen_refusesBadOptionsAndTakenAddresses(t *testing.T) {
	s := serve(t, newFake(), &Options{})
	if _, err := Listen(&Options{Addr: ":0"}); err == nil || !strings.HasPrefix(err.Error(), ":0 can be reached from other machines: ") {
		t.Errorf("got %v", err)
	}
	if _, err := Listen(&Options{Addr: s.l.Addr().String()}); err == nil {
		t.Error("the same address twice")
	}
	_, err := Listen(&Options{Addr: "127.0.0.1:0", TLSCert: "/none/cert", TLSKey: "/none/key"})
	if !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), "TLS: ") {
		t.Errorf("got %v", err)
	}
	s.end()
}

func TestListener_returnsTheURLOfItsEndpoint(t *testing.T) {
	s := serve(t, newFake(), &Options{Path: "/x"})
	if want := "http://" + s.l.Addr().String() + "/x"; s.l.URL() != want {
		t.Errorf("got %q, want %q", s.l.URL(), want)
	}
	s.end()
}

// shortDir returns a folder with a path short enough for a socket address.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// The caller on a unix socket is identified by the user that the kernel reports.
func TestServe_identifiesCallersOnAUnixSocket(t *testing.T) {
	f := newFake()
	path := filepath.Join(shortDir(t), "s")
	s := serve(t, f, &Options{Addr: "unix:" + path, Tokens: tokens{"secret": "ci"}})
	if s.url != "unix:"+path+"/mcp" {
		t.Errorf("URL %q", s.url)
	}
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", path) }}
	defer transport.CloseIdleConnections()
	s.url = "http://anything/mcp"
	r, err := (&http.Client{Transport: transport}).Do(s.request(t.Context(), "POST", callBody("echo", "hi"), modernHeaders("tools/call", "echo", nil)))
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(r.Body)
	r.Body.Close()
	if r.StatusCode != 200 || string(body) != `{"jsonrpc":"2.0","id":1,"result":"hi"}` {
		t.Errorf("%d %s", r.StatusCode, body)
	}
	if want := fmt.Sprintf("socket:%d", os.Geteuid()); f.principal() != want {
		t.Errorf("principal %q, want %q", f.principal(), want)
	}
	transport.CloseIdleConnections()
	s.end()
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
}

// overSocket sends one request through a unix socket and reads the whole response.
func (s *served) overSocket(path, method, endpoint, body string, extra headers) (int, string) {
	s.t.Helper()
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", path) }}
	defer transport.CloseIdleConnections()
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	s.url = "http://anything" + endpoint
	r, err := (&http.Client{Transport: transport}).Do(s.request(ctx, method, body, extra))
	if err != nil {
		s.t.Fatal(err)
	}
	defer r.Body.Close()
	if r.Header.Get("Content-Type") == "text/event-stream" {
		return r.StatusCode, "" // an endless stream
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return r.StatusCode, string(text)
}

// Behind a proxy the peer of a socket is the proxy: each request needs a token, at each endpoint, and headers of the
// client cannot replace it.
func TestServe_requiresTokensOnASocketBehindAProxy(t *testing.T) {
	f := newFake()
	path := filepath.Join(shortDir(t), "s")
	s := serve(t, f, &Options{Addr: "unix:" + path, BehindProxy: true, LegacySSE: true, Tokens: tokens{"secret": "ci"}})
	call := modernHeaders("tools/call", "echo", nil)
	none, unknown := refused(noToken), refused(unknownToken)
	for _, test := range []struct {
		name, method, endpoint string
		extra                  headers
		want                   string
	}{
		{"no token", "POST", "/mcp", nil, none},
		{"an unknown token", "POST", "/mcp", headers{"Authorization": "Bearer guess"}, unknown},
		{"an empty token", "POST", "/mcp", headers{"Authorization": "Bearer"}, unknown},
		{"another scheme", "POST", "/mcp", headers{"Authorization": "Basic secret"}, none},
		{"an address of this machine", "POST", "/mcp", headers{"X-Forwarded-For": "127.0.0.1"}, none},
		{"a user of this machine", "POST", "/mcp", headers{"X-Forwarded-User": "root", "X-Real-Ip": "@"}, none},
		{"a stream", "GET", "/mcp", nil, none},
		{"the end of a session", "DELETE", "/mcp", nil, none},
		{"the old stream", "GET", "/sse", nil, none},
		{"an old message", "POST", "/messages?sessionId=x", nil, none},
	} {
		extra := maps.Clone(call)
		maps.Copy(extra, test.extra)
		if status, body := s.overSocket(path, test.method, test.endpoint, callBody("echo", "hi"), extra); status != 401 || body != test.want {
			t.Errorf("%s: %d %s", test.name, status, body)
		}
	}
	if n := f.connected.Load(); n != 0 {
		t.Errorf("%d requests without a token reached the server", n)
	}
	call["Authorization"] = "Bearer secret"
	if status, body := s.overSocket(path, "POST", "/mcp", callBody("echo", "hi"), call); status != 200 || body != `{"jsonrpc":"2.0","id":1,"result":"hi"}` {
		t.Errorf("with the token: %d %s", status, body)
	}
	if status, _ := s.overSocket(path, "GET", "/sse", "", headers{"Authorization": "Bearer secret"}); status != 200 {
		t.Errorf("the old stream with the token: %d", status)
	}
	if got := f.principal(); got != "token:ci" {
		t.Errorf("principal %q", got)
	}
	s.end()
}

// A handler without tokens serves only its own machine, with any listener.
func TestHandler_withoutTokensServesItsOwnMachine(t *testing.T) {
	for _, o := range []*Options{{BehindProxy: true}, {Addr: ":8470"}, {Addr: "unix:/run/x", BehindProxy: true}} {
		s := start(t, newFake(), o)
		s.want(o.Addr, "POST", modernBody("tools/list", ""), modernHeaders("tools/list", "", headers{"X-Forwarded-For": "127.0.0.1"}), 401,
			refused("this server has no tokens and answers its own machine only"))
	}
}

func TestServe_acceptsOnlyModernTLS(t *testing.T) {
	dir := t.TempDir()
	pool := writeCertificate(t, dir)
	o := &Options{TLSCert: filepath.Join(dir, "cert.pem"), TLSKey: filepath.Join(dir, "key.pem")}
	s := serve(t, newFake(), o)
	if !strings.HasPrefix(s.url, "https://") {
		t.Errorf("URL %q", s.url)
	}
	for _, http2 := range []bool{false, true} {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: http2}
		r, err := (&http.Client{Transport: transport}).Do(s.request(t.Context(), "POST", callBody("talk", ""), modernHeaders("tools/call", "talk", nil)))
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(r.Body)
		r.Body.Close()
		if want := sse(progress(0)) + sse(progress(1)) + sse(doneBody); string(body) != want || (r.ProtoMajor == 2) != http2 {
			t.Errorf("%s: %s", r.Proto, body)
		}
		transport.CloseIdleConnections()
	}
	if status, _ := raw(t, s.dial(), "GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n"); status != "HTTP/1.0 400 Bad Request" {
		t.Errorf("in clear text: %q", status)
	}
	_, err := tls.Dial("tcp", s.l.Addr().String(), &tls.Config{RootCAs: pool, MaxVersion: tls.VersionTLS11})
	if err == nil {
		t.Error("TLS 1.1 is accepted")
	}
	s.end()
}

// writeCertificate makes a self-signed certificate for 127.0.0.1.
func writeCertificate(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	os.WriteFile(filepath.Join(dir, "cert.pem"), cert, 0o600)
	os.WriteFile(filepath.Join(dir, "key.pem"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), 0o600)
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(bytes.TrimSpace(cert)) {
		t.Fatal("no certificate")
	}
	return pool
}

// 0.0.0.0 is reachable over IPv4 only, and [::] over both versions.
func TestListen_opensTheIPVersionsOfItsAddress(t *testing.T) {
	for addr, want := range map[string]map[string]bool{
		"0.0.0.0:0": {"tcp4": true, "tcp6": false},
		"[::]:0":    {"tcp4": true, "tcp6": true},
	} {
		l, err := Listen(&Options{Addr: addr, BehindProxy: true, Tokens: tokens{}})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		port := l.Addr().(*net.TCPAddr).Port
		for network, reached := range want {
			here := map[string]string{"tcp4": "127.0.0.1", "tcp6": "::1"}[network]
			c, err := net.Dial(network, net.JoinHostPort(here, strconv.Itoa(port)))
			if got := err == nil; got != reached {
				t.Errorf("%s over %s: %v", addr, network, err)
			}
			if err == nil {
				c.Close()
			}
		}
	}
}
