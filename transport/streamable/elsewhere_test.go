package streamable

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store/storetest"
)

// frame is one server-sent event.
type frame struct{ id, data string }

// frames reads the events of one response.
type frames struct {
	t    *testing.T
	r    *http.Response
	text *bufio.Reader
}

// opens sends a request and returns its stream.
func (h *poolHost) opens(ctx context.Context, method, body string, in headers) *frames {
	h.t.Helper()
	r, err := http.DefaultClient.Do(h.request(ctx, method, body, in))
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { r.Body.Close() })
	if r.StatusCode != 200 || r.Header.Get("Content-Type") != "text/event-stream" {
		h.t.Fatalf("%s: got %d %s, want a stream", method, r.StatusCode, r.Header.Get("Content-Type"))
	}
	return &frames{h.t, r, bufio.NewReader(r.Body)}
}

// next returns the next event, with or without data, and false at the end.
func (f *frames) next() (e frame, ok bool) {
	for {
		line, err := f.text.ReadString('\n')
		if err != nil {
			return e, false
		}
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch key {
		case "id":
			e.id = value
		case "data":
			e.data += value
		case "":
			if e != (frame{}) {
				return e, true
			}
		}
	}
}

// rest returns the data of the events up to the end, each of which has to have an ID.
func (f *frames) rest() (all []string) {
	f.t.Helper()
	for {
		e, ok := f.next()
		if !ok {
			return all
		}
		if e.id == "" {
			f.t.Errorf("the event %s has no ID", e.data)
		}
		if e.data != "" {
			all = append(all, e.data)
		}
	}
}

// after returns the headers of a resumption.
func after(in headers, id string) headers {
	h := headers{"Last-Event-ID": id}
	for k, v := range in {
		h[k] = v
	}
	return h
}

func progressOf(n int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":%d,"progressToken":"p"}}`, n)
}

const talked = `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"talk"}]}}`

func wantData(t *testing.T, name string, got []string, want ...string) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s:\ngot  %s\nwant %s", name, got, want)
	}
}

// A stream that broke at one host goes on at another, from any of its events, during its call and after it.
func TestPool_resumesElsewhere(t *testing.T) {
	hosts := poolHosts(t, 3, Options{Tokens: people})
	in := hosts[0].starts("a")
	ctx, leave := context.WithCancel(t.Context())
	first := hosts[0].opens(ctx, "POST", toolBody("talk"), in)
	primed, _ := first.next()
	one, _ := first.next()
	if primed.data != "" || one.data != progressOf(1) {
		t.Fatalf("got %v, %v, want an event without data and the first message", primed, one)
	}
	leave()
	ctx, leave = context.WithCancel(t.Context())
	running := hosts[1].opens(ctx, "GET", "", after(in, primed.id))
	running.next()
	if e, _ := running.next(); e != one {
		t.Errorf("got %v, want %v again", e, one)
	}
	hosts[0].release <- struct{}{}
	if e, _ := running.next(); e.data != progressOf(2) {
		t.Errorf("got %v, want the second message", e)
	}
	leave()
	close(hosts[0].release)
	wantData(t, "the rest", hosts[2].opens(t.Context(), "GET", "", after(in, one.id)).rest(), progressOf(2), talked)
	for i, h := range hosts {
		wantData(t, fmt.Sprint("all, host ", i), h.opens(t.Context(), "GET", "", after(in, primed.id)).rest(), progressOf(1), progressOf(2), talked)
	}
	hosts[0].stop()
	wantData(t, "after the end of its host", hosts[1].opens(t.Context(), "GET", "", after(in, one.id)).rest(), progressOf(2), talked)
	hosts[1].want("another session", "GET", "", after(hosts[1].starts("a"), one.id), 400, refused(fmt.Sprintf("the events after %q are not kept (any more)", one.id)))
	stolen := after(in, one.id)
	stolen["Authorization"] = "Bearer b"
	hosts[1].want("another principal", "GET", "", stolen, 404, refused(gone))
}

// A call whose process has ended is answered with an error on resumption, once, and the session goes on.
func TestPool_aCallOfALostHostIsAnsweredByAnError(t *testing.T) {
	hosts := poolHosts(t, 3, Options{Tokens: people})
	in := hosts[0].starts("a")
	first := hosts[0].opens(t.Context(), "POST", toolBody("talk"), in)
	first.next()
	one, _ := first.next()
	running := hosts[1].opens(t.Context(), "GET", "", after(in, one.id))
	if err := hosts[0].kept.Close(); err != nil { // as its end by a signal
		t.Fatal(err)
	}
	lost := `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the process of the server that ran this call has ended: the outcome of the call is not known","data":{"kind":"internal","retryable":false}}}`
	wantData(t, "while it is read", running.rest(), lost)
	for range 2 {
		wantData(t, "later", hosts[2].opens(t.Context(), "GET", "", after(in, one.id)).rest(), lost)
	}
	hosts[1].want("the session", "POST", legacyBody(1, "ping", "{}"), in, 200, okBody)
}

// What was announced on the stream of a session is sent by the host that the client moves to.
func TestPool_theStandingStreamMoves(t *testing.T) {
	hosts := poolHosts(t, 2, Options{Tokens: people})
	in := hosts[0].starts("a")
	hosts[0].notifies(in, "notifications/initialized", "{}")
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	first := hosts[0].opens(ctx, "GET", "", in)
	primed, _ := first.next()
	if err := hosts[0].catalog.AddGo("more", []byte(`{"tools":[{"name":"x","inputSchema":{"type":"object"}}]}`), hosts[0].serve); err != nil {
		t.Fatal(err)
	}
	changed, _ := first.next()
	if !strings.Contains(changed.data, "notifications/tools/list_changed") {
		t.Fatalf("got %v, want that tools have changed", changed)
	}
	leave()
	hosts[0].h.sessions.peek(in["Mcp-Session-Id"]).box.saver.wait(t.Context())
	moved := hosts[1].opens(t.Context(), "GET", "", after(in, primed.id))
	moved.next()
	if e, _ := moved.next(); e.data != changed.data || e.id == changed.id {
		t.Errorf("got %v, want %s with an ID of the new host", e, changed.data)
	}
}

// texts returns the data of the next n events with data.
func (f *frames) texts(n int) (all []string) {
	f.t.Helper()
	for len(all) < n {
		e, ok := f.next()
		if !ok {
			f.t.Fatalf("the stream ended after %s, want %d events", all, n)
		}
		if e.data != "" {
			all = append(all, e.data)
		}
	}
	return all
}

// A connection that is dead without notice keeps no later message: each reaches the connection that the client opens at
// another host, by whichever host it is sent. One that was written does not come again.
func TestPool_aDeadStreamKeepsNoMessage(t *testing.T) {
	hosts := poolHosts(t, 3, Options{Tokens: people})
	in := hosts[0].starts("a")
	dead := hosts[0].opens(t.Context(), "GET", "", in)
	dead.next()
	hosts[2].want("ping", "POST", legacyBody(1, "ping", "{}"), in, 200, okBody)
	sender := hosts[2].h.sessions.peek(in["Mcp-Session-Id"])
	sender.notify([]byte("1"))
	wantData(t, "before", dead.texts(1), "1") // to this client's kernel, and no further
	alive := hosts[1].opens(t.Context(), "GET", "", in)
	if rest := dead.rest(); len(rest) != 0 {
		t.Errorf("the dead stream got %s, want its end", rest)
	}
	var want []string
	for i := range 20 {
		hosts[i%3].h.sessions.peek(in["Mcp-Session-Id"]).notify(fmt.Append(nil, 10+i))
		want = append(want, fmt.Sprint(10+i))
	}
	got := alive.texts(len(want))
	slices.Sort(got) // hosts do not wait for each other
	wantData(t, "later", got, want...)
}

// A client that resumes a dead stream at another host gets each message once, also those that the host of the dead stream
// sent meanwhile.
func TestPool_aDeadStreamIsResumedElsewhereOnce(t *testing.T) {
	hosts := poolHosts(t, 2, Options{Tokens: people})
	in := hosts[0].starts("a")
	dead := hosts[0].opens(t.Context(), "GET", "", in)
	dead.next()
	sender := hosts[0].h.sessions.peek(in["Mcp-Session-Id"])
	for i := range 5 {
		sender.notify(fmt.Append(nil, i))
	}
	one, _ := dead.next()
	wantData(t, "before", append([]string{one.data}, dead.texts(4)...), "0", "1", "2", "3", "4")
	sender.box.saver.wait(t.Context())
	alive := hosts[1].opens(t.Context(), "GET", "", after(in, one.id))
	if rest := dead.rest(); len(rest) != 0 {
		t.Errorf("the dead stream got %s, want its end", rest)
	}
	sender.notify([]byte("5"))
	wantData(t, "the rest", alive.texts(5), "1", "2", "3", "4", "5")
}

// A session lives as long as its stream is open, also if its client sends nothing.
func TestPool_anOpenStreamKeepsItsSession(t *testing.T) {
	hosts := poolHosts(t, 1, Options{Tokens: people})
	in := hosts[0].starts("a")
	hosts[0].opens(t.Context(), "GET", "", in).next()
	id := in["Mcp-Session-Id"]
	hosts[0].expires(id, time.Now().Add(time.Minute))
	hosts[0].h.pool.notices.note("", "", nil)
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		r, err := hosts[0].kept.Get(t.Context(), store.Session, id)
		if err != nil {
			t.Fatal(err)
		}
		if time.Until(r.Expires) > 50*time.Minute {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("got expiry %v, want about an hour from now", r.Expires)
		}
	}
}

// A flood of events of a session is bounded in the store too, the oldest first, and a client that comes too late is told so.
func TestPool_aFloodOfEventsIsBounded(t *testing.T) {
	hosts := poolHosts(t, 2, Options{Tokens: people})
	in := hosts[0].starts("a")
	s := hosts[0].h.sessions.peek(in["Mcp-Session-Id"])
	old := s.box.answer([]byte("1"))
	old.send([]byte(`"old"`))
	old.end([]byte(`"end"`))
	last := s.box.answer([]byte("2"))
	for i := range 3 * outboxEvents {
		last.send(fmt.Append(nil, i))
	}
	last.end([]byte(strings.Repeat("x", outboxBytes/2)))
	s.box.saver.wait(t.Context())
	list, err := hosts[1].kept.Below(t.Context(), store.Event, s.id)
	if err != nil || len(list) > outboxEvents+1 || len(list) < outboxEvents/2 {
		t.Fatalf("got %d events, %v, want some %d", len(list), err, outboxEvents)
	}
	for _, r := range list {
		if left := time.Until(r.Expires); left > eventAge {
			t.Errorf("%s expires in %v, want %v at most", r.ID, left, eventAge)
		}
	}
	hosts[1].want("too late", "GET", "", after(in, old.id(1)), 400, refused(fmt.Sprintf("the events after %q are not kept (any more)", old.id(1))))
	if got := hosts[1].opens(t.Context(), "GET", "", after(in, last.id(700))).rest(); len(got) != 3*outboxEvents-700+1 || got[0] != "700" {
		t.Errorf("got %d events from %s, want the last ones", len(got), got[0])
	}
}

// Event IDs that no host has made are not looked up as others.
func TestPool_refusesMadeUpEventIDs(t *testing.T) {
	hosts := poolHosts(t, 1, Options{Tokens: people})
	in := hosts[0].starts("a")
	name := strings.Repeat("A", 16)
	for _, id := range []string{"--", "0-0", "x", name + ".1.1", name + ".1.1-", name + ".1.1-x", name + ".1.1--1", name + ".1.1-99999999999999999999", name + ".1-1", name + "/1.1-1", "%.1.1-1", name + ".1.1/2-1", strings.Repeat("9", 4000) + "-1"} {
		hosts[0].want(id, "GET", "", after(in, id), 400, refused(fmt.Sprintf("the events after %q are not kept (any more)", clip(id))))
	}
	hosts[0].opens(t.Context(), "GET", "", in).next()              // its events are stored from now on
	own := hosts[0].h.sessions.peek(in["Mcp-Session-Id"]).standing // an event that this host has not sent yet
	own.send([]byte(`"one"`))
	own.box.saver.wait(t.Context())
	ahead := own.name() + "-99"
	hosts[0].want("ahead", "GET", "", after(in, ahead), 400, refused(fmt.Sprintf("the events after %q are not kept (any more)", ahead)))
}

// Events of a store that cannot be written reach the client of this host all the same.
func TestPool_streamsWithoutTheStore(t *testing.T) {
	h := newPoolHost(t, storetest.Options(t, t.TempDir()), Options{Tokens: people})
	in := h.starts("a")
	s := h.h.sessions.peek(in["Mcp-Session-Id"])
	close(h.release)
	if err := h.kept.Close(); err != nil {
		t.Fatal(err)
	}
	stream := s.box.answer([]byte("1"))
	stream.end([]byte(`"end"`))
	s.box.saver.wait(t.Context())
	if events, state := stream.open().next(nil); len(events) != 1 || state != streamEnded {
		t.Errorf("got %d events, state %d, want the end", len(events), state)
	}
}

// A stream that begins waits for the events that were sent before it, and not for those that another call keeps sending.
func TestPool_aStreamBeginsBesideABusyOne(t *testing.T) {
	host := poolHosts(t, 1, Options{Tokens: people})[0]
	s := host.h.sessions.peek(host.starts("a")["Mcp-Session-Id"])
	var begun, busy sync.WaitGroup
	begun.Add(1)
	stop := make(chan struct{})
	busy.Go(func() {
		stream := s.box.answer([]byte("1"))
		for n := 0; ; n++ {
			stream.send([]byte(`"busy"`))
			if n == 100 {
				begun.Done()
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	begun.Wait()
	s.box.saver.wait(t.Context()) // which would not end behind the busy stream
	close(stop)
	busy.Wait()
}
