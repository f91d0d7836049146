package stdio

import (
	"bytes"
	"errors"
	"io"
)

const (
	// chunkSize is how much is asked of the input at once: what a pipe holds on Linux.
	chunkSize = 64 << 10
	// minRead is the smallest free rest of a chunk that is still read into.
	minRead = 4 << 10
	// maxEmptyReads is how often a reader may give nothing and no error, as in package bufio.
	maxEmptyReads = 100
)

// errTooLong reports a line over the limit. The line is gone; the next one can be read.
var errTooLong = errors.New("line too long")

// lines cuts its input into lines. The lines it gave out stay valid and unchanged for good: a
// chunk is never written twice, a full one is left to its readers and the collector.
type lines struct {
	in    io.Reader
	max   int    // bytes in a line, without its end
	idle  func() // called before each read of in, which may block
	chunk []byte
	// chunk[start:end] is not given out yet, and its first clean bytes hold no line end.
	start, end, clean int
	err               error // of in; final
}

// next returns the next line that is not empty, without white space around it. The error is
// errTooLong, after which next may be called again, or what ended the input.
func (l *lines) next() ([]byte, error) {
	for {
		line, err := l.line()
		if line = bytes.Trim(line, " \t\r"); err != nil || len(line) > 0 {
			return line, err
		}
	}
}

func (l *lines) line() ([]byte, error) {
	for {
		if i := bytes.IndexByte(l.chunk[l.start+l.clean:l.end], '\n'); i >= 0 {
			return l.cut(l.clean+i, 1)
		}
		l.clean = l.end - l.start
		if l.clean > l.max+1 { // one more for a carriage return
			return nil, l.skip()
		}
		if l.err != nil {
			return l.last()
		}
		l.fill()
	}
}

// cut takes n bytes out as a line, and drops the line end behind them.
func (l *lines) cut(n, end int) ([]byte, error) {
	line := l.chunk[l.start : l.start+n : l.start+n]
	l.start += n + end
	l.clean = 0
	line = bytes.TrimSuffix(line, []byte{'\r'})
	if len(line) > l.max {
		return nil, errTooLong
	}
	return line, nil
}

// last gives out what stands behind the last line end, once, and then the error.
func (l *lines) last() ([]byte, error) {
	if l.start == l.end {
		return nil, l.err
	}
	return l.cut(l.end-l.start, 0)
}

// fill reads once, into a chunk with enough room.
func (l *lines) fill() {
	if len(l.chunk)-l.end < minRead {
		l.grow()
	}
	l.end += l.read(l.chunk[l.end:])
}

// grow goes on in a new chunk: of the usual size, or of twice the unfinished line's.
func (l *lines) grow() {
	rest := l.chunk[l.start:l.end]
	chunk := make([]byte, max(chunkSize, min(2*len(rest), l.max+chunkSize)))
	l.start, l.end = 0, copy(chunk, rest)
	l.chunk = chunk
}

// skip drops the unfinished line and reads on until its end.
func (l *lines) skip() error {
	l.chunk = make([]byte, chunkSize)
	l.start, l.end, l.clean = 0, 0, 0
	for l.err == nil {
		n := l.read(l.chunk)
		if i := bytes.IndexByte(l.chunk[:n], '\n'); i >= 0 {
			l.start, l.end = i+1, n
			break
		}
	}
	return errTooLong
}

func (l *lines) read(p []byte) (n int) {
	l.idle()
	for range maxEmptyReads {
		if n, l.err = l.in.Read(p); n > 0 || l.err != nil {
			return n
		}
	}
	l.err = io.ErrNoProgress
	return 0
}

// buffered reports whether something behind the last line was read already.
func (l *lines) buffered() bool { return l.end > l.start }
