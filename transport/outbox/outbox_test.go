package outbox

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// take returns the next result of a reader: the IDs of the events, and the state of the stream.
func take(r *Reader) string {
	events, state := r.Next()
	words := []string{map[State]string{Open: "open", Ended: "ended", Released: "released", Replaced: "replaced"}[state]}
	for _, e := range events {
		words = append(words, e.ID+"="+string(e.Data))
	}
	return strings.Join(words, " ")
}

func want(t *testing.T, r *Reader, text string) {
	t.Helper()
	if got := take(r); got != text {
		t.Errorf("got %q, want %q", got, text)
	}
}

func TestOutbox_Resume(t *testing.T) {
	b := New()
	standing, call := b.Stream(), b.Stream()
	standing.Send([]byte("a"))
	r := call.Attach()
	want(t, r, "open")
	if r.Position() != "1-0" {
		t.Error(r.Position())
	}
	call.Send([]byte("b"))
	call.Send([]byte("c"))
	want(t, r, "open 1-1=b 1-2=c")
	r.Close() // the connection broke, and c was not delivered
	standing.Send([]byte("d"))
	call.End([]byte("e"))
	call.Send([]byte("late"))
	again, ok := b.Resume("1-1")
	if !ok {
		t.Fatal("the stream is gone")
	}
	want(t, again, "ended 1-2=c 1-3=e")
	want(t, standing.Attach(), "open 0-1=a 0-2=d")
	for _, id := range []string{"", "-", "1", "1-", "-1", "1-4", "2-0", "1-1-1", "x-1", "1-99999999999999999999"} {
		if _, ok := b.Resume(id); ok {
			t.Errorf("%q was resumed", id)
		}
	}
}

func TestStream_OneReader(t *testing.T) {
	b := New()
	s := b.Stream()
	attached := func(is bool) {
		t.Helper()
		if s.Attached() != is {
			t.Errorf("somebody reads it: %v", !is)
		}
	}
	attached(false)
	first := s.Attach()
	attached(true)
	<-first.News() // there may be a signal already
	s.Send([]byte("a"))
	second := s.Attach()
	<-first.News()
	want(t, first, "replaced")
	want(t, second, "open 0-1=a")
	first.Close() // does not affect the second
	s.Send([]byte("b"))
	want(t, second, "open 0-2=b")
	attached(true)
	second.Close()
	attached(false)
	s.Send([]byte("c")) // buffered for the next reader
	want(t, s.Attach(), "open 0-3=c")
}

func TestStream_Release(t *testing.T) {
	b := New()
	s := b.Stream()
	r := s.Attach()
	if <-r.News(); r.Waiting() {
		t.Error("there is nothing to say yet")
	}
	s.Release()
	if <-r.News(); !r.Waiting() {
		t.Error("a release is something to say")
	}
	want(t, r, "released")
	r.Close()
	s.End([]byte("a"))
	next, _ := b.Resume("0-0")
	want(t, next, "ended 0-1=a")
}

func TestReader_Only(t *testing.T) {
	b := New()
	for _, c := range []struct {
		name string
		act  func(*Stream)
		want string
		ok   bool
	}{
		{"nothing yet", func(*Stream) {}, "", false},
		{"an answer", func(s *Stream) { s.End([]byte("a")) }, "a", true},
		{"no answer", func(s *Stream) { s.End(nil) }, "", true},
		{"something before", func(s *Stream) { s.Send([]byte("x")); s.End([]byte("a")) }, "", false},
		{"closed", func(s *Stream) { b.Close() }, "", true},
	} {
		s := b.Stream()
		r := s.Attach()
		c.act(s)
		if msg, ok := r.Only(); string(msg) != c.want || ok != c.ok {
			t.Errorf("%s: %q %v", c.name, msg, ok)
		}
	}
}

func TestStream_Forget(t *testing.T) {
	b := New()
	s := b.Stream()
	s.End([]byte("a"))
	s.Forget()
	if _, ok := b.Resume("0-0"); ok || b.bytes != 0 || len(b.kept) != 0 || len(b.streams) != 0 {
		t.Errorf("%+v", b)
	}
}

func TestOutbox_Bounds(t *testing.T) {
	b := New()
	standing, call, gone := b.Stream(), b.Stream(), b.Stream()
	gone.End([]byte("lost"))
	r := call.Attach()
	call.End([]byte("answer")) // a client waits for it
	for i := range 3 * maxEvents {
		standing.Send(fmt.Append(nil, i))
	}
	if len(b.kept) != maxEvents {
		t.Errorf("%d events are kept", len(b.kept))
	}
	want(t, r, "ended 1-1=answer")
	if _, ok := b.Resume("2-0"); ok {
		t.Error("the oldest answer is still there")
	}
	standing.Send(make([]byte, 2*maxBytes)) // larger than the limit, and still sent
	if len(b.kept) != 1 || b.bytes != 2*maxBytes {
		t.Errorf("%d events, %d bytes", len(b.kept), b.bytes)
	}
	standing.Send([]byte("x"))
	if len(b.kept) != 1 || b.bytes != 1 {
		t.Errorf("%d events, %d bytes", len(b.kept), b.bytes)
	}
}

// With many senders and changing readers each message arrives once, in order.
func TestOutbox_Hammer(t *testing.T) {
	b := New()
	var work sync.WaitGroup
	for range 8 {
		s := b.Stream()
		work.Go(func() {
			for i := range 20 {
				s.Send(fmt.Append(nil, i))
			}
			s.End([]byte("end"))
		})
		work.Go(func() {
			var got []string
			for r := s.Attach(); ; r = s.Attach() {
				<-r.News()
				events, state := r.Next()
				for _, e := range events {
					got = append(got, string(e.Data))
				}
				if r.Close(); state == Ended {
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
