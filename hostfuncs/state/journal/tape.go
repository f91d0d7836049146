package journal

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// hash identifies a request. It stays within sealed state, so that 12 bytes suffice.
type hash [12]byte

// sum hashes the parts of a request.
func sum(parts [][]byte) (h hash) {
	s := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(s, "%d:", len(p))
		s.Write(p)
	}
	copy(h[:], s.Sum(nil))
	return h
}

// entry is one request with its outcome.
type entry struct {
	family  string
	request hash
	at      int64 // clock after it, in nanoseconds since base
	how     how
	outcome []byte // in state begun: its description for people
	did     []byte // its changes, for people, one line each
}

// how is the state of an entry.
type how byte

const (
	answered how = iota
	open         // unanswered: the run ended here
	begun        // perhaps performed: its outcome is missing
	lost         // the journal was full here
)

func (e *entry) size() int {
	return len(e.family) + len(e.request) + len(e.outcome) + len(e.did) + entryOverhead
}

// unknown returns the error of an entry in state begun.
func (e *entry) unknown() *UnknownError {
	what := string(e.outcome)
	if len(e.did) > 0 {
		what += ", which had begun " + strings.ReplaceAll(string(e.did), "\n", ", ") + ","
	}
	return &UnknownError{What: what}
}

// tape is the sequence of entries, with the position of the replay.
type tape struct {
	entries []entry
	next    int // index of the entry to be replayed next
	size    int // of the entries, in bytes
	full    bool
	dropped int // entries that exceeded the bounds
}

// Replaying reports whether entries remain to be replayed. Guest output during replay repeats that of the earlier
// run.
func (t *tape) Replaying() bool { return t.next < len(t.entries) }

// add records an entry at the end. Beyond the bounds all entries are dropped.
func (t *tape) add(e entry) {
	t.size += e.size()
	if t.full || t.size > MaxSize || len(t.entries) >= maxEntries {
		t.dropped += len(t.entries) + 1
		t.full, t.entries, t.next = true, nil, 0
		return
	}
	t.entries = append(t.entries, e)
	t.next = len(t.entries)
}

// last returns the state of the last entry, or answered if there is none.
func (t *tape) last() how {
	if len(t.entries) == 0 {
		return answered
	}
	return t.entries[len(t.entries)-1].how
}

// truncate drops the entries from the next one on.
func (t *tape) truncate() {
	for _, e := range t.entries[t.next:] {
		t.size -= e.size()
	}
	t.entries = t.entries[:t.next]
}

// begun returns the last entry if its outcome is missing, or else nil.
func (t *tape) begun() *entry {
	if t.last() != begun {
		return nil
	}
	return &t.entries[len(t.entries)-1]
}
