package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/sallyport-mcp/sallyport/internal/filelock"
)

// presenceFolder has one locked file for each name that a running process holds.
const presenceFolder = "running"

// Presence are the names that running processes hold.
type Presence struct{ names names }

// Hold acquires a name until the store is closed or the process ends for any reason. A name consists of letters and
// digits, and is never used again.
func (p *Presence) Hold(name string) error { return p.names.hold(name) }

// Gone reports whether the process that held a name has ended. If that is not known, it is false.
func (p *Presence) Gone(name string) bool { return p.names.gone(name) }

// names are lock files, which end with their process, or leases in a database.
type names interface {
	hold(name string) error
	gone(name string) bool
	release()
}

// lockFiles hold names on one machine.
type lockFiles struct {
	dir     string
	locking func() bool // whether file locks exclude anyone

	mu     sync.Mutex
	held   map[string]*os.File // lock files of the names held by this process
	closed bool
}

func newLockFiles(dir string) *lockFiles {
	p := &lockFiles{dir: dir}
	p.locking = sync.OnceValue(p.locks)
	return p
}

func (p *lockFiles) hold(name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return ErrClosed
	}
	if p.held[name] != nil {
		return nil
	}
	path := p.file(name)
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
	if p.held == nil {
		p.held = map[string]*os.File{}
	}
	p.held[name] = f
	return nil
}

// gone is always false without file locks.
func (p *lockFiles) gone(name string) bool {
	p.mu.Lock()
	mine := p.held[name] != nil
	p.mu.Unlock()
	if mine || !p.locking() {
		return false
	}
	path := p.file(name)
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
func (p *lockFiles) locks() bool {
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return false
	}
	f, err := os.CreateTemp(p.dir, "probe-*")
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

func (p *lockFiles) file(name string) string {
	return filepath.Join(p.dir, name+".lock")
}

// release releases all names for good.
func (p *lockFiles) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for name, f := range p.held {
		_ = f.Close() // first: some systems cannot remove open files
		_ = os.Remove(f.Name())
		delete(p.held, name)
	}
}
