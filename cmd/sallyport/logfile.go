package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
)

// maxLog is when the log begins a new file; the one before is kept, so twice this is the most.
const maxLog = 16 << 20

// logFile writes log lines to the terminal and to the state folder.
type logFile struct {
	terminal io.Writer

	mu   sync.Mutex
	path string
	file *os.File
	size int64
}

// openLog opens sallyport.log in the state folder; lines also go to w.
func openLog(s *settings.Settings, w io.Writer) (*logFile, error) {
	if err := makeFolder(s.Text("state")); err != nil {
		return nil, err
	}
	l := &logFile{terminal: w, path: filepath.Join(s.Text("state"), "sallyport.log")}
	return l, l.open()
}

func (l *logFile) open() error {
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
func (l *logFile) Write(line []byte) (int, error) {
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
func (l *logFile) rotate() {
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
func (l *logFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.file.Close()
	l.file = nil
	return err
}

// makeFolder makes a folder that only its owner can enter. One that is there must be ours, and others
// must not be able to write to it: they could exchange the token, or let a link lead the log elsewhere.
func makeFolder(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return hint(err, "name a folder of your own with --state FOLDER")
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !private(info) {
		return fmt.Errorf("state folder %s: others can write to it (mode %04o); use a folder of your own, or chmod 700 it",
			path, info.Mode().Perm())
	}
	return nil
}
