package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sallyport-mcp/sallyport/internal/filelock"
)

// presenceFolder has one locked file for each name that a running process holds.
const presenceFolder = "running"

// Hold acquires a name until the store is closed or the process ends for any reason. A name consists of letters and
// digits, and is never used again.
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

// Gone reports whether the process that held a name has ended. Without file locks it is always false.
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
	defer func() { _ = f.Close() }() // also releases the lock
	if free, err := filelock.Try(f); err != nil || !free {
		return false
	}
	_ = os.Remove(path) // may fail if another process removed it; the name is never used again
	return true
}

// locks reports whether file locks exclude anyone, by trying to lock one file twice.
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

// release releases all names. s.mu is held.
func (s *Store) release() {
	for name, f := range s.held {
		_ = f.Close() // first: some systems cannot remove open files
		_ = os.Remove(f.Name())
		delete(s.held, name)
	}
}
