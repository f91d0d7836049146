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
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

const (
	// maxFile is how large a file grows before the next one begins.
	maxFile = 64 << 20
	// maxBatch is how many bytes wait for the disk at most.
	maxBatch = 256 << 10
	// maxLine bounds a line, in bytes: the bounds of a receipt keep it below.
	maxLine = 1 << 20
	// syncEvery is how often lines are brought to the disk.
	syncEvery = time.Second
)

// ErrClosed says that the log was closed.
var ErrClosed = errors.New("the audit log is closed")

// Options configure a Log. The zero value is usable.
type Options struct {
	Now func() time.Time // the clock; nil is the system's
	// Failed hears that lines could not be written; nil hears nothing. Calls go on.
	Failed func(error)
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

	mu     sync.Mutex
	chain  string // empty until the first line
	mac    hash.Hash
	last   [macSize]byte
	n      uint64
	batch  []byte
	file   *os.File
	part   int
	size   int64 // of the file, with the batch
	dirty  bool  // something is not on the disk yet
	closed bool
	stop   chan struct{}
	done   chan struct{}
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
// "mac". It is on the disk a second later at most.
func (l *Log) Append(members []byte) (Mark, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.begin(); err != nil {
		return Mark{}, err
	}
	return l.add(members)
}

// begin makes the chain at the first line. l.mu is held.
func (l *Log) begin() error {
	switch {
	case l.closed:
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
	others, err := heads(l.dir)
	if err != nil {
		return err
	}
	random := make([]byte, 3)
	_, _ = rand.Read(random) // it never fails
	l.chain = fmt.Sprintf("%s-%d-%x", l.o.Now().UTC().Format("20060102T150405"), os.Getpid(), random)
	l.mac = hmac.New(sha256.New, key)
	copy(l.last[:], first(l.mac, l.chain))
	if err := l.next(); err != nil {
		l.chain = ""
		return err
	}
	l.stop, l.done = make(chan struct{}), make(chan struct{})
	go l.flushing(l.stop, l.done)
	seen, err := json.Marshal(others)
	if err == nil {
		_, err = l.add(append([]byte(`"event":"begin","seen":`), seen...))
	}
	return err
}

// first is what the first line of a chain follows: its name, so that no chain is renamed.
func first(mac hash.Hash, chain string) []byte {
	mac.Reset()
	_, _ = io.WriteString(mac, chain)
	return mac.Sum(nil)[:macSize]
}

// next begins another file.
func (l *Log) next() error {
	f, err := os.OpenFile(filepath.Join(l.dir, fileName(l.chain, l.part+1)), os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if l.file != nil {
		if err := errors.Join(l.file.Sync(), l.file.Close()); err != nil {
			l.o.Failed(err)
		}
	}
	l.file, l.part, l.size = f, l.part+1, 0
	return nil
}

func fileName(chain string, part int) string {
	if part == 1 {
		return chain + ".log"
	}
	return fmt.Sprintf("%s-%04d.log", chain, part)
}

// add makes a line. l.mu is held.
func (l *Log) add(members []byte) (Mark, error) {
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
	m := Mark{Chain: l.chain, N: l.n, MAC: hex.EncodeToString(sum)}
	if len(l.batch) >= maxBatch {
		return m, l.write()
	}
	return m, nil
}

// write gives the batch to the system. l.mu is held.
func (l *Log) write() error {
	if len(l.batch) == 0 {
		return nil
	}
	_, err := l.file.Write(l.batch)
	l.batch = l.batch[:0]
	if err == nil && l.size >= maxFile {
		err = l.next()
	}
	return err
}

// Sync brings every line so far to the disk, and then the head.
func (l *Log) Sync() error {
	l.mu.Lock()
	if !l.dirty || l.closed {
		l.mu.Unlock()
		return nil
	}
	err := l.write()
	f, head := l.file, Mark{Chain: l.chain, N: l.n, MAC: hex.EncodeToString(l.last[:])}
	l.dirty = err != nil
	l.mu.Unlock()
	if err != nil {
		return err
	}
	if err := f.Sync(); err != nil && !errors.Is(err, fs.ErrClosed) { // closed when the next file began, and synced then
		return err
	}
	return writeHead(l.dir, head)
}

// flushing brings lines to the disk until the log is closed.
func (l *Log) flushing(stop, done chan struct{}) {
	defer close(done)
	tick := time.NewTicker(syncEvery)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			if err := l.Sync(); err != nil {
				l.o.Failed(err)
			}
		}
	}
}

// Close ends the chain with a line that says so. It may be called again.
func (l *Log) Close() error {
	l.mu.Lock()
	if l.closed || l.chain == "" {
		l.closed = true
		l.mu.Unlock()
		return nil
	}
	_, err := l.add([]byte(`"event":"end"`))
	stop, done := l.stop, l.done
	l.mu.Unlock()
	close(stop)
	<-done
	err = errors.Join(err, l.Sync())
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	return errors.Join(err, l.file.Close())
}
