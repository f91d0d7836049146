package streamable

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
)

// oldClient is a client of 2024-11-05.
type oldClient struct {
	*site
	stream *bufio.Reader
	post   string
}

func (s *site) old(ctx context.Context, extra headers) *oldClient {
	s.t.Helper()
	base := strings.TrimSuffix(s.url, "/mcp")
	at := &site{s.t, s.h, base + "/sse"}
	c := &oldClient{site: at, stream: at.open(ctx, "GET", "", extra)}
	c.stream.ReadString('\n')
	data, _ := c.stream.ReadString('\n')
	c.stream.ReadString('\n')
	c.post = base + strings.TrimSpace(strings.TrimPrefix(data, "data: "))
	c.url = c.post
	return c
}

func TestLegacySSE_answersOnTheStream(t *testing.T) {
	f := newFake()
	s := start(t, f, &Options{LegacySSE: true, Tokens: tokens{"a": "alice", "b": "bob"}})
	alice := headers{"Authorization": "Bearer a", "Accept": "text/event-stream"}
	ctx, leave := context.WithCancel(t.Context())
	c := s.old(ctx, alice)
	first := strings.Replace(initializeBody, "2025-11-25", "2024-11-05", 1)
	c.want("initialize", "POST", first, alice, 202, "")
	c.reads(c.stream, eventID("0-1", `{"jsonrpc":"2.0","id":0,"result":{}}`))
	c.want("talk", "POST", legacyBody(1, "tools/call", `{"name":"talk"}`), alice, 202, "")
	c.reads(c.stream, eventID("0-2", progress(0))+eventID("0-3", progress(1))+eventID("0-4", doneBody))
	f.say(`{"n":1}`)
	c.reads(c.stream, eventID("0-5", `{"n":1}`))

	c.want("bob", "POST", legacyBody(2, "ping", "{}"), headers{"Authorization": "Bearer b"}, 404,
		refused("there is no such session (any more): begin with GET /sse"))
	c.want("no JSON", "POST", "{", alice, 400, errorBody("null", -32700, "parse error: json: unexpected end at offset 1"))
	c.want("modern", "POST", callBody("echo", "x"), alice, 400, refused("this endpoint is for clients of older versions: post to /mcp"))
	c.want("GET", "GET", "", alice, 405, refused("method GET is not served here"))

	c.want("wait", "POST", legacyBody(3, "tools/call", `{"name":"wait"}`), alice, 202, "")
	receive(t, f.entered)
	leave() // ends the session and its calls
	if err := receive(t, f.left); err != context.Canceled {
		t.Errorf("the call ended with %v", err)
	}
}

func TestLegacySSE_isOffByDefault(t *testing.T) {
	s := start(t, newFake(), nil)
	r, err := http.Get(strings.TrimSuffix(s.url, "/mcp") + "/sse")
	if err != nil {
		t.Fatal(err)
	}
	if r.Body.Close(); r.StatusCode != 404 {
		t.Errorf("got %s, want 404", r.Status)
	}
}
