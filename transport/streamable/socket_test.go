package streamable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

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
		t.Errorf("got %d %s; want 200, %s", r.StatusCode, body, `{"jsonrpc":"2.0","id":1,"result":"hi"}`)
	}
	if want := fmt.Sprintf("socket:%d", os.Geteuid()); f.principal() != want {
		t.Errorf("principal %q, want %q", f.principal(), want)
	}
	transport.CloseIdleConnections()
	s.end()
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is still there: got %v, want %v", err, fs.ErrNotExist)
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
			t.Errorf("%s: got %d %s; want 401, %s", test.name, status, body, test.want)
		}
	}
	if n := f.connected.Load(); n != 0 {
		t.Errorf("%d requests without a token reached the server", n)
	}
	call["Authorization"] = "Bearer secret"
	if status, body := s.overSocket(path, "POST", "/mcp", callBody("echo", "hi"), call); status != 200 || body != `{"jsonrpc":"2.0","id":1,"result":"hi"}` {
		t.Errorf("with the token: got %d %s; want 200, %s", status, body, `{"jsonrpc":"2.0","id":1,"result":"hi"}`)
	}
	if status, _ := s.overSocket(path, "GET", "/sse", "", headers{"Authorization": "Bearer secret"}); status != 200 {
		t.Errorf("the old stream with the token: got %d, want 200", status)
	}
	if got := f.principal(); got != "token:ci" {
		t.Errorf("principal %q", got)
	}
	s.end()
}
