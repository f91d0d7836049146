package stdio

import (
	"bytes"
	"errors"
	"io"
)

const (
	// chunkSize is the size of one read: the capacity of a pipe on Linux.
	chunkSize = 64 << 10
	// minRead is the minimum free space of a chunk for a read.
	minRead = 4 << 10
	// maxAhead is the maximum length of a line for which room is made before it is read, since the last one was as long:
	// a chunk stays in memory as long as one of its lines.
	maxAhead = 1 << 20
	// maxEmptyReads bounds consecutive reads without data and error, as in package bufio.
	maxEmptyReads = 100
)

var (
	// errTooLong reports a line over the limit. The line was skipped, and the next one can be read.
	errTooLong = errors.New("line too long")
	// errTaken reports that another goroutine reads on.
	errTaken = errors.New("turn taken")
)

// lines splits its input into lines. Returned lines stay valid and unchanged: no part of a chunk is written twice,
// and a full one is left to the garbage collector.
type lines struct {
	in    io.Reader
	max   int // limit on the bytes in a line, without its end
	chunk []byte
	// chunk[start:end] is unconsumed, and its first clean bytes contain no line end.
	start, end, clean int
	previous          int   // length of the last line, at most maxAhead
	skipping          bool  // a line over the limit, to its end
	err               error // final error of in
}

// next returns the next nonempty line, without white space around it. After errTooLong, next may be called again.
// Other errors are final. idle is called before a read of in, which may wait; if it returns false, another goroutine may
// use l already, and next returns errTaken without a use of it.
func (l *lines) next(idle func() bool) ([]byte, error) {
	for {
		line, err := l.line(idle)
		if line = bytes.Trim(line, " \t\r"); err != nil || len(line) > 0 {
			return line, err
		}
	}
}

func (l *lines) line(idle func() bool) ([]byte, error) {
	for {
		switch i := bytes.IndexByte(l.chunk[l.start+l.clean:l.end], '\n'); {
		case l.skipping:
			if l.skip(i) {
				return nil, errTooLong
			}
		case i >= 0:
			return l.cut(l.clean+i, 1)
		case l.err != nil && l.end-l.start <= l.max+1:
			return l.last()
		default:
			l.clean = l.end - l.start
			if l.clean > l.max+1 { // one more for a carriage return
				l.skipping = true
				l.chunk = make([]byte, chunkSize)
				l.start, l.end, l.clean = 0, 0, 0
				continue
			}
		}
		if !idle() {
			return nil, errTaken
		}
		l.fill()
	}
}

// cut consumes n bytes as a line, and skips the line end after them.
func (l *lines) cut(n, end int) ([]byte, error) {
	line := l.chunk[l.start : l.start+n : l.start+n]
	l.start += n + end
	l.clean, l.previous = 0, min(n, maxAhead)
	line = bytes.TrimSuffix(line, []byte{'\r'})
	if len(line) > l.max {
		return nil, errTooLong
	}
	return line, nil
}

// last returns an unterminated last line once, and then the error.
func (l *lines) last() ([]byte, error) {
	if l.start == l.end {
		return nil, l.err
	}
	return l.cut(l.end-l.start, 0)
}

// fill reads once, into a chunk with enough room. Between two lines that is room for one like the last, which else would be
// copied as it grows.
func (l *lines) fill() {
	if free := len(l.chunk) - l.end; free < minRead || l.start == l.end && free < l.previous {
		l.grow()
	}
	l.end += l.read(l.chunk[l.end:])
}

// grow continues in a new chunk: of the usual size, with room for a line like the last one, or twice the length of the
// unfinished line.
func (l *lines) grow() {
	rest := l.chunk[l.start:l.end]
	chunk := make([]byte, max(chunkSize, l.previous+minRead, min(2*len(rest), l.max+chunkSize)))
	l.start, l.end = 0, copy(chunk, rest)
	l.chunk = chunk
}

// skip discards what was read of a line that is too long, whose end is at i; negative if it is not there yet. It reports
// whether the line is over.
func (l *lines) skip(i int) bool {
	l.skipping = i < 0 && l.err == nil
	if i < 0 {
		l.start, l.end = 0, 0
	} else {
		l.start += i + 1
	}
	return !l.skipping
}

func (l *lines) read(p []byte) (n int) {
	for range maxEmptyReads {
		if n, l.err = l.in.Read(p); n > 0 || l.err != nil {
			return n
		}
	}
	l.err = io.ErrNoProgress
	return 0
}

// buffered reports whether bytes after the last line were read already.
func (l *lines) buffered() bool { return l.end > l.start }
