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

// A message is accepted before its call is over, and keeps its memory and its place until then.
func TestLegacySSE_countsCallsThatRun(t *testing.T) {
	f := newFake()
	s := start(t, f, &Options{LegacySSE: true})
	bodies, requests := s.h.admission.bodies, s.h.admission.requests
	c := s.old(t.Context(), headers{"Accept": "text/event-stream"})
	c.want("initialize", "POST", strings.Replace(initializeBody, "2025-11-25", "2024-11-05", 1), nil, 202, "")
	for id := range 3 {
		c.want("wait", "POST", legacyBody(id+1, "tools/call", `{"name":"wait","arguments":{"text":"`+strings.Repeat("x", 250<<10)+`"}}`), nil, 202, "")
		receive(t, f.entered)
	}
	if memory, places := defaultBodies-left(bodies), defaultConnections-left(requests); memory < 3*250<<10 || places != 4 {
		t.Errorf("got %d bytes and %d places in use, want three bodies, and the places of three calls and a stream", memory, places)
	}
	close(f.release)
	for answers := 0; answers < 4; { // with that of initialize
		line, err := c.stream.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(line, "data: ") {
			answers++
		}
	}
	if memory, places := defaultBodies-left(bodies), defaultConnections-left(requests); memory != 0 || places != 1 {
		t.Errorf("after the calls: got %d bytes and %d places in use, want 0, 1", memory, places)
	}
}

// left returns what is left of a budget.
func left(b *budget) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.left
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
