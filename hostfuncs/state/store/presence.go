package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sallyport-mcp/sallyport/internal/filelock"
)

// presenceFolder holds a file for each name that a process has taken, which it holds the lock of.
const presenceFolder = "running"

// Hold takes a name for this process, until the store is closed or the process ends, however it ends. A
// name is letters and digits, taken by one process, once.
func (s *Store) Hold(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	if s.held[name] != nil {
		return nil
	}
	path := s.presence(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if free, err := filelock.Try(f); err != nil || !free {
		return errors.Join(err, f.Close(), ErrExists)
	}
	if s.held == nil {
		s.held = map[string]*os.File{}
	}
	s.held[name] = f
	return nil
}

// Gone reports whether the process that held a name has ended. Where files cannot be locked nobody is ever
// gone.
func (s *Store) Gone(name string) bool {
	s.mu.Lock()
	mine := s.held[name] != nil
	s.mu.Unlock()
	if mine || !s.locking() {
		return false
	}
	path := s.presence(name)
	f, err := os.OpenFile(path, os.O_RDWR, 0o600)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer func() { _ = f.Close() }() // and the lock with it
	if free, err := filelock.Try(f); err != nil || !free {
		return false
	}
	_ = os.Remove(path) // another process may have been faster; nobody takes the name again
	return true
}

// locks reports whether a lock keeps anybody out: two open files of one process are enough to see that.
func (s *Store) locks() bool {
	dir := filepath.Dir(s.presence(""))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return false
	}
	f, err := os.CreateTemp(dir, "probe-*")
	if err != nil {
		return false
	}
	defer func() { _ = os.Remove(f.Name()) }()
	defer func() { _ = f.Close() }()
	again, err := os.OpenFile(f.Name(), os.O_RDWR, 0o600)
	if err != nil {
		return false
	}
	defer func() { _ = again.Close() }()
	first, err := filelock.Try(f)
	if err != nil || !first {
		return false
	}
	second, err := filelock.Try(again)
	return err == nil && !second
}

func (s *Store) presence(name string) string {
	return filepath.Join(filepath.Dir(s.path), presenceFolder, name+".lock")
}

// release gives all names back. s.mu is held.
func (s *Store) release() {
	for name, f := range s.held {
		_ = f.Close() // before: an open file has to stay on some systems
		_ = os.Remove(f.Name())
		delete(s.held, name)
	}
}
