package streamable

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

// take returns the next result of a reader: the IDs of the events, and the state of the stream.
func takeEvents(r *eventReader) string {
	events, state := r.next(nil)
	if state != streamReplaced {
		r.wrote(nil)
	}
	words := []string{map[streamState]string{streamOpen: "open", streamEnded: "ended", streamReleased: "released", streamReplaced: "replaced"}[state]}
	for _, e := range events {
		words = append(words, e.id+"="+string(e.data))
	}
	return strings.Join(words, " ")
}

func wantEvents(t *testing.T, r *eventReader, text string) {
	t.Helper()
	if got := takeEvents(r); got != text {
		t.Errorf("got %q, want %q", got, text)
	}
}

func TestOutbox_resumesAfterTheLastEvent(t *testing.T) {
	b := newOutbox("", nil)
	standing, call := b.stream(), b.stream()
	standing.send([]byte("a"))
	r := call.open()
	wantEvents(t, r, "open")
	if r.position() != "1-0" {
		t.Errorf("got %q, want \"1-0\"", r.position())
	}
	call.send([]byte("b"))
	call.send([]byte("c"))
	wantEvents(t, r, "open 1-1=b 1-2=c")
	r.close() // the connection broke, and c was not delivered
	standing.send([]byte("d"))
	call.end([]byte("e"))
	call.send([]byte("late"))
	again, ok := b.resume("1-1")
	if !ok {
		t.Fatal("the stream is gone")
	}
	wantEvents(t, again, "ended 1-2=c 1-3=e")
	wantEvents(t, standing.open(), "open 0-1=a 0-2=d")
	for _, id := range []string{"", "-", "1", "1-", "-1", "1-4", "2-0", "1-1-1", "x-1", "1-99999999999999999999"} {
		if _, ok := b.resume(id); ok {
			t.Errorf("%q was resumed", id)
		}
	}
}

func TestEventStream_hasOneReader(t *testing.T) {
	b := newOutbox("", nil)
	s := b.stream()
	attached := func(is bool) {
		t.Helper()
		if s.attached() != is {
			t.Errorf("somebody reads it: got %v, want %v", !is, is)
		}
	}
	attached(false)
	first := s.open()
	attached(true)
	<-first.news() // there may be a signal already
	s.send([]byte("a"))
	second := s.open()
	<-first.news()
	wantEvents(t, first, "replaced")
	wantEvents(t, second, "open 0-1=a")
	first.close() // does not affect the second
	s.send([]byte("b"))
	wantEvents(t, second, "open 0-2=b")
	attached(true)
	second.close()
	attached(false)
	s.send([]byte("c")) // buffered for the next reader
	wantEvents(t, s.open(), "open 0-3=c")
}

func TestEventStream_releaseEndsItsConnection(t *testing.T) {
	b := newOutbox("", nil)
	s := b.stream()
	r := s.open()
	if <-r.news(); r.waiting() {
		t.Error("there is nothing to say yet")
	}
	s.release()
	if <-r.news(); !r.waiting() {
		t.Error("a release is something to say")
	}
	wantEvents(t, r, "released")
	r.close()
	s.end([]byte("a"))
	next, _ := b.resume("0-0")
	wantEvents(t, next, "ended 0-1=a")
}

func TestEventReader_onlyReturnsASingleAnswer(t *testing.T) {
	b := newOutbox("", nil)
	for _, c := range []struct {
		name string
		act  func(*eventStream)
		want string
		ok   bool
	}{
		{"nothing yet", func(*eventStream) {}, "", false},
		{"an answer", func(s *eventStream) { s.end([]byte("a")) }, "a", true},
		{"no answer", func(s *eventStream) { s.end(nil) }, "", true},
		{"something before", func(s *eventStream) { s.send([]byte("x")); s.end([]byte("a")) }, "", false},
		{"closed", func(s *eventStream) { b.close() }, "", true},
	} {
		s := b.stream()
		r := s.open()
		c.act(s)
		if msg, ok := r.only(); string(msg) != c.want || ok != c.ok {
			t.Errorf("%s: got %q %v; want %q, %v", c.name, msg, ok, c.want, c.ok)
		}
	}
}

func TestEventStream_forgetDropsItsEvents(t *testing.T) {
	b := newOutbox("", nil)
	s := b.stream()
	s.end([]byte("a"))
	s.forget()
	if _, ok := b.resume("0-0"); ok || b.bytes != 0 || len(b.kept) != 0 || len(b.streams) != 0 {
		t.Errorf("%+v", b)
	}
}

func TestOutbox_keepsTheAnswersClientsWaitFor(t *testing.T) {
	b := newOutbox("", nil)
	standing, call, gone := b.stream(), b.stream(), b.stream()
	gone.end([]byte("lost"))
	r := call.open()
	call.end([]byte("answer")) // a client waits for it
	for i := range 3 * outboxEvents {
		standing.send(fmt.Append(nil, i))
	}
	if len(b.kept) != outboxEvents {
		t.Errorf("%d events are kept", len(b.kept))
	}
	wantEvents(t, r, "ended 1-1=answer")
	if _, ok := b.resume("2-0"); ok {
		t.Error("the oldest answer is still there")
	}
	standing.send(make([]byte, 2*outboxBytes)) // larger than the limit, and still sent
	if len(b.kept) != 1 || b.bytes != 2*outboxBytes {
		t.Errorf("%d events, %d bytes", len(b.kept), b.bytes)
	}
	standing.send([]byte("x"))
	if len(b.kept) != 1 || b.bytes != 1 {
		t.Errorf("%d events, %d bytes", len(b.kept), b.bytes)
	}
}

// With many senders and changing readers each message arrives once, in order.
func TestOutbox_deliversEachMessageOnceInOrder(t *testing.T) {
	b := newOutbox("", nil)
	var work sync.WaitGroup
	for range 8 {
		s := b.stream()
		work.Go(func() {
			for i := range 20 {
				s.send(fmt.Append(nil, i))
			}
			s.end([]byte("end"))
		})
		work.Go(func() {
			var got []string
			for r := s.open(); ; r = s.open() {
				<-r.news()
				events, state := r.next(nil)
				r.wrote(nil)
				for _, e := range events {
					got = append(got, string(e.data))
				}
				if r.close(); state == streamEnded {
					break
				}
			}
			if len(got) != 21 || got[0] != "0" || got[20] != "end" {
				t.Errorf("%q", got)
			}
		})
	}
	work.Wait()
}

// Events whose write failed come again. Those that were written do not, unless the client names one before them.
func TestEventStream_repeatsWhatWasNotWritten(t *testing.T) {
	b := newOutbox("", nil)
	s := b.stream()
	r := s.open()
	s.send([]byte("a"))
	wantEvents(t, r, "open 0-1=a")
	s.send([]byte("b"))
	r.next(nil)
	r.wrote(io.ErrShortWrite)
	r.close()
	r = s.open()
	wantEvents(t, r, "open 0-2=b")
	wantEvents(t, s.open(), "open") // while another one is open
	r, _ = b.resume("0-1")
	wantEvents(t, r, "open 0-2=b")
}

// A new reader, here or in another process, waits for the write of the one that it replaces, which fails soon: the client may
// have the events already.
func TestEventStream_waitsForTheWriteOfAReplacedReader(t *testing.T) {
	for _, c := range []struct {
		end    error
		events string
		rest   []byte
	}{{nil, "open 0-2=b", []byte("b")}, {io.ErrShortWrite, "open 0-1=a 0-2=b", []byte("ab")}} {
		b := newOutbox("", nil)
		s := b.stream()
		write := func(replace func()) {
			r, cut, over := s.open(), make(chan bool, 1), make(chan bool)
			s.send([]byte("a"))
			r.next(func() { cut <- true })
			go func() { defer close(over); replace() }()
			receive(t, cut)
			s.send([]byte("b"))
			r.wrote(c.end)
			receive(t, over)
			if _, state := r.next(nil); state != streamReplaced {
				t.Errorf("%v: got state %v", c.end, state)
			}
		}
		write(func() { wantEvents(t, s.open(), c.events) })
		b = newOutbox("", nil)
		s = b.stream()
		write(func() {
			if got := bytes.Join(s.displace(false, 0), nil); !bytes.Equal(got, c.rest) {
				t.Errorf("%v: displaced: got %q, want %q", c.end, got, c.rest)
			}
		})
	}
}

// A message for a client that has opened its stream at another host is not kept here: the caller mails it.
func TestEventStream_offersNothingWithoutAReader(t *testing.T) {
	s := newOutbox("P.1.", nil).stream()
	r := s.open()
	if !s.offer([]byte("a")) {
		t.Error("got false, want the message taken")
	}
	wantEvents(t, r, "open P.1.0-1=a")
	s.displace(false, 0)
	if s.offer([]byte("b")) || len(s.box.kept) > 1 {
		t.Errorf("got %d events, want the one of before", len(s.box.kept))
	}
}

// A reader that comes while another one waits for the write of the one before waits too: it would otherwise repeat the events
// of that write.
func TestEventStream_allNewReadersWaitForTheWrite(t *testing.T) {
	b := newOutbox("", nil)
	s := b.stream()
	old, cut, opened := s.open(), make(chan bool), make(chan *eventReader)
	s.send([]byte("a"))
	old.next(func() { cut <- true })
	for range 2 {
		go func() { opened <- s.open() }()
		select {
		case <-cut:
		case r := <-opened:
			t.Fatalf("got a reader of %q, want it after the write", takeEvents(r))
		}
	}
	if !s.offer([]byte("b")) {
		t.Error("the stream has no reader meanwhile")
	}
	old.wrote(nil)
	all := []*eventReader{receive(t, opened), receive(t, opened)}
	got := []string{takeEvents(all[0]), takeEvents(all[1])}
	if slices.Sort(got); !slices.Equal(got, []string{"open 0-2=b", "replaced"}) {
		t.Errorf("got %q, want b for one reader", got)
	}
}

// A new reader does not wait for ever: the write to a client that reads nothing ends in HTTP/2 with its connection only.
func TestEventStream_newReaderComesBeforeAWriteThatDoesNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newOutbox("", nil)
		s := b.stream()
		old := s.open()
		s.send([]byte("a"))
		old.next(func() {})
		next := s.open()
		wantEvents(t, next, "open 0-1=a")
		old.wrote(io.ErrShortWrite)
		wantEvents(t, old, "replaced")
		old.close()
		s.send([]byte("b"))
		wantEvents(t, next, "open 0-2=b")
	})
}
