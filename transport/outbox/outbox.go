package outbox

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Bounds of one session. A client that lost its connection reconnects within seconds, and misses a few dozen messages
// and a response.
const (
	maxEvents = 256
	maxBytes  = 512 << 10
)

// Event is one message of a stream.
type Event struct {
	ID   string // STREAM-NUMBER, unique in a session
	Data []byte // one JSON message

	stream *Stream
	number uint64 // sequence number in the stream, from 1
	last   bool   // last of its stream
}

// Outbox buffers the events of one session. It is safe for concurrent use.
type Outbox struct {
	mu      sync.Mutex
	kept    []*Event // in the order of sending
	bytes   int
	streams map[uint64]*Stream
	next    uint64
	closed  bool
}

// New returns an empty outbox.
func New() *Outbox { return &Outbox{streams: map[uint64]*Stream{}} }

// Stream returns a new stream.
func (b *Outbox) Stream() *Stream {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := &Stream{box: b, number: b.next}
	b.next++
	if !b.closed {
		b.streams[s.number] = s
	}
	return s
}

// Close ends every stream. Readers get the buffered events, and then the end.
func (b *Outbox) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for _, s := range b.streams {
		s.ended = true
		s.wake()
	}
}

// Resume returns a reader that continues after an event of a stream. It returns false for an invalid event ID, and
// for streams that are no longer buffered.
func (b *Outbox) Resume(lastEventID string) (*Reader, bool) {
	number, seen, ok := parseID(lastEventID)
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.streams[number]
	if !ok || s == nil || seen > s.sent {
		return nil, false
	}
	return s.attach(seen), true
}

func parseID(id string) (stream, number uint64, ok bool) {
	a, b, found := strings.Cut(id, "-")
	stream, errA := strconv.ParseUint(a, 10, 64)
	number, errB := strconv.ParseUint(b, 10, 64)
	return stream, number, found && errA == nil && errB == nil
}

// trim drops events until the rest is within the bounds. The newest always stays.
func (b *Outbox) trim() {
	for i := 0; i < len(b.kept)-1 && (len(b.kept) > maxEvents || b.bytes > maxBytes); {
		if e := b.kept[i]; e.last && e.stream.reader != nil && e.stream.reader.seen < e.number {
			i++ // a connected client has yet to receive it
		} else {
			b.drop(i)
		}
	}
}

func (b *Outbox) drop(i int) {
	e := b.kept[i]
	b.kept = slices.Delete(b.kept, i, i+1)
	b.bytes -= len(e.Data)
	if e.last {
		delete(b.streams, e.stream.number)
	}
}

// Stream is one sequence of messages.
type Stream struct {
	box    *Outbox
	number uint64

	// guarded by box.mu
	sent     uint64 // number of the last event
	read     uint64 // number of the last event that a reader took
	ended    bool   // no more events follow
	released bool   // the reader is to end its connection
	reader   *Reader
}

// Send adds a message. It has no effect after the end of the stream.
func (s *Stream) Send(msg []byte) { s.add(msg, false) }

// End ends the stream with a last message, which may be nil.
func (s *Stream) End(msg []byte) { s.add(msg, true) }

func (s *Stream) add(msg []byte, last bool) {
	b := s.box
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.ended {
		return
	}
	s.ended = last
	if msg != nil {
		s.sent++
		b.kept = append(b.kept, &Event{ID: s.id(s.sent), Data: msg, stream: s, number: s.sent, last: last})
		b.bytes += len(msg)
		b.trim()
	} else {
		delete(b.streams, s.number)
	}
	s.wake()
}

// Release ends the current connection of the stream after all its events are written. The client reconnects for the
// rest.
func (s *Stream) Release() {
	s.box.mu.Lock()
	defer s.box.mu.Unlock()
	s.released = true
	s.wake()
}

// Forget drops the stream. No client may have received its events.
func (s *Stream) Forget() {
	b := s.box
	b.mu.Lock()
	defer b.mu.Unlock()
	s.ended = true
	delete(b.streams, s.number)
	for i := len(b.kept) - 1; i >= 0; i-- {
		if b.kept[i].stream == s {
			b.drop(i)
		}
	}
}

// Attached reports whether the stream has a reader.
func (s *Stream) Attached() bool {
	s.box.mu.Lock()
	defer s.box.mu.Unlock()
	return s.reader != nil
}

// Attach returns a reader that continues where the last one stopped, and replaces the current one.
func (s *Stream) Attach() *Reader {
	s.box.mu.Lock()
	defer s.box.mu.Unlock()
	return s.attach(s.read)
}

func (s *Stream) attach(seen uint64) *Reader {
	if s.reader != nil {
		s.reader.stop()
	}
	r := &Reader{stream: s, seen: seen, news: make(chan struct{}, 1)}
	s.reader, s.released = r, false
	s.wake() // for events that are there already
	return r
}

func (s *Stream) wake() {
	if s.reader != nil {
		s.reader.wake()
	}
}

func (s *Stream) id(number uint64) string { return fmt.Sprintf("%d-%d", s.number, number) }
