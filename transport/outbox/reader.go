package outbox

// Reader reads the events of a stream for one connection. It is not safe for concurrent use.
type Reader struct {
	stream *Stream
	news   chan struct{} // capacity 1: signals that Next may have a new result

	// guarded by the outbox's lock
	seen    uint64 // number of the last event that was taken
	stopped bool   // replaced by a new reader
}

// News returns a channel that signals when Next may have a new result.
func (r *Reader) News() <-chan struct{} { return r.news }

// Position returns the event ID from which a client can resume after the events that this reader took.
func (r *Reader) Position() string {
	r.stream.box.mu.Lock()
	defer r.stream.box.mu.Unlock()
	return r.stream.id(r.seen)
}

// State is the state of a stream for one reader.
type State int

const (
	// Open is a stream that may get more events.
	Open State = iota
	// Ended is an ended stream with all its events read.
	Ended
	// Released is a stream that is to leave its connection. The next reader gets the rest.
	Released
	// Replaced is a stream with a new reader.
	Replaced
)

// Next returns the events since the last call, without blocking.
func (r *Reader) Next() ([]*Event, State) {
	s := r.stream
	s.box.mu.Lock()
	defer s.box.mu.Unlock()
	if r.stopped {
		return nil, Replaced
	}
	var list []*Event
	for _, e := range s.box.kept {
		if e.stream == s && e.number > r.seen {
			list = append(list, e)
		}
	}
	if len(list) > 0 {
		r.seen = list[len(list)-1].number
		s.read = max(s.read, r.seen)
	}
	switch {
	case s.ended:
		return list, Ended
	case s.released:
		return list, Released
	}
	return list, Open
}

// Only returns the message of an ended stream that has only one event, which was not taken. It returns false
// otherwise. The event remains to be taken.
func (r *Reader) Only() (msg []byte, ok bool) {
	s := r.stream
	s.box.mu.Lock()
	defer s.box.mu.Unlock()
	if r.stopped || !s.ended || s.sent > 1 || s.read > 0 {
		return nil, false
	}
	for _, e := range s.box.kept {
		if e.stream == s {
			return e.Data, true
		}
	}
	return nil, true
}

// Waiting reports whether Next has a new result.
func (r *Reader) Waiting() bool {
	r.stream.box.mu.Lock()
	defer r.stream.box.mu.Unlock()
	return r.stopped || r.stream.ended || r.stream.released || r.stream.sent > r.seen
}

// Close detaches the reader from the stream. Its events remain for the next reader.
func (r *Reader) Close() {
	r.stream.box.mu.Lock()
	defer r.stream.box.mu.Unlock()
	if r.stream.reader == r {
		r.stream.reader = nil
	}
	r.stopped = true
}

// stop signals the reading goroutine. The lock is held.
func (r *Reader) stop() {
	r.stopped = true
	r.wake()
}

func (r *Reader) wake() {
	select {
	case r.news <- struct{}{}:
	default:
	}
}

// Of reports whether the reader's stream is s.
func (r *Reader) Of(s *Stream) bool { return r.stream == s }
