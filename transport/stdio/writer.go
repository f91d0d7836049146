package stdio

import (
	"bufio"
	"bytes"
	"io"
	"sync"
	"sync/atomic"
)

// writer writes messages, one a line, from any number of goroutines. A message goes out at once
// unless another follows at its heels; flush ends such a delay.
//
// Who writes waits for the client to read, until close: then nobody waits any more but the one who is in the middle of a
// write that the system does not end.
type writer struct {
	fail    func(error) // called once, with the first error of out
	waiting atomic.Int32
	once    sync.Once
	closed  chan struct{}

	turn chan struct{} // holds a token while somebody writes
	buf  *bufio.Writer
	err  error
}

func newWriter(out io.Writer, fail func(error)) *writer {
	return &writer{buf: bufio.NewWriterSize(out, chunkSize), fail: fail, turn: make(chan struct{}, 1), closed: make(chan struct{})}
}

// write writes msg. If more is set, the caller promises another write or a flush soon.
func (w *writer) write(msg []byte, more bool) {
	if len(msg) == 0 {
		return
	}
	msg = oneLine(msg)
	if !w.lock() {
		return
	}
	defer w.unlock()
	w.buf.Write(msg) // its errors come back from Flush
	err := w.buf.WriteByte('\n')
	if !more && w.waiting.Load() == 0 {
		err = w.buf.Flush()
	}
	w.check(err)
}

// flush sends what was held back for a following message.
func (w *writer) flush() {
	if !w.lock() {
		return
	}
	defer w.unlock()
	if w.buf.Buffered() > 0 {
		w.check(w.buf.Flush())
	}
}

// lock counts those who wait for their turn: whoever has it can leave the flush to them. False means that nothing is
// written any more.
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

func (w *writer) unlock() { <-w.turn }

func (w *writer) check(err error) {
	if err != nil && w.err == nil {
		w.err = err
		w.fail(err)
	}
}

// close makes later writes, and those that wait, do nothing. It waits for nobody: a write may block forever.
func (w *writer) close() { w.once.Do(func() { close(w.closed) }) }

// oneLine returns msg without line ends. Outside of strings, where JSON allows them, they are
// white space, and inside of strings they are always escaped.
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
