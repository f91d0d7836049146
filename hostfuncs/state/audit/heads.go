package audit

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
)

const (
	// keepHead is how long a head stays in the store after its chain grew last.
	keepHead = 400 * 24 * time.Hour
	// recordEvery is the time between records of a head that grows.
	recordEvery = 10 * time.Second
)

// ErrUnrecorded is passed to Options.Failed for a head that could not be recorded in the store.
var ErrUnrecorded = errors.New("the head of the audit log is not recorded in the database")

// Heads are the heads of the chains of several hosts in a store that they share. A host whose disk was lost or set back
// lacks lines that its heads there prove.
type Heads struct {
	Store *store.Store
	Host  string // the name of this host, the same after its disk was lost
}

// Head is the last line of a chain, as its host recorded it.
type Head struct {
	Host  string
	Chain string
	Last  string    // number/MAC
	At    time.Time // of the record
}

// Record records the head of a chain of this host. It is an error if a later line is recorded, or another one with its
// number.
func (h *Heads) Record(ctx context.Context, m Mark, now time.Time) error {
	next := strconv.FormatUint(m.N, 10) + "/" + m.MAC
	return h.Store.Change(ctx, store.Head, h.Host, []store.Record{{ID: m.Chain, Expires: now.Add(keepHead)}}, func(data [][]byte) ([][]byte, error) {
		if was := string(data[0]); numberOf(was) > m.N || numberOf(was) == m.N && was != "" && was != next {
			return nil, fmt.Errorf("chain %s has line %d there, and is at line %d here: its disk was set back", m.Chain, numberOf(was), m.N)
		}
		return [][]byte{[]byte(next)}, nil
	})
}

// All returns the heads of all hosts, sorted by chain.
func (h *Heads) All(ctx context.Context) (all []Head, err error) {
	for after := ""; ; {
		page, err := h.Store.List(ctx, store.Head, "", after, 0)
		if err != nil || len(page) == 0 {
			return all, err
		}
		for _, r := range page {
			all = append(all, Head{Host: r.Principal, Chain: r.ID, Last: string(r.Data), At: r.Expires.Add(-keepHead)})
			after = r.ID
		}
	}
}

// recording records the head whenever due receives, at most every recordEvery, and when due is closed. A failure is tried
// again. Without new lines it waits.
func (l *Log) recording(due, stop <-chan struct{}, done chan<- struct{}) {
	defer close(done)
	for range due {
		for again := true; again; {
			again = !l.record()
			select {
			case <-stop:
				again = false
			case <-time.After(recordEvery):
			}
		}
	}
	l.record()
}

// record records the last line on disk, unless it is recorded. It returns false if that failed.
func (l *Log) record() (ok bool) {
	l.mu.Lock()
	head, same := l.synced, l.synced == l.recorded
	l.mu.Unlock()
	if same {
		return true
	}
	err := l.o.Heads.Record(context.Background(), head, l.o.Now())
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.tellSince(&l.unstored, fmt.Errorf("%w: %w", ErrUnrecorded, err))
		return false
	}
	l.recorded = head
	return true
}
