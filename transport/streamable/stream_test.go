package streamable

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// open sends a request and returns the stream of its response.
func (s *site) open(ctx context.Context, method, body string, extra headers) *bufio.Reader {
	s.t.Helper()
	r, err := http.DefaultClient.Do(s.request(ctx, method, body, extra))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { r.Body.Close() })
	if r.StatusCode != 200 || r.Header.Get("Content-Type") != "text/event-stream" {
		text, _ := io.ReadAll(r.Body)
		s.t.Fatalf("%s: %d %s", method, r.StatusCode, text)
	}
	return bufio.NewReader(r.Body)
}

// lineOf returns the next line of a stream that is none of a comment, which may come at any time.
func lineOf(from *bufio.Reader) (string, error) {
	for {
		line, err := from.ReadString('\n')
		if !strings.HasPrefix(line, ":") {
			return line, err
		}
		from.ReadString('\n')
	}
}

// reads compares the next part of a stream, without comments.
func (s *site) reads(from *bufio.Reader, want string) {
	s.t.Helper()
	var got strings.Builder
	for got.Len() < len(want) {
		line, err := lineOf(from)
		if got.WriteString(line); err != nil {
			break
		}
	}
	if got.String() != want {
		s.t.Errorf("got %q, want %q", got.String(), want)
	}
}

// ends expects a stream to end, without comments.
func (s *site) ends(from *bufio.Reader) {
	s.t.Helper()
	if rest, err := lineOf(from); rest != "" || err != io.EOF {
		s.t.Errorf("at the end: got %q, %v, want nothing, %v", rest, err, io.EOF)
	}
}

func TestGet_streamsNotifications(t *testing.T) {
	f := newFake()
	s := start(t, f, nil)
	s.h.keepAlive = 5 * time.Millisecond
	in := headers{"Mcp-Session-Id": s.begin(nil), "Accept": "text/event-stream"}
	f.say(`{"n":1}`) // before any stream is open
	first := s.open(t.Context(), "GET", "", in)
	s.reads(first, priming("0-0")+eventID("0-1", `{"n":1}`))
	f.say(`{"n":2}`)
	s.reads(first, eventID("0-2", `{"n":2}`))
	second := s.open(t.Context(), "GET", "", in) // the client lost the first stream unnoticed
	s.reads(second, priming("0-2"))
	s.ends(first)
	f.say(`{"n":3}`)
	s.reads(second, eventID("0-3", `{"n":3}`))

	in["Last-Event-ID"] = "0-1"
	third := s.open(t.Context(), "GET", "", in)
	s.reads(third, priming("0-1")+eventID("0-2", `{"n":2}`)+eventID("0-3", `{"n":3}`))
	s.want("DELETE", "DELETE", "", in, 204, "")
	s.ends(third)
}

func TestGet_refusesMissingSessionsAndLostEvents(t *testing.T) {
	s := start(t, newFake(), nil)
	id := s.begin(nil)
	gone := "there is no such session (any more): begin with initialize"
	s.want("modern", "GET", "", headers{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Session-Id": id}, 405, refused("method GET is served within a session of an older protocol version only"))
	s.want("no session", "GET", "", nil, 405, refused("method GET is served within a session of an older protocol version only"))
	s.want("unknown session", "GET", "", headers{"Mcp-Session-Id": "guess"}, 404, refused(gone))
	s.want("Accept", "GET", "", headers{"Mcp-Session-Id": id, "Accept": "application/json"}, 406, refused("Accept must allow text/event-stream"))
	for _, last := range []string{"0-1", "7-0", "x"} {
		s.want(last, "GET", "", headers{"Mcp-Session-Id": id, "Last-Event-ID": last}, 400,
			refused(`the events after "`+last+`" are not kept (any more)`))
	}
}

// A client that lost its connection during a call resumes the stream.
func TestStream_resumesAfterALostConnection(t *testing.T) {
	f := newFake()
	s := start(t, f, nil)
	in := headers{"Mcp-Session-Id": s.begin(nil)}
	ctx, leave := context.WithCancel(t.Context())
	call := s.open(ctx, "POST", legacyBody(1, "tools/call", `{"name":"wait","arguments":{"text":"talk"}}`), in)
	receive(t, f.entered)
	s.reads(call, priming("1-0")+eventID("1-1", progress(0))+eventID("1-2", progress(1)))
	leave()
	in["Last-Event-ID"] = "1-1"
	rest := s.open(t.Context(), "GET", "", in)
	s.reads(rest, priming("1-1")+eventID("1-2", progress(1)))
	close(f.release)
	if err := receive(t, f.left); err != nil {
		t.Errorf("the call ended with %v", err)
	}
	s.reads(rest, eventID("1-3", doneBody))
	s.ends(rest)
	again := s.open(t.Context(), "GET", "", in) // the response stays available for a while
	s.reads(again, priming("1-1")+eventID("1-2", progress(1))+eventID("1-3", doneBody))
	s.ends(again)
}

// A call that releases its connection is answered on the next one.
func TestStream_answersAReleasedCallOnTheNextConnection(t *testing.T) {
	f := newFake()
	s := start(t, f, nil)
	in := headers{"Mcp-Session-Id": s.begin(nil)}
	call := s.open(t.Context(), "POST", legacyBody(1, "tools/call", `{"name":"wait","arguments":{"text":"release"}}`), in)
	s.reads(call, priming("1-0"))
	s.ends(call)
	close(f.release)
	in["Last-Event-ID"] = "1-0"
	rest := s.open(t.Context(), "GET", "", in)
	s.reads(rest, priming("1-0")+eventID("1-1", doneBody))
	s.ends(rest)
}

// Clients of older versions do not support events without data, and get none.
func TestStream_sendsOlderVersionsNoEventsWithoutData(t *testing.T) {
	f := newFake()
	s := start(t, f, nil)
	r, _ := s.do("POST", strings.Replace(initializeBody, "2025-11-25", "2025-06-18", 1), nil)
	in := headers{"Mcp-Session-Id": r.Header.Get("Mcp-Session-Id")}
	close(f.release)
	s.want("talk", "POST", legacyBody(1, "tools/call", `{"name":"talk"}`), in, 200,
		eventID("1-1", progress(0))+eventID("1-2", progress(1))+eventID("1-3", doneBody))
	if _, got := s.do("POST", legacyBody(1, "tools/call", `{"name":"wait","arguments":{"text":"release"}}`), in); !strings.Contains(got, doneBody) {
		t.Errorf("got %q, want %q in it", got, doneBody)
	}
}

// The response to a slow call becomes a resumable stream.
func TestStream_makesSlowCallsResumable(t *testing.T) {
	f := newFake()
	s := start(t, f, nil)
	in := headers{"Mcp-Session-Id": s.begin(nil)}
	call := s.open(t.Context(), "POST", legacyBody(1, "tools/call", `{"name":"wait"}`), in)
	s.reads(call, priming("1-0"))
	close(f.release)
	s.reads(call, eventID("1-1", doneBody))
	s.ends(call)
}

// The end of a session cancels its calls and ends its streams, and so does the end of the handler.
func TestStream_endsWithItsSession(t *testing.T) {
	f := newFake()
	s := start(t, f, nil)
	for _, test := range []struct {
		why string
		end func(headers)
	}{
		{"the session has ended", func(in headers) { s.want("DELETE", "DELETE", "", in, 204, "") }},
		{"the server is shutting down", func(headers) { s.h.Close() }},
	} {
		in := headers{"Mcp-Session-Id": s.begin(nil)}
		standing := s.open(t.Context(), "GET", "", in)
		call := s.open(t.Context(), "POST", legacyBody(1, "tools/call", `{"name":"wait","arguments":{"text":"talk"}}`), in)
		s.reads(standing, priming("0-0"))
		s.reads(call, priming("1-0")+eventID("1-1", progress(0))+eventID("1-2", progress(1)))
		receive(t, f.entered)
		test.end(in)
		if err := receive(t, f.left); err != context.Canceled {
			t.Errorf("the call ended with %v", err)
		}
		s.reads(call, eventID("1-3", cancelledBody("1", test.why)))
		s.ends(call)
		s.ends(standing)
	}
}

// Shutdown waits only for calls.
func TestStream_doesNotDelayShutdown(t *testing.T) {
	s := start(t, newFake(), nil)
	standing := s.open(t.Context(), "GET", "", headers{"Mcp-Session-Id": s.begin(nil)})
	s.reads(standing, priming("0-0"))
	s.h.settle()
	s.ends(standing)
}
