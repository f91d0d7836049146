package streamable

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"regexp"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport-mcp/sallyport/protocol"
)

func TestLegacy_sessionLastsFromInitializeToDelete(t *testing.T) {
	f := newFake()
	s := start(t, f, nil)
	id := s.begin(nil)
	if !regexp.MustCompile(`^[A-Z2-7]{26,}$`).MatchString(id) {
		t.Errorf("session id %q", id)
	}
	if other := s.begin(nil); other == id {
		t.Error("two sessions of one id")
	}
	in := headers{"Mcp-Session-Id": id}
	initialized := `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	s.want("initialized", "POST", initialized, in, 202, "")
	s.want("ping", "POST", legacyBody(1, "ping", "{}"), in, 200, okBody)
	s.want("response", "POST", `{"jsonrpc":"2.0","id":9,"result":{}}`, in, 202, "")
	s.want("unknown method", "POST", legacyBody(1, "none", "{}"), in, 200, errorBody("1", -32601, "no"))
	s.want("error", "POST", legacyBody(1, "tools/call", `{"name":"error","arguments":{"code":-32602}}`), in, 200, errorBody("1", -32602, "no"))
	s.want("stream", "POST", legacyBody(1, "tools/call", `{"name":"talk"}`), in, 200,
		priming("1-0")+eventID("1-1", progress(0))+eventID("1-2", progress(1))+eventID("1-3", doneBody))
	s.want("batch", "POST", `[`+initialized[:len(initialized)-2]+`"},{}]`, in, 202, "")

	s.want("DELETE", "DELETE", "", in, 204, "")
	s.want("ping after DELETE", "POST", legacyBody(1, "ping", "{}"), in, 404, errorBody("1", -32600, "there is no such session (any more): begin with initialize"))
	s.want("notification after DELETE", "POST", initialized, in, 404, refused("there is no such session (any more): begin with initialize"))
	s.want("second DELETE", "DELETE", "", in, 404, refused("there is no such session (any more): begin with initialize"))
	if f.closed.Load() != 1 {
		t.Errorf("%d conns closed", f.closed.Load())
	}
}

func TestLegacy_requiresASession(t *testing.T) {
	s := start(t, newFake(), nil)
	s.want("ping", "POST", legacyBody(1, "ping", "{}"), nil, 400,
		errorBody("1", -32600, "the Mcp-Session-Id header is missing: a session begins with initialize"))
	s.want("initialized", "POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil, 400,
		refused("the Mcp-Session-Id header is missing: a session begins with initialize"))
	s.want("unknown", "POST", legacyBody(1, "ping", "{}"), headers{"Mcp-Session-Id": "guess"}, 404,
		errorBody("1", -32600, "there is no such session (any more): begin with initialize"))
	s.want("DELETE", "DELETE", "", nil, 400, refused("the Mcp-Session-Id header is missing: a session begins with initialize"))
	two := headers{"Mcp-Session-Id": "a\nb"}
	s.want("two sessions", "POST", legacyBody(1, "ping", "{}"), two, 400, errorBody("1", -32600, "more than one Mcp-Session-Id header"))
	s.want("DELETE of two", "DELETE", "", two, 400, refused("more than one Mcp-Session-Id header"))
}

func TestLegacy_failedInitializeBeginsNoSession(t *testing.T) {
	f := newFake()
	s := start(t, f, nil)
	r := s.want("initialize", "POST", legacyBody(1, "initialize", `{"protocolVersion":"none"}`), nil, 200, errorBody("1", -32602, "no"))
	if id := r.Header.Get("Mcp-Session-Id"); id != "" || f.closed.Load() != 1 {
		t.Errorf("session %q, %d conns closed", id, f.closed.Load())
	}
}

func TestLegacy_refusesUnknownVersionHeaders(t *testing.T) {
	s := start(t, newFake(), nil)
	in := headers{"Mcp-Session-Id": s.begin(headers{"Mcp-Protocol-Version": "2025-11-25"})}
	for _, version := range []string{"2025-11-25", "2025-06-18", "2025-03-26", "-"} {
		in["Mcp-Protocol-Version"] = version
		s.want(version, "POST", legacyBody(1, "ping", "{}"), in, 200, okBody)
	}
	for _, version := range []string{"2024-01-01", "banana", "1"} {
		in["Mcp-Protocol-Version"] = version
		want := `"error":{"code":-32022,"message":"unsupported protocol version","data":{"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"requested":"` + version + `"}}}`
		s.want(version, "POST", legacyBody(1, "ping", "{}"), in, 400, `{"jsonrpc":"2.0","id":1,`+want)
		s.want("batch "+version, "POST", "[]", in, 400, `{"jsonrpc":"2.0",`+want)
		if version < "2026" {
			s.want("DELETE "+version, "DELETE", "", in, 400, `{"jsonrpc":"2.0",`+want)
		}
	}
	in["Mcp-Protocol-Version"] = "2025-11-25\n2025-11-25"
	s.want("two", "POST", legacyBody(1, "ping", "{}"), in, 400, errorBody("1", -32020, "more than one Mcp-Protocol-Version header"))
}

func TestLegacy_answersABatch(t *testing.T) {
	s := start(t, newFake(), nil)
	in := headers{"Mcp-Session-Id": s.begin(nil)}
	s.want("two", "POST", ` [{},{}]`, in, 200, `["2 messages"]`)
	s.want("empty", "POST", `[]`, in, 400, unreadable("invalid request: an empty batch"))
	s.want("no session", "POST", `[{}]`, nil, 400, refused("a batch needs a session of protocol version 2025-03-26"))
}

func TestLegacy_sessionBelongsToItsPrincipal(t *testing.T) {
	f := newFake()
	s := start(t, f, &Options{Tokens: tokens{"a": "alice", "b": "bob"}})
	id := s.begin(headers{"Authorization": "Bearer a"})
	if got := f.principal(); got != "token:alice" {
		t.Errorf("principal %q", got)
	}
	gone := "there is no such session (any more): begin with initialize"
	bob := headers{"Mcp-Session-Id": id, "Authorization": "Bearer b"}
	s.want("bob", "POST", legacyBody(1, "ping", "{}"), bob, 404, errorBody("1", -32600, gone))
	s.want("bob's DELETE", "DELETE", "", bob, 404, refused(gone))
	s.want("nobody", "POST", legacyBody(1, "ping", "{}"), headers{"Mcp-Session-Id": id}, 401, refused(noToken))
	s.want("alice", "POST", legacyBody(1, "ping", "{}"), headers{"Mcp-Session-Id": id, "Authorization": "Bearer a"}, 200, okBody)
}

// A disconnect does not cancel, as old revisions require.
func TestLegacy_callsContinueAfterADisconnect(t *testing.T) {
	f := newFake()
	h, contexts := newHandler(f, nil), make(chan context.Context, 9)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		contexts <- r.Context()
		h.ServeHTTP(w, r)
	}))
	defer web.Close()
	defer h.Close()
	s := &site{t, h, web.URL + "/mcp"}
	in := headers{"Mcp-Session-Id": s.begin(nil)}
	for len(contexts) > 0 {
		<-contexts
	}
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() {
		r, err := http.DefaultClient.Do(s.request(ctx, "POST", legacyBody(1, "tools/call", `{"name":"wait"}`), in))
		if err == nil {
			r.Body.Close()
		}
		gone <- err
	}()
	receive(t, f.entered)
	leave()
	<-gone
	receive(t, receive(t, contexts).Done()) // the server has noticed it
	s.want("the session goes on", "POST", legacyBody(1, "ping", "{}"), in, 200, okBody)
	if len(f.left) > 0 {
		t.Fatalf("the call ended with %v", <-f.left)
	}
	close(f.release)
	if err := receive(t, f.left); err != nil {
		t.Errorf("the call ended with %v", err)
	}
}

// TestLegacy_deleteCancelsCalls ends a session with a call in flight.
func TestLegacy_deleteCancelsCalls(t *testing.T) {
	f := newFake()
	s := start(t, f, nil)
	in := headers{"Mcp-Session-Id": s.begin(nil)}
	called := make(chan struct{})
	go func() {
		defer close(called)
		s.want("call", "POST", legacyBody(1, "tools/call", `{"name":"wait"}`), in, 200, cancelledBody("1", "the session has ended"))
	}()
	receive(t, f.entered)
	s.want("DELETE", "DELETE", "", in, 204, "")
	<-called
	if err := receive(t, f.left); err != context.Canceled {
		t.Errorf("the call ended with %v", err)
	}
}

func TestSessions_areBoundedInNumber(t *testing.T) {
	f := newFake()
	s := start(t, f, &Options{Sessions: 2, Tokens: tokens{"a": "alice", "b": "bob"}})
	alice := func(id string) headers { return headers{"Authorization": "Bearer a", "Mcp-Session-Id": id} }
	first, second := s.begin(alice("-")), s.begin(alice("-"))
	s.want("first is used", "POST", legacyBody(1, "ping", "{}"), alice(first), 200, okBody)

	bob := headers{"Authorization": "Bearer b"}
	his := s.begin(bob)
	s.want("second was unused for longer, and she had most", "POST", legacyBody(1, "ping", "{}"), alice(second), 404,
		errorBody("1", -32600, "there is no such session (any more): begin with initialize"))
	s.want("first is used again", "POST", legacyBody(1, "ping", "{}"), alice(first), 200, okBody)
	third := s.begin(bob)
	s.want("he has as many as she has, and takes none of hers", "POST", legacyBody(1, "ping", "{}"),
		headers{"Authorization": "Bearer b", "Mcp-Session-Id": his}, 404, errorBody("1", -32600, "there is no such session (any more): begin with initialize"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	busy := []*bufio.Reader{s.open(ctx, "GET", "", alice(first)), s.open(ctx, "GET", "", headers{"Authorization": "Bearer b", "Mcp-Session-Id": third})}
	for _, stream := range busy {
		s.reads(stream, priming("0-0"))
	}
	r := s.want("none rests", "POST", initializeBody, bob, 503, errorBody("0", -32600, "too many sessions"))
	if got := r.Header.Get("Retry-After"); got != "60" {
		t.Errorf("Retry-After %q", got)
	}
	s.want("first is there", "POST", legacyBody(1, "ping", "{}"), alice(first), 200, okBody)
	s.h.Close()
	if f.connected.Load() != f.closed.Load() {
		t.Errorf("%d conns connected, %d closed", f.connected.Load(), f.closed.Load())
	}
}

// A principal whose sessions are all in use keeps no other principal out: its least recently used one ends, with its call.
func TestSessions_inUseOfOnePrincipalKeepNoOtherOut(t *testing.T) {
	f := newFake()
	s := start(t, f, &Options{Sessions: 2, Tokens: tokens{"a": "alice", "b": "bob"}})
	alice := func(id string) headers { return headers{"Authorization": "Bearer a", "Mcp-Session-Id": id} }
	first, second := s.begin(alice("-")), s.begin(alice("-"))
	var calls sync.WaitGroup
	call := func(id string, answer string) {
		calls.Go(func() {
			s.want("call", "POST", legacyBody(1, "tools/call", `{"name":"wait"}`), alice(id), 200, answer)
		})
		receive(t, f.entered)
	}
	ended := cancelledBody("1", "the session has ended")
	call(first, ended)
	call(second, ended)
	s.want("she has more than she would leave", "POST", initializeBody, headers{"Authorization": "Bearer a"}, 503, errorBody("0", -32600, "too many sessions"))
	s.begin(headers{"Authorization": "Bearer b"})
	if err := receive(t, f.left); err != context.Canceled {
		t.Errorf("the call of the first session: got %v, want %v", err, context.Canceled)
	}
	s.want("first is gone", "POST", legacyBody(2, "ping", "{}"), alice(first), 404,
		errorBody("2", -32600, "there is no such session (any more): begin with initialize"))
	s.want("second is there", "POST", legacyBody(2, "ping", "{}"), alice(second), 200, `{"jsonrpc":"2.0","id":2,"result":{}}`)
	s.want("he has as many as she has", "POST", initializeBody, headers{"Authorization": "Bearer a"}, 503, errorBody("0", -32600, "too many sessions"))
	s.want("DELETE", "DELETE", "", alice(second), 204, "")
	calls.Wait()
}

func TestSessions_expireUnlessInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		s := newSessions(10, time.Hour)
		add := func() *session {
			return s.add(t.Context(), &session{principal: "p", conn: f.connect(protocol.ConnOptions{}), box: newOutbox("", nil)})
		}
		resting, used, busy := add(), add(), add()
		s.acquire(busy.id, "p")
		for range 3 {
			time.Sleep(30 * time.Minute)
			s.release(s.acquire(used.id, "p"))
		}
		if s.acquire(resting.id, "p") != nil || resting.ctx.Err() == nil || f.closed.Load() != 1 {
			t.Error("the resting session is still there")
		}
		if s.acquire(busy.id, "p") == nil || s.acquire(used.id, "p") == nil {
			t.Error("a session in use is gone")
		}
		if s.acquire(used.id, "q") != nil || s.remove(used.id, "q") {
			t.Error("another principal has it")
		}
		s.close()
		if add() != nil || f.closed.Load() != 3 {
			t.Errorf("%d conns closed", f.closed.Load())
		}
	})
}
