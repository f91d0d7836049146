package logging

import (
	"errors"
	"io"
	"os"
	"sync"
)

// maxLog is when the log begins a new file; the one before is kept, so twice this is the most.
const maxLog = 16 << 20

// File writes log lines to the terminal and to a file. It is safe for concurrent use.
type File struct {
	terminal io.Writer

	mu   sync.Mutex
	path string
	file *os.File
	size int64
}

// Open opens a log file; lines also go to terminal.
func Open(path string, terminal io.Writer) (*File, error) {
	l := &File{terminal: terminal, path: path}
	return l, l.open()
}

func (l *File) open() error {
	f, err := os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	l.file, l.size = f, info.Size()
	return nil
}

// Write implements io.Writer. A full disk costs the file its line, not the terminal.
func (l *File) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		if l.size+int64(len(line)) > maxLog {
			l.rotate()
		}
		n, _ := l.file.Write(line)
		l.size += int64(n)
	}
	return l.terminal.Write(line)
}

// rotate begins a new file. Where that fails the old one grows on.
func (l *File) rotate() {
	if err := os.Rename(l.path, l.path+".1"); err != nil {
		return
	}
	old := l.file
	if err := l.open(); err != nil {
		l.file = old
		return
	}
	old.Close()
}

// Close closes the file; later lines go to the terminal only.
func (l *File) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.file.Close()
	l.file = nil
	return err
}
