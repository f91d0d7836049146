// Package journal keeps what a call was answered, so that the call can be run again from its start and
// see the same world up to the place where it stopped.
//
//	first run:  fetch ── record ── fetch ── record ── question ── open ── the run ends
//	second run: fetch ◀─ replay    fetch ◀─ replay    question ── record ── fetch ── record …
//
// A guest that is in the middle of its work asks a person something. The host ends the run, puts the
// journal away, and when the answer is there runs the guest anew. Whatever it asked for before is
// answered from the journal, in the same order; nothing happens twice. Time and randomness are the
// journal's too, so that the guest takes the same way: Clock moves with entries and sleeps alone, and
// Random begins with the same seed. A guest that asks for something else than before gets a
// *DivergedError, which names the first call that differs.
//
// A journal can be kept while its call runs, so that the call can be run again when its process was killed:
// Keep has it written down in parts, and Continue puts the parts together. Begin notes a request that changes
// something before it is sent. One that has no outcome may or may not have happened: who runs the call again
// gets an *UnknownError there, and nothing is sent a second time unless Retry says so.
//
// The package knows nothing of what the entries mean.
package journal

import (
	cryptorand "crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	gohash "hash"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// MaxSize bounds what a journal holds, in bytes. Beyond it the call goes on, and cannot be replayed.
const MaxSize = 1 << 20

// maxEntries bounds the entries: a loop that looks at a file must not fill the memory.
const maxEntries = 64 << 10

// ErrFull says that the call did more before a question than a journal holds.
var ErrFull = fmt.Errorf("the call did too much before it asked: more than %d bytes of answers", MaxSize)

// ErrOther says that a journal was kept under another plugin, or under other grants.
var ErrOther = errors.New("the plugin or its grants are others now")

// ErrChanged says that what the guest looked at before is not the same any more.
var ErrChanged = errors.New("files or keys that the call had read have changed since it asked")

// DivergedError says that a guest did something else when it was run again.
type DivergedError struct {
	Index     int    // of the call that differs, 1 for the first
	Was, Is   string // what was asked then, and now
	Different bool   // the same was asked, with other contents
}

// Error names the call.
func (e *DivergedError) Error() string {
	if e.Different {
		return fmt.Sprintf("its call %d, %s, has other contents when it is run again", e.Index, e.Is)
	}
	return fmt.Sprintf("its call %d is %s when it is run again, and was %s", e.Index, e.Is, e.Was)
}

// hash tells two requests from each other; it stays within sealed state, so it need not be long.
type hash [12]byte

// sum makes the identity of a request of its parts.
func sum(parts [][]byte) (h hash) {
	s := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(s, "%d:", len(p))
		s.Write(p)
	}
	copy(h[:], s.Sum(nil))
	return h
}

// entry is one thing that was asked and answered.
type entry struct {
	family  string
	request hash
	at      int64 // the clock after it, nanoseconds since base
	how     how
	outcome []byte // of one that has begun: what it is, for people
	did     []byte // what it changed, for people, a line each
}

// how an entry stands.
type how byte

const (
	answered how = iota
	open         // not answered: where the run ended
	begun        // perhaps performed: its outcome is not there
	lost         // the journal was full here
)

// Journal is what one call was answered. It serves one guest, on one goroutine.
type Journal struct {
	seed    [32]byte
	base    int64  // when the call began, nanoseconds since 1970
	binding []byte // of what it was kept under
	entries []entry
	next    int // the entry that is replayed next
	size    int
	full    bool
	dropped int         // entries that there is no room for
	seen    gohash.Hash // of what was observed since the last entry
	looks   int         // how often
	did     []string    // what the request that is performed changes

	write func(part []byte) error // nil: it is not kept while the call runs
	saved int                     // entries that were written

	now    int64 // the clock, nanoseconds since base
	real   func() time.Time
	random *rand.ChaCha8
}

// New returns the journal of a call that begins now. It is of no use before Bind.
func New() *Journal { return &Journal{real: time.Now} }

// begin makes what only a call needs that may be run again.
func (j *Journal) begin() {
	j.base = j.real().UnixNano()
	cryptorand.Read(j.seed[:])
	j.random = rand.NewChaCha8(j.seed)
}

// Bound reports whether the journal was kept already.
func (j *Journal) Bound() bool { return j.binding != nil }

// Bind begins a new journal and ties it to what it is kept under. One that was kept under something else
// answers ErrOther.
func (j *Journal) Bind(binding []byte) error {
	if j.binding == nil {
		j.binding = binding
		j.begin()
		return nil
	}
	if string(j.binding) != string(binding) {
		return ErrOther
	}
	return nil
}

// Replaying reports whether the guest is still where it was before: what it says now was said already.
func (j *Journal) Replaying() bool { return j.next < len(j.entries) }

// observations is the family of entries that stand for everything that was observed between two others.
const observations = "looking at files and keys"

// Observe takes in what the guest saw of something that is looked at again when the call runs again, in
// place of keeping it: its contents must be the same then.
func (j *Journal) Observe(parts ...[]byte) {
	if j.seen == nil {
		j.seen = sha256.New()
	}
	h := sum(parts)
	j.seen.Write(h[:])
	j.looks++
}

// look makes an entry of what was observed, or holds it against the one that is there.
func (j *Journal) look() error {
	if j.looks == 0 {
		return nil
	}
	var h hash
	copy(h[:], j.seen.Sum(nil))
	j.seen, j.looks = nil, 0
	if !j.Replaying() {
		j.add(entry{family: observations, request: h, at: j.now})
		return nil
	}
	switch e := &j.entries[j.next]; {
	case e.family != observations:
		return &DivergedError{Index: j.next + 1, Was: e.family, Is: observations}
	case e.request != h:
		return ErrChanged
	}
	j.next++
	return nil
}

// Next looks for the answer to a request, of which family is the name. If replay is true the outcome is
// what was recorded; else the request is to be performed, and then recorded. The error is a
// *DivergedError or ErrChanged.
func (j *Journal) Next(family string, request ...[]byte) (outcome []byte, replay bool, err error) {
	if err := j.look(); err != nil || !j.Replaying() {
		return nil, false, err
	}
	e := &j.entries[j.next]
	if h := sum(request); e.family != family || e.request != h {
		return nil, false, &DivergedError{Index: j.next + 1, Was: e.family, Is: family, Different: e.family == family}
	}
	switch e.how {
	case open: // the run goes on from here
		j.cut()
		return nil, false, nil
	case begun:
		return nil, false, e.unknown()
	}
	j.next++
	j.now = e.at
	return e.outcome, true, nil
}

// Upcoming reports whether this request is the one that is replayed next.
func (j *Journal) Upcoming(family string, request ...[]byte) bool {
	at := j.next
	if j.looks > 0 { // which are an entry of their own, before it
		if at == len(j.entries) || j.entries[at].family != observations {
			return false
		}
		at++
	}
	return at < len(j.entries) && j.entries[at].family == family && j.entries[at].request == sum(request)
}

// Record keeps the outcome of a request that was performed.
func (j *Journal) Record(outcome []byte, family string, request ...[]byte) {
	j.now = max(j.now, j.real().UnixNano()-j.base)
	began := j.last() == begun
	if began {
		j.next = len(j.entries) - 1
		j.cut()
	}
	j.add(entry{family: family, request: sum(request), at: j.now, outcome: outcome, did: []byte(strings.Join(j.did, "\n"))})
	j.did = nil
	if began {
		_ = j.save() // or with the next part: until then the outcome counts as unknown
	}
}

// Open keeps the request at which the run ends. The error is ErrFull if the journal cannot be used.
func (j *Journal) Open(family string, request ...[]byte) error {
	j.add(entry{family: family, request: sum(request), at: j.now, how: open})
	if j.full {
		return ErrFull
	}
	return nil
}

// Does notes what the request that is being performed is about to change, in a line for people. A journal that is kept
// has it on the disk then. An error means that it could not be written down.
func (j *Journal) Does(what string) error {
	what = strings.ReplaceAll(what, "\n", " ")
	if e := j.begun(); e != nil && j.write != nil && string(e.outcome) != what {
		before := e.did
		e.did = []byte(strings.Join(append(slices.Clone(j.did), what), "\n"))
		j.size += len(e.did) - len(before)
		if j.saved = len(j.entries) - 1; j.save() != nil {
			return errNote
		}
	}
	j.did = append(j.did, what)
	return nil
}

var errNote = errors.New("what a request changes cannot be written down")

// begun is the last entry, if it has no outcome yet; nil if it has.
func (j *Journal) begun() *entry {
	if j.last() != begun {
		return nil
	}
	return &j.entries[len(j.entries)-1]
}

// Undoes takes back what Does noted last, where it came to nothing.
func (j *Journal) Undoes() { j.did = j.did[:max(0, len(j.did)-1)] }

// Done lists what this run and those before it have changed or begun to change.
func (j *Journal) Done() (all []string) {
	for _, e := range j.entries {
		switch {
		case len(e.did) > 0:
			all = append(all, strings.Split(string(e.did), "\n")...)
		case e.how == begun:
			all = append(all, string(e.outcome))
		}
	}
	for _, what := range j.did {
		if !slices.Contains(all, what) {
			all = append(all, what)
		}
	}
	return all
}

func (e *entry) size() int {
	return len(e.family) + len(e.request) + len(e.outcome) + len(e.did) + entryOverhead
}

func (j *Journal) add(e entry) {
	j.size += e.size()
	if j.full || j.size > MaxSize || len(j.entries) >= maxEntries {
		j.dropped += len(j.entries) + 1
		j.full, j.entries, j.next = true, nil, 0
		return
	}
	j.entries = append(j.entries, e)
	j.next = len(j.entries)
}

// Size is how many bytes Append writes, or a few less than this number.
func (j *Journal) Size() int { return j.size + len(j.seed) + len(j.binding) + 2*entryOverhead }

// Reserve tells how many bytes more an outcome may have.
func (j *Journal) Reserve() int {
	if j.full {
		return 0
	}
	return max(0, MaxSize-j.size)
}
