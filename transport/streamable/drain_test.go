package streamable

import (
	"io"
	"net/http"
	"testing"
)

// A host that drains refuses requests, which another one can serve, and takes what its running calls need.
func TestHandler_refusesRequestsWhileItDrains(t *testing.T) {
	f := newFake()
	s := start(t, f, &Options{LegacySSE: true})
	in := headers{"Mcp-Session-Id": s.begin(nil)}
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		s.want("a running call", "POST", legacyBody(1, "tools/call", `{"name":"wait"}`), in, 200, doneBody)
	}()
	receive(t, f.entered)
	s.h.settle()
	const over = "the server is shutting down"
	for _, test := range []struct {
		name, method, body string
		extra              headers
		want               string
	}{
		{"a modern call", "POST", callBody("echo", "x"), modernHeaders("tools/call", "echo", nil), errorBody("1", -32600, over)},
		{"a modern subscription", "POST", modernBody("subscriptions/listen", ""), modernHeaders("subscriptions/listen", "", nil), errorBody("1", -32600, over)},
		{"a call of the session", "POST", legacyBody(7, "tools/call", `{"name":"echo"}`), in, errorBody("7", -32600, over)},
		{"a new session", "POST", initializeBody, nil, errorBody("0", -32600, over)},
		{"a batch", "POST", "[" + legacyBody(1, "ping", "{}") + "]", in, refused(over)},
		{"a stream of the session", "GET", "", in, refused(over)},
	} {
		r := s.want(test.name, test.method, test.body, test.extra, 503, test.want)
		if r.Header.Get("Retry-After") != "1" || !r.Close {
			t.Errorf("%s: got Retry-After %q and close %v, want 1 and true", test.name, r.Header.Get("Retry-After"), r.Close)
		}
	}
	s.want("an answer of the client", "POST", `{"jsonrpc":"2.0","id":9,"result":{}}`, in, 202, "")
	s.want("a notification", "POST", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}`, in, 202, "")
	close(f.release)
	<-answered
	if got := f.connected.Load(); got != 1 {
		t.Errorf("got %d connections to the server, want the session's alone", got)
	}
}

// Before it drains, a host that will stop serves on, and asks clients to use another connection.
func TestHandler_closesConnectionsBeforeItStops(t *testing.T) {
	leaving := make(chan struct{})
	s := start(t, newFake(), &Options{Leaving: leaving})
	ask := func(want bool) {
		t.Helper()
		r := s.want("a call", "POST", callBody("echo", "hi"), modernHeaders("tools/call", "echo", nil), 200, `{"jsonrpc":"2.0","id":1,"result":"hi"}`)
		if r.Close != want {
			t.Errorf("got close %v, want %v", r.Close, want)
		}
	}
	ask(false)
	close(leaving)
	ask(true)
	response, err := http.DefaultClient.Do(s.request(t.Context(), "POST", callBody("talk", ""), modernHeaders("tools/call", "talk", nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err != nil || string(body) != sse(progress(0))+sse(progress(1))+sse(doneBody) || !response.Close {
		t.Errorf("got %s, %v, close %v; want a whole stream on a connection that closes", body, err, response.Close)
	}
}
