package streamable

import "time"

// eventReader reads the events of a stream for one connection. It is not safe for concurrent use.
type eventReader struct {
	stream *eventStream
	signal chan struct{} // capacity 1: signals that next may have a new result

	// guarded by the outbox's lock
	seen    uint64 // number of the last event that was taken
	stopped bool   // replaced by a new reader

	// of the write of the events that were taken; nil if none is under way
	cut     func()        // fails it
	writing chan struct{} // closed at its end
}

// settleTime is the time for a write that was cut to end. In HTTP/1.1 it ends at once. With TLS it may take as long as a
// client that reads nothing keeps the server from closing the connection, and in HTTP/2 as long as the connection lasts.
const settleTime = time.Second

// news returns a channel that signals when next may have a new result.
func (r *eventReader) news() <-chan struct{} { return r.signal }

// position returns the event ID from which a client can resume after the events that this reader took.
func (r *eventReader) position() string {
	r.stream.box.mu.Lock()
	defer r.stream.box.mu.Unlock()
	return r.stream.id(r.seen)
}

// streamState is the state of a stream for one reader.
type streamState int

const (
	// streamOpen is a stream that may get more events.
	streamOpen streamState = iota
	// streamEnded is an ended stream with all its events read.
	streamEnded
	// streamReleased is a stream that is to leave its connection. The next reader gets the rest.
	streamReleased
	// streamReplaced is a stream with a new reader.
	streamReplaced
)

// next returns the events since the last call, without blocking. Unless the reader is replaced, the caller writes them, and
// calls wrote. cut fails that write: it may be called until then, by a new reader, which waits for the write.
func (r *eventReader) next(cut func()) ([]*event, streamState) {
	s := r.stream
	s.box.mu.Lock()
	defer s.box.mu.Unlock()
	if r.stopped {
		return nil, streamReplaced
	}
	r.cut, r.writing = cut, make(chan struct{})
	var list []*event
	for _, e := range s.box.kept {
		if e.stream == s && e.number > r.seen {
			list = append(list, e)
		}
	}
	if len(list) > 0 {
		r.seen = list[len(list)-1].number
	}
	switch {
	case s.ended:
		return list, streamEnded
	case s.released:
		return list, streamReleased
	}
	return list, streamOpen
}

// wrote ends the write of the events of next. Those of a write that failed are for the next reader.
func (r *eventReader) wrote(err error) {
	s := r.stream
	s.box.mu.Lock()
	defer s.box.mu.Unlock()
	if err == nil {
		s.read = max(s.read, r.seen)
	}
	close(r.writing)
	r.cut, r.writing = nil, nil
}

// only returns the message of an ended stream that has only one event, which was not taken. It returns false
// otherwise. The event remains to be taken.
func (r *eventReader) only() (msg []byte, ok bool) {
	s := r.stream
	s.box.mu.Lock()
	defer s.box.mu.Unlock()
	if r.stopped || !s.ended || s.sent > 1 || s.read > 0 {
		return nil, false
	}
	for _, e := range s.box.kept {
		if e.stream == s {
			return e.data, true
		}
	}
	return nil, true
}

// waiting reports whether next has a new result.
func (r *eventReader) waiting() bool {
	r.stream.box.mu.Lock()
	defer r.stream.box.mu.Unlock()
	return r.stopped || r.stream.ended || r.stream.released || r.stream.sent > r.seen
}

// close detaches the reader from the stream. Its events remain for the next reader.
func (r *eventReader) close() {
	r.stream.box.mu.Lock()
	defer r.stream.box.mu.Unlock()
	if r.stream.reader == r {
		r.stream.reader = nil
	}
	r.stopped = true
}

// stop signals the reading goroutine. The lock is held.
func (r *eventReader) stop() {
	r.stopped = true
	if r.cut != nil {
		r.cut()
	}
	r.wake()
}

// settle waits for the end of a write that was cut, for a while. The lock is held, and released meanwhile.
func (r *eventReader) settle() {
	if r.writing == nil {
		return
	}
	over, timer := r.writing, time.NewTimer(settleTime)
	defer timer.Stop()
	r.stream.box.mu.Unlock()
	defer r.stream.box.mu.Lock()
	select {
	case <-over:
	case <-timer.C:
	}
}

func (r *eventReader) wake() {
	select {
	case r.signal <- struct{}{}:
	default:
	}
}

// of reports whether the reader's stream is s.
func (r *eventReader) of(s *eventStream) bool { return r.stream == s }
