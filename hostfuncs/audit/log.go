package audit

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"strconv"
	"sync"
	"time"
)

const (
	// maxFile is the size in bytes at which the next file of a chain begins: retention removes whole files.
	maxFile = 16 << 20
	// maxBatch is the size in bytes at which waiting lines are written without waiting for the next second.
	maxBatch = 256 << 10
	// maxWaiting bounds the lines, in bytes, that wait in memory while the disk takes none. Beyond it lines are
	// counted and not kept.
	maxWaiting = 4 << 20
	// tellEvery is the time between two reports of one failure that lasts.
	tellEvery = time.Minute
	// maxLine bounds a line, in bytes: the bounds of a receipt keep it below.
	maxLine = 1 << 20
	// syncEvery is how often lines are brought to the disk.
	syncEvery = time.Second
)

// ErrClosed says that the log was closed.
var ErrClosed = errors.New("the audit log is closed")

// ErrLost says that a line was not kept, because the disk has taken none for too long. The chain goes on, and
// its next line counts the lines that were lost.
var ErrLost = errors.New("the disk takes no lines of the audit log")

// Options configure a Log. The zero value is usable.
type Options struct {
	Now func() time.Time // the clock; nil is the system's
	// Failed hears that lines could not be written, at once and then every minute; nil hears nothing. Calls
	// go on, and the lines are written when the disk takes them again. It must not call the log.
	Failed func(error)
	// Keep bounds the folder; the zero value keeps everything.
	Keep Keep
}

// Mark is one line, as a receipt names it.
type Mark struct {
	Chain string
	N     uint64
	MAC   string // hex
}

// String writes the mark as Report.Proves reads it.
func (m Mark) String() string { return m.Chain + "/" + strconv.FormatUint(m.N, 10) + "/" + m.MAC }

// Log is the chain of one process. It is safe for concurrent use.
type Log struct {
	dir string
	o   Options

	syncing sync.Mutex // held while lines and then the head go to the disk, so that heads are in order

	mu      sync.Mutex
	chain   string // empty until the first line
	mac     hash.Hash
	last    [macSize]byte
	n       uint64
	batch   []byte // lines that the file does not have yet, the first perhaps in part
	lost    uint64 // lines that were not kept since the last one that was
	lock    *os.File
	file    *os.File
	part    int
	day     int   // of the year, when the file began
	size    int64 // of the file, with the batch
	dirty   bool  // something is not on the disk yet
	told    time.Time
	closing bool // Close has begun
	closed  bool
	stop    chan struct{}
	done    chan struct{} // closed when flushing has ended
}

// New returns the log of a folder. Nothing is made before the first line.
func New(dir string, o Options) *Log {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Failed == nil {
		o.Failed = func(error) {}
	}
	return &Log{dir: dir, o: o}
}

// Append adds a line with these members, which are JSON: `"call":"x","ms":1`, of no key that is "n", "at" or
// "mac". It is on the disk a second later at most. The error is ErrClosed, ErrLost or that of the folder.
func (l *Log) Append(members []byte) (Mark, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.begin(); err != nil {
		return Mark{}, err
	}
	return l.add(members)
}

// Chain is the name of this process's chain; empty before its first line.
func (l *Log) Chain() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.chain
}

// begin makes the chain at the first line. l.mu is held.
func (l *Log) begin() error {
	switch {
	case l.closing || l.closed:
		return ErrClosed
	case l.chain != "":
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
	random := make([]byte, 3)
	_, _ = rand.Read(random) // it never fails
	l.chain = fmt.Sprintf("%s-%d-%x", l.o.Now().UTC().Format("20060102T150405"), os.Getpid(), random)
	l.mac = hmac.New(sha256.New, key)
	copy(l.last[:], first(l.mac, l.chain))
	if err := l.claim(); err != nil {
		l.chain = ""
		return err
	}
	if err := l.next(); err != nil {
		l.chain = ""
		return errors.Join(err, l.release())
	}
	l.stop, l.done = make(chan struct{}), make(chan struct{})
	go l.flushing(l.stop, l.done, chains > maxChains)
	seen, err := json.Marshal(others)
	if err == nil {
		_, err = l.add(append([]byte(`"event":"begin","seen":`), seen...))
	}
	return err
}

// first is the MAC that the first line of a chain follows: that of its name, so that no chain is renamed.
func first(mac hash.Hash, chain string) []byte {
	mac.Reset()
	_, _ = io.WriteString(mac, chain)
	return mac.Sum(nil)[:macSize]
}

// add makes a line, after one that counts the lines that were lost. l.mu is held.
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

// line puts a line behind those that wait. l.mu is held.
func (l *Log) line(members []byte) Mark {
	if len(members) > maxLine {
		members = []byte(`"event":"too long"`)
	}
	start := len(l.batch)
	l.n++
	l.batch = append(l.batch, `{"n":`...)
	l.batch = strconv.AppendUint(l.batch, l.n, 10)
	l.batch = append(l.batch, `,"at":"`...)
	l.batch = l.o.Now().UTC().AppendFormat(l.batch, "2006-01-02T15:04:05.000Z")
	l.batch = append(l.batch, `",`...)
	l.batch = append(l.batch, members...)
	sum := lineMAC(l.mac, l.last[:], l.batch[start:])
	copy(l.last[:], sum)
	l.batch = append(l.batch, macStart...)
	l.batch = hex.AppendEncode(l.batch, sum)
	l.batch = append(l.batch, "\"}\n"...)
	l.size += int64(len(l.batch) - start)
	l.dirty = true
	return l.mark()
}

// mark is the last line. l.mu is held.
func (l *Log) mark() Mark { return Mark{Chain: l.chain, N: l.n, MAC: hex.EncodeToString(l.last[:])} }

// Close ends the chain with a line that says so. It may be called again, and by several at once: each returns
// when the chain has ended.
func (l *Log) Close() error {
	l.mu.Lock()
	began, owner := l.chain != "", !l.closing
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
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	return errors.Join(err, l.file.Close(), l.release())
}
