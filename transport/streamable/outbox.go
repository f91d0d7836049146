package streamable

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
	outboxEvents = 256
	outboxBytes  = 512 << 10
)

// event is one message of a stream.
type event struct {
	id   string // STREAM-NUMBER, unique in a session
	data []byte // one JSON message

	stream *eventStream
	number uint64 // sequence number in the stream, from 1
	last   bool   // last of its stream
}

// outbox buffers the messages of one session until its client has received them, and for resumption after that. It is
// safe for concurrent use.
//
//	call ──▶ eventStream.send ──▶ ┌ outbox ─────────────┐
//	call ──▶ eventStream.send ──▶ │ events of a session │ ──▶ eventReader ──▶ connection
//	         eventStream.end  ──▶ └─────────────────────┘ ──▶ eventReader ──▶ another connection, later
//
// Sending never blocks on a client. Therefore the events are bounded, and the oldest are dropped first, except those
// of a response that a connected client has not received yet.
type outbox struct {
	name  string // begins the names of its streams
	saver *saver // of its events; nil if no other process can resume its streams

	mu      sync.Mutex
	kept    []*event // in the order of sending
	bytes   int
	streams map[uint64]*eventStream
	next    uint64
	closed  bool
}

// newOutbox returns an empty outbox.
func newOutbox(name string, v *saver) *outbox {
	return &outbox{name: name, saver: v, streams: map[uint64]*eventStream{}}
}

// answer returns a new stream for the response to a request.
func (b *outbox) answer(request []byte) *eventStream {
	s := b.stream()
	s.save(request)
	return s
}

// stream returns a new stream.
func (b *outbox) stream() *eventStream {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := &eventStream{box: b, number: b.next}
	b.next++
	if !b.closed {
		b.streams[s.number] = s
	}
	return s
}

// close ends every stream. Readers get the buffered events, and then the end.
func (b *outbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for _, s := range b.streams {
		s.ended = true
		s.wake()
	}
}

// resume returns a reader that continues after an event of a stream. It returns false for an invalid event ID, and
// for streams that are no longer buffered.
func (b *outbox) resume(lastEventID string) (*eventReader, bool) {
	own, is := strings.CutPrefix(lastEventID, b.name)
	number, seen, ok := parseEventID(own)
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.streams[number]
	if !is || !ok || s == nil || seen > s.sent {
		return nil, false
	}
	s.vacate()
	s.read = seen
	return s.attach(), true
}

func parseEventID(id string) (stream, number uint64, ok bool) {
	a, b, found := strings.Cut(id, "-")
	stream, errA := strconv.ParseUint(a, 10, 64)
	number, errB := strconv.ParseUint(b, 10, 64)
	return stream, number, found && errA == nil && errB == nil
}

// trim drops events until the rest is within the bounds. The newest always stays.
func (b *outbox) trim() {
	for i := 0; i < len(b.kept)-1 && (len(b.kept) > outboxEvents || b.bytes > outboxBytes); {
		if e := b.kept[i]; e.last && e.stream.reader != nil && e.stream.reader.seen < e.number {
			i++ // a connected client has yet to receive it
		} else {
			b.drop(i)
		}
	}
}

func (b *outbox) drop(i int) {
	e := b.kept[i]
	b.kept = slices.Delete(b.kept, i, i+1)
	b.bytes -= len(e.data)
	b.saver.drop(e.stream, e.number)
	if e.last {
		delete(b.streams, e.stream.number)
	}
}

// eventStream is the content of one connection: the messages of one request and its response, or messages that belong
// to no request. It outlives connections: a client that lost one opens a new one, names the last event that it
// received, and continues from there. A stream has one reader at a time. A new one replaces it.
type eventStream struct {
	box    *outbox
	number uint64

	// guarded by box.mu
	saved    bool   // its events are stored
	sent     uint64 // number of the last event
	read     uint64 // number of the last event that was written to a connection
	ended    bool   // no more events follow
	released bool   // the reader is to end its connection
	reader   *eventReader
}

// send adds a message. It has no effect after the end of the stream.
func (s *eventStream) send(msg []byte) { s.add(msg, false) }

// end ends the stream with a last message, which may be nil.
func (s *eventStream) end(msg []byte) { s.add(msg, true) }

// offer is send if the stream has a reader, and reports whether it has.
func (s *eventStream) offer(msg []byte) bool {
	s.box.mu.Lock()
	defer s.box.mu.Unlock()
	if s.reader == nil || s.ended {
		return false
	}
	s.put(msg, false)
	return true
}

func (s *eventStream) add(msg []byte, last bool) {
	s.box.mu.Lock()
	defer s.box.mu.Unlock()
	if !s.ended {
		s.put(msg, last)
	}
}

// put adds a message to a stream that has not ended. The lock is held.
func (s *eventStream) put(msg []byte, last bool) {
	b := s.box
	s.ended = last
	if msg != nil {
		s.sent++
		e := &event{id: s.id(s.sent), data: msg, stream: s, number: s.sent, last: last}
		b.kept = append(b.kept, e)
		b.bytes += len(msg)
		b.saver.event(e)
		b.trim()
	} else {
		delete(b.streams, s.number)
		b.saver.drop(s, 0)
	}
	s.wake()
}

// release ends the current connection of the stream after all its events are written. The client reconnects for the
// rest.
func (s *eventStream) release() {
	s.box.mu.Lock()
	defer s.box.mu.Unlock()
	s.released = true
	s.wake()
}

// forget drops the stream. No client may have received its events.
func (s *eventStream) forget() {
	b := s.box
	b.mu.Lock()
	defer b.mu.Unlock()
	if !s.ended {
		b.saver.drop(s, 0)
	}
	s.ended = true
	delete(b.streams, s.number)
	for i := len(b.kept) - 1; i >= 0; i-- {
		if b.kept[i].stream == s {
			b.drop(i)
		}
	}
}

// attached reports whether the stream has a reader.
func (s *eventStream) attached() bool {
	s.box.mu.Lock()
	defer s.box.mu.Unlock()
	return s.reader != nil
}

// open returns a reader that continues behind the last event that was written, and replaces the current one. An event that
// was written does not come again, as each message is for one stream only; a client that lost it resumes.
func (s *eventStream) open() *eventReader {
	s.box.mu.Lock()
	defer s.box.mu.Unlock()
	s.vacate()
	return s.attach()
}

// displace ends the current connection of the stream, whose client has opened one at another process, and returns the
// messages that were not written to it. If the client resumed this stream, those are the ones after an event.
func (s *eventStream) displace(resumed bool, after uint64) (rest [][]byte) {
	s.box.mu.Lock()
	defer s.box.mu.Unlock()
	if s.reader == nil && !s.saved { // it had no connection here
		return nil
	}
	s.vacate()
	if resumed {
		s.read = after
	}
	for _, e := range s.box.kept {
		if e.stream == s && e.number > s.read {
			rest = append(rest, e.data)
		}
	}
	s.read, s.saved = s.sent, false
	return rest
}

// owes reports whether there are events that were not written to the client of a connection of this process.
func (s *eventStream) owes() bool {
	s.box.mu.Lock()
	defer s.box.mu.Unlock()
	return s.saved && s.read < s.sent
}

// vacate stops the current reader, and waits for the end of its write, so that read is exact: the client may have an event
// before its write returns. The events of a write that does not end soon are for the next reader too. Until then the reader
// stays, so that everybody who comes waits. The lock is held, and released meanwhile.
func (s *eventStream) vacate() {
	for s.reader != nil {
		r := s.reader
		r.stop()
		r.settle()
		if s.reader == r {
			s.reader = nil
		}
	}
}

// attach returns a reader of the events behind those that were written. The lock is held, and there is no reader.
func (s *eventStream) attach() *eventReader {
	r := &eventReader{stream: s, seen: s.read, signal: make(chan struct{}, 1)}
	s.reader, s.released = r, false
	s.wake() // for events that are there already
	return r
}

func (s *eventStream) wake() {
	if s.reader != nil {
		s.reader.wake()
	}
}

// save stores the events of the stream from now on, if other processes can resume it, and the ID of its request.
func (s *eventStream) save(request []byte) {
	s.box.mu.Lock()
	defer s.box.mu.Unlock()
	if s.box.saver != nil && !s.saved {
		s.saved = true
		s.box.saver.head(s.name(), request)
	}
}

// skip leaves numbers out, up to this one.
func (s *eventStream) skip(number uint64) {
	s.box.mu.Lock()
	defer s.box.mu.Unlock()
	s.sent = max(s.sent, number)
}

func (s *eventStream) name() string { return fmt.Sprint(s.box.name, s.number) }

func (s *eventStream) id(number uint64) string {
	return fmt.Sprintf("%s%d-%d", s.box.name, s.number, number)
}
