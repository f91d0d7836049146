package streamable

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

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
			t.Fatalf("call %d: got %v, want no error", i, err)
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
