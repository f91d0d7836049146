package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/filelock"
)

// lockEnd is the suffix of the file that is locked while a chain grows and removed when it ends. It is locked before
// the first file of the chain exists. Retention keeps the last file of a locked chain.
const lockEnd = ".lock"

// claim locks the chain for this process.
func (l *Log) claim() error {
	f, err := os.OpenFile(filepath.Join(l.dir, l.chain+lockEnd), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = filelock.Try(f)                                // cannot be contended: its name is new
	if err != nil && !errors.Is(err, filelock.ErrNoLocks) { // without locks, retention removes no chain
		return errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	l.lock = f
	return nil
}

// release ends the claim of a finished chain. The file is closed first: not every system removes open files.
func (l *Log) release() error { return errors.Join(l.lock.Close(), os.Remove(l.lock.Name())) }

// next begins a new file of the chain. l.mu is held.
func (l *Log) next() error {
	f, err := os.OpenFile(filepath.Join(l.dir, fileName(l.chain, l.part+1)), os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if l.file != nil {
		if err := errors.Join(l.file.Sync(), l.file.Close()); err != nil {
			l.tell(err)
		}
	}
	l.file, l.part, l.size, l.day = f, l.part+1, 0, l.o.Now().UTC().YearDay()
	return nil
}

func fileName(chain string, part int) string {
	if part == 1 {
		return chain + ".log"
	}
	return fmt.Sprintf("%s-%04d.log", chain, part)
}

// roll begins a new file if the current one is full or from an earlier day, and has no partial line. l.mu is held.
func (l *Log) roll() {
	full := l.size >= maxFile || l.size > 0 && l.day != l.o.Now().UTC().YearDay()
	if len(l.batch) > 0 || !full {
		return
	}
	if err := l.next(); err != nil { // the current file keeps growing
		l.tell(err)
	}
}

// write appends the waiting lines to the file, and keeps the part that was not written. l.mu is held.
func (l *Log) write() {
	if len(l.batch) == 0 {
		return
	}
	n, err := l.file.Write(l.batch)
	l.batch = append(l.batch[:0], l.batch[n:]...)
	if err != nil {
		l.tell(err)
	}
}

// tell reports a failure at once, and a lasting one every minute. l.mu is held.
func (l *Log) tell(err error) {
	if now := l.o.Now(); now.Sub(l.told) >= tellEvery {
		l.told = now
		l.o.Failed(err)
	}
}

// Sync flushes every line so far to disk, and then the head.
func (l *Log) Sync() error {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.mu.Lock()
	if !l.dirty || l.closed {
		l.mu.Unlock()
		return nil
	}
	l.write()
	waiting := len(l.batch)
	f, head := l.file, l.mark()
	l.dirty = waiting > 0
	l.mu.Unlock()
	if waiting > 0 {
		return fmt.Errorf("%d bytes of the audit log wait for the disk", waiting)
	}
	err := f.Sync()
	if err == nil || errors.Is(err, fs.ErrClosed) { // closed and synced when the next file began
		err = writeHead(l.dir, head)
	}
	if err != nil {
		l.mu.Lock()
		l.dirty = true
		l.tell(err)
		l.mu.Unlock()
	}
	return err
}

// flushing syncs lines to disk and applies retention until the log is closed.
func (l *Log) flushing(stop, done chan struct{}, crowded bool) {
	defer close(done)
	if crowded {
		l.prune()
	}
	tick := time.NewTicker(syncEvery)
	defer tick.Stop()
	for seconds := 1; ; seconds++ {
		select {
		case <-stop:
			return
		case <-tick.C:
			_ = l.Sync() // reports its own failure
			if seconds%pruneEvery == pruneFirst {
				l.prune()
			}
		}
	}
}
