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
type writer struct {
	fail    func(error) // called once, with the first error of out
	waiting atomic.Int32
	closed  atomic.Bool

	mu  sync.Mutex
	buf *bufio.Writer
	err error
}

func newWriter(out io.Writer, fail func(error)) *writer {
	return &writer{buf: bufio.NewWriterSize(out, chunkSize), fail: fail}
}

// write writes msg. If more is set, the caller promises another write or a flush soon.
func (w *writer) write(msg []byte, more bool) {
	if len(msg) == 0 || w.closed.Load() {
		return
	}
	msg = oneLine(msg)
	w.lock()
	defer w.mu.Unlock()
	w.buf.Write(msg) // its errors come back from Flush
	err := w.buf.WriteByte('\n')
	if !more && w.waiting.Load() == 0 {
		err = w.buf.Flush()
	}
	w.check(err)
}

// flush sends what was held back for a following message.
func (w *writer) flush() {
	w.lock()
	defer w.mu.Unlock()
	if w.buf.Buffered() > 0 && !w.closed.Load() {
		w.check(w.buf.Flush())
	}
}

// lock counts those who wait for the lock: whoever holds it can leave the flush to them.
func (w *writer) lock() {
	w.waiting.Add(1)
	w.mu.Lock()
	w.waiting.Add(-1)
}

func (w *writer) check(err error) {
	if err != nil && w.err == nil {
		w.err = err
		w.fail(err)
	}
}

// close makes later writes do nothing. It waits for nobody: a write may block forever.
func (w *writer) close() { w.closed.Store(true) }

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
