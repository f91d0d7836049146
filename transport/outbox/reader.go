package outbox

// Reader takes the events of a stream for one connection. It belongs to one goroutine.
type Reader struct {
	stream *Stream
	news   chan struct{} // one token: Next has something to say

	// guarded by the outbox's lock
	seen    uint64 // number of the last event that was taken
	stopped bool   // another reader took over
}

// News gives a token when Next may have something to say that it had not before.
func (r *Reader) News() <-chan struct{} { return r.news }

// Position is the id that a client names to get what follows the events that this reader took.
func (r *Reader) Position() string {
	r.stream.box.mu.Lock()
	defer r.stream.box.mu.Unlock()
	return r.stream.id(r.seen)
}

// State says how a stream stands, for one reader.
type State int

const (
	// Open is a stream to which more may come.
	Open State = iota
	// Ended is a stream of which the reader has all.
	Ended
	// Released is a stream whose connection is to end: the rest is for the next reader.
	Released
	// Replaced is a stream that another reader took over.
	Replaced
)

// Next takes the events that have come since it was called last.
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

// Only returns the last message of a stream that has ended with nothing before it, of which no reader
// took anything; false if it is not so, or not yet. What came is still to be taken.
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

// Waiting reports whether Next has anything to say.
func (r *Reader) Waiting() bool {
	r.stream.box.mu.Lock()
	defer r.stream.box.mu.Unlock()
	return r.stopped || r.stream.ended || r.stream.released || r.stream.sent > r.seen
}

// Close lets go of the stream. Its events wait for the next reader.
func (r *Reader) Close() {
	r.stream.box.mu.Lock()
	defer r.stream.box.mu.Unlock()
	if r.stream.reader == r {
		r.stream.reader = nil
	}
	r.stopped = true
}

// stop tells the goroutine that reads. The lock is held.
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
