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

// output is the files of a chain: the one that grows, and the lock.
type output struct {
	dir, chain string
	lock       *os.File
	file       *os.File
	part       int   // number of the file, from 1
	day        int   // day of the year when the file began
	size       int64 // of the file, including waiting lines
}

// create locks a new chain for this process, and begins its first file.
func create(dir, chain string, now time.Time) (output, error) {
	o := output{dir: dir, chain: chain}
	if err := o.claim(); err != nil {
		return o, err
	}
	if _, err := o.next(now); err != nil {
		return o, errors.Join(err, o.release())
	}
	return o, nil
}

// claim locks the chain for this process.
func (o *output) claim() error {
	f, err := os.OpenFile(filepath.Join(o.dir, o.chain+lockEnd), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = filelock.Try(f)                                // cannot be contended: its name is new
	if err != nil && !errors.Is(err, filelock.ErrNoLocks) { // without locks, retention removes no chain
		return errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	o.lock = f
	return nil
}

// release ends the claim of a finished chain. The file is closed first: not every system removes open files.
func (o *output) release() error { return errors.Join(o.lock.Close(), os.Remove(o.lock.Name())) }

// next begins a new file of the chain. unsynced is the error of ending the file before it.
func (o *output) next(now time.Time) (unsynced, err error) {
	f, err := os.OpenFile(filepath.Join(o.dir, fileName(o.chain, o.part+1)), os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	if o.file != nil {
		unsynced = errors.Join(o.file.Sync(), o.file.Close())
	}
	o.file, o.part, o.size, o.day = f, o.part+1, 0, now.UTC().YearDay()
	return unsynced, nil
}

// full reports whether the file is full or from an earlier day.
func (o *output) full(now time.Time) bool {
	return o.size >= maxFile || o.size > 0 && o.day != now.UTC().YearDay()
}

func fileName(chain string, part int) string {
	if part == 1 {
		return chain + ".log"
	}
	return fmt.Sprintf("%s-%04d.log", chain, part)
}

// roll begins a new file if the current one is full or from an earlier day, and has no partial line. l.mu is held.
func (l *Log) roll() {
	now := l.o.Now()
	if len(l.batch) > 0 || !l.out.full(now) {
		return
	}
	unsynced, err := l.out.next(now)
	if unsynced != nil {
		l.tell(unsynced)
	}
	if err != nil { // the current file keeps growing
		l.tell(err)
	}
}

// write appends the waiting lines to the file, and keeps the part that was not written. l.mu is held.
func (l *Log) write() {
	if len(l.batch) == 0 {
		return
	}
	n, err := l.out.file.Write(l.batch)
	l.batch = append(l.batch[:0], l.batch[n:]...)
	if err != nil {
		l.tell(err)
	}
}

// tell reports a failure at once, and a lasting one every minute. l.mu is held.
func (l *Log) tell(err error) { l.tellSince(&l.told, err) }

// tellSince is tell for one kind of failures, with the time of its last report. l.mu is held.
func (l *Log) tellSince(told *time.Time, err error) {
	if now := l.o.Now(); now.Sub(*told) >= tellEvery {
		*told = now
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
	f, head := l.out.file, l.chain.mark()
	l.dirty = false
	if waiting > 0 {
		l.soil()
	}
	l.mu.Unlock()
	if waiting > 0 {
		return fmt.Errorf("%d bytes of the audit log wait for the disk", waiting)
	}
	err := f.Sync()
	if err == nil || errors.Is(err, fs.ErrClosed) { // closed and synced when the next file began
		err = writeHead(l.dir, head)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.soil()
		l.tell(err)
		return err
	}
	l.synced = head
	if l.due != nil && !l.closing { // Close records the last one
		select {
		case l.due <- struct{}{}:
		default: // one is due
		}
	}
	return nil
}

// flushing syncs lines to disk and applies retention until the log is closed. Without new lines it waits.
func (l *Log) flushing(stop, done chan struct{}, crowded bool) {
	defer close(done)
	if crowded {
		l.prune()
	}
	retention := time.NewTimer(pruneFirst)
	defer retention.Stop()
	for {
		select {
		case <-stop:
			return
		case <-retention.C:
			l.prune()
			retention.Reset(pruneEvery)
		case <-l.unsynced:
			select {
			case <-stop:
				return
			case <-time.After(syncEvery):
				_ = l.Sync() // reports its own failure
			}
		}
	}
}

// soil notes that lines are not on disk. l.mu is held.
func (l *Log) soil() {
	l.dirty = true
	select {
	case l.unsynced <- struct{}{}:
	default:
	}
}
