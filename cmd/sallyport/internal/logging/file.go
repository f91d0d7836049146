package logging

import (
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/sallyport-mcp/sallyport/hostfuncs/filelock"
)

// maxLog is when the log begins a new file; the one before is kept, so twice this is the most.
const maxLog = 16 << 20

// File writes log lines to the terminal and to a file, which other processes write too. It is safe for concurrent use.
//
// Each line opens the file by its name: no process holds one open that another has renamed, and on Windows, where an open
// file cannot be renamed, it is open for the moment of a line alone.
type File struct {
	terminal io.Writer
	path     string
	max      int64

	mu     sync.Mutex
	closed bool
}

// Open opens a log file; lines also go to terminal.
func Open(path string, terminal io.Writer) (*File, error) {
	l := &File{terminal: terminal, path: path, max: maxLog}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // a pipe would be waited at for ever
		return nil, fmt.Errorf("%s is no regular file", path)
	}
	f, err := l.open()
	if err != nil {
		return nil, err
	}
	return l, f.Close()
}

func (l *File) open() (*os.File, error) {
	return os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
}

// old is where the file before is kept.
func (l *File) old() string { return l.path + ".1" }

// Write implements io.Writer. A full disk costs the file its line, not the terminal.
func (l *File) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.add(line)
	}
	return l.terminal.Write(line)
}

// add writes a line to the file. It comes back if the file was rotated away for good in the middle of it.
func (l *File) add(line []byte) {
	for range 3 {
		if l.full(len(line)) {
			l.rotate(len(line))
		}
		f, err := l.open()
		if err != nil {
			return
		}
		_, err = f.Write(line) // at once, so that lines of several processes do not mix
		stays := err != nil || l.keeps(f)
		f.Close()
		if stays {
			return
		}
	}
}

// full reports whether a line does not fit into the file any more.
func (l *File) full(line int) bool {
	info, err := os.Stat(l.path)
	return err == nil && info.Size() > 0 && info.Size()+int64(line) > l.max
}

// keeps reports whether an open file is the log or the one before.
func (l *File) keeps(f *os.File) bool {
	info, err := f.Stat()
	if err != nil {
		return true // nothing better is known
	}
	for _, path := range []string{l.path, l.old()} { // in this order, in which a file goes
		if there, err := os.Stat(path); err == nil && os.SameFile(info, there) {
			return true
		}
	}
	return false
}

// rotate begins a new file, unless another process does. Where that fails the old one grows on, until a later line tries again.
func (l *File) rotate(line int) {
	f, err := os.OpenFile(l.path+".busy", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return
	}
	defer f.Close() // and with it the lock
	if free, err := filelock.Try(f); err != nil || !free || !l.full(line) {
		return
	}
	_ = os.Rename(l.path, l.old()) // the next line tries again
}

// Close ends the file; later lines go to the terminal only.
func (l *File) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	return nil
}
