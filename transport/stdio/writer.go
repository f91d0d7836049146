package stdio

import (
	"bufio"
	"bytes"
	"io"
	"sync"
	"sync/atomic"
)

// writer writes messages, one per line. It is safe for concurrent use. A message is written at once unless another
// follows immediately. flush ends the delay.
//
// Writers block until the client reads. After close none waits any more, except one in a blocked system write.
type writer struct {
	fail    func(error) // called once, with the first error of out
	waiting atomic.Int32
	once    sync.Once
	closed  chan struct{}

	turn chan struct{} // holds a token while a goroutine writes
	buf  *bufio.Writer
	err  error
}

func newWriter(out io.Writer, fail func(error)) *writer {
	return &writer{buf: bufio.NewWriterSize(out, chunkSize), fail: fail, turn: make(chan struct{}, 1), closed: make(chan struct{})}
}

// write writes msg. With more set, the caller must soon call write or flush again.
func (w *writer) write(msg []byte, more bool) {
	if len(msg) == 0 {
		return
	}
	msg = oneLine(msg)
	if !w.lock() {
		return
	}
	defer w.unlock()
	whole := len(msg) / chunkSize * chunkSize
	w.buf.Write(msg[:whole]) // errors are reported by Flush
	w.buf.Write(msg[whole:]) // with the line end, so that a reader gets both at once
	err := w.buf.WriteByte('\n')
	if !more && w.waiting.Load() == 0 {
		err = w.buf.Flush()
	}
	w.check(err)
}

// flush writes buffered messages.
func (w *writer) flush() {
	if !w.lock() {
		return
	}
	defer w.unlock()
	if w.buf.Buffered() > 0 {
		w.check(w.buf.Flush())
	}
}

// lock acquires the turn, and counts waiting writers: the owner can leave the flush to them. It returns false after
// close.
func (w *writer) lock() bool {
	w.waiting.Add(1)
	defer w.waiting.Add(-1)
	select {
	case <-w.closed:
		return false
	default:
	}
	select {
	case w.turn <- struct{}{}:
		return true
	case <-w.closed:
		return false
	}
}

// tryLock acquires the turn if no goroutine has it, and w is not closed.
func (w *writer) tryLock() bool {
	select {
	case <-w.closed:
		return false
	default:
	}
	select {
	case w.turn <- struct{}{}:
		return true
	default:
		return false
	}
}

func (w *writer) unlock() { <-w.turn }

// busy reports whether a goroutine writes.
func (w *writer) busy() bool { return len(w.turn) > 0 }

func (w *writer) check(err error) {
	if err != nil && w.err == nil {
		w.err = err
		w.fail(err)
	}
}

// close makes waiting and later writes return without effect. It does not wait: a write may block forever.
func (w *writer) close() { w.once.Do(func() { close(w.closed) }) }

// oneLine returns msg without line ends. In JSON they are insignificant white space outside of strings, and always
// escaped inside.
func oneLine(msg []byte) []byte {
	if bytes.IndexByte(msg, '\n') < 0 && bytes.IndexByte(msg, '\r') < 0 {
		return msg
	}
	line := bytes.Clone(msg)
	for i, c := range line {
		if c == '\n' || c == '\r' {
			line[i] = ' '
		}
	}
	return line
}
