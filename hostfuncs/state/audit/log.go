package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
)

const (
	// maxFile is the size in bytes at which the next file of a chain begins. Retention removes whole files.
	maxFile = 16 << 20
	// maxBatch is the size in bytes at which waiting lines are written at once.
	maxBatch = 256 << 10
	// maxWaiting bounds the waiting lines in memory, in bytes, while the disk accepts none. Further lines are counted
	// and dropped.
	maxWaiting = 4 << 20
	// tellEvery is the interval between reports of a lasting failure.
	tellEvery = time.Minute
	// maxLine bounds a line, in bytes. The limits of a receipt keep lines below it.
	maxLine = 1 << 20
	// syncEvery is the time from a line to its flush to disk.
	syncEvery = time.Second
)

// errClosed is returned after Close.
var errClosed = errors.New("the audit log is closed")

// ErrLost is returned for a line that was dropped because the disk has accepted none for too long. The chain
// continues, and its next line counts the lost lines.
var ErrLost = errors.New("the disk takes no lines of the audit log")

// Options configure a Log. The zero value is usable.
type Options struct {
	Now func() time.Time // clock; nil is time.Now
	// Failed is called when lines could not be written, at once and then every minute. It may be nil, and must not
	// call the log. Calls continue, and the lines are written when the disk accepts them again.
	Failed func(error)
	// Keep bounds the folder; the zero value keeps everything.
	Keep Keep
	// Line is called with each line of this process, in order, in the form of Export, which it must not keep. The
	// line may not be on disk yet. It may be nil, and must return soon and not call the log.
	Line func(at time.Time, exported []byte)
	// Began is called when the chain begins, under the rules of Line. It may be nil.
	Began func()
	// Heads records the head of the chain, within seconds and at Close. A failure is reported to Failed, and tried again. It
	// may be nil.
	Heads *Heads
}

// Mark identifies one line in a receipt.
type Mark struct {
	Chain string
	N     uint64
	MAC   string // hex
}

// String returns the mark in the form that Proves reads: chain/number/MAC.
func (m Mark) String() string { return m.Chain + "/" + strconv.FormatUint(m.N, 10) + "/" + m.MAC }

// Log is the chain of one process. It is safe for concurrent use.
type Log struct {
	dir string
	o   Options

	syncing sync.Mutex // held while lines and then the head are flushed, so that heads are in order

	mu       sync.Mutex
	chain    chain
	out      output
	batch    []byte // lines not in the file yet, the first perhaps in part
	lost     uint64 // lines dropped since the last kept one
	exported []byte // room for Options.Line
	dirty    bool   // some lines are not on disk yet
	told     time.Time
	synced   Mark      // the last line on disk
	recorded Mark      // the last line in Options.Heads
	unstored time.Time // the last report that a head could not be recorded
	closing  bool      // Close has begun
	closed   bool
	unsynced chan struct{} // one token: dirty was set
	stop     chan struct{}
	done     chan struct{} // closed when flushing has ended
	due      chan struct{} // receives when the head is to be recorded, nil without Options.Heads
	ended    chan struct{} // closed when recording has ended
}

// New returns the log of a folder. Nothing is created before the first line.
func New(dir string, o Options) *Log {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Failed == nil {
		o.Failed = func(error) {}
	}
	return &Log{dir: dir, o: o}
}

// Append adds a line with these members, which are JSON without braces (`"call":"x","ms":1`). No key may be "n", "at"
// or "mac". The line is on disk within a second. The error is ErrLost, that of the folder, or that the log is closed.
func (l *Log) Append(members []byte) (Mark, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.begin(); err != nil {
		return Mark{}, err
	}
	return l.add(members)
}

// Chain returns the name of this process's chain, empty before its first line.
func (l *Log) Chain() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.chain.name
}

// begin creates the chain for its first line. l.mu is held.
func (l *Log) begin() error {
	switch {
	case l.closing || l.closed:
		return errClosed
	case l.chain.name != "":
		return nil
	}
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return err
	}
	key, err := readKey(l.dir, true)
	if err != nil {
		return err
	}
	others, chains, err := latestHeads(l.dir)
	if err != nil {
		return err
	}
	c := newChain(key, l.o.Now())
	out, err := create(l.dir, c.name, l.o.Now())
	if err != nil {
		return err
	}
	l.chain, l.out = c, out
	l.stop, l.done, l.unsynced = make(chan struct{}), make(chan struct{}), make(chan struct{}, 1)
	if l.o.Heads != nil {
		l.due, l.ended = make(chan struct{}, 1), make(chan struct{})
		go l.recording(l.due, l.stop, l.ended)
	}
	go l.flushing(l.stop, l.done, chains > maxChains)
	if l.o.Began != nil {
		l.o.Began()
	}
	seen, err := json.Marshal(others)
	if err == nil {
		_, err = l.add(append([]byte(`"event":"begin","seen":`), seen...))
	}
	return err
}

// add appends a line, preceded by one that counts lost lines if there are any. l.mu is held.
func (l *Log) add(members []byte) (Mark, error) {
	if len(l.batch) > maxWaiting {
		l.write()
	}
	if len(l.batch) > maxWaiting {
		l.lost++
		return Mark{}, ErrLost
	}
	l.roll()
	if l.lost > 0 {
		l.line(fmt.Appendf(nil, `"event":"lost","lines":%d`, l.lost))
		l.lost = 0
	}
	m := l.line(members)
	if len(l.batch) >= maxBatch {
		l.write()
	}
	return m, nil
}

// line appends a line to the batch. l.mu is held.
func (l *Log) line(members []byte) Mark {
	if len(members) > maxLine {
		members = []byte(`"event":"too long"`)
	}
	start := len(l.batch)
	now := l.o.Now()
	l.batch = l.chain.append(l.batch, now, members)
	l.out.size += int64(len(l.batch) - start)
	if l.o.Line != nil {
		l.exported = appendExport(l.exported[:0], l.chain.name, l.batch[start:len(l.batch)-1])
		l.o.Line(now, l.exported)
	}
	l.soil()
	return l.chain.mark()
}

// Close ends the chain with a closing line. It is idempotent and safe for concurrent use: each call returns when the
// chain has ended.
func (l *Log) Close() error {
	l.mu.Lock()
	began, owner := l.chain.name != "", !l.closing
	l.closing = true
	if began && owner {
		l.roll()
		l.line([]byte(`"event":"end"`))
		close(l.stop)
	}
	done := l.done
	l.mu.Unlock()
	if !began {
		return nil
	}
	<-done
	if !owner {
		return nil
	}
	err := l.Sync()
	if l.due != nil {
		close(l.due)
		<-l.ended
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	return errors.Join(err, l.out.file.Close(), l.out.release())
}
