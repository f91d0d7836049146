package logging

import (
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/sallyport-mcp/sallyport/internal/filelock"
)

// maxLog is the size in bytes at which the log is rotated. One old file is kept, so the total is at most twice this.
const maxLog = 16 << 20

// File writes log lines to the terminal and to a file shared with other processes. It is safe for concurrent use.
//
// Each line opens the file by name: no process writes to a file that another has rotated away, and on Windows, where an
// open file cannot be renamed, it is open only while a line is written.
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
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // opening a pipe would block
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

// old returns the name of the rotated file.
func (l *File) old() string { return l.path + ".1" }

// Write implements io.Writer. Errors of the file, such as a full disk, are ignored; only those of the terminal are
// returned.
func (l *File) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.add(line)
	}
	return l.terminal.Write(line)
}

// add appends a line to the file, and repeats that if the file was rotated twice during the write.
func (l *File) add(line []byte) {
	for range 3 {
		if l.full(len(line)) {
			l.rotate(len(line))
		}
		f, err := l.open()
		if err != nil {
			return
		}
		_, err = f.Write(line) // one write, so that lines of several processes do not mix
		stays := err != nil || l.keeps(f)
		f.Close()
		if stays {
			return
		}
	}
}

// full reports whether a line would exceed the file's limit.
func (l *File) full(line int) bool {
	info, err := os.Stat(l.path)
	return err == nil && info.Size() > 0 && info.Size()+int64(line) > l.max
}

// keeps reports whether an open file is the log or the rotated one.
func (l *File) keeps(f *os.File) bool {
	info, err := f.Stat()
	if err != nil {
		return true // assume that it is
	}
	for _, path := range []string{l.path, l.old()} { // in this order, that of a rotation
		if there, err := os.Stat(path); err == nil && os.SameFile(info, there) {
			return true
		}
	}
	return false
}

// rotate renames the log unless another process does. On failure the log grows on until a later line tries again.
func (l *File) rotate(line int) {
	f, err := os.OpenFile(l.path+".busy", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return
	}
	defer f.Close() // also releases the lock
	if free, err := filelock.Try(f); err != nil || !free || !l.full(line) {
		return
	}
	_ = os.Rename(l.path, l.old()) // the next line tries again
}

// Close ends writing to the file; later lines go to the terminal only.
func (l *File) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	return nil
}
