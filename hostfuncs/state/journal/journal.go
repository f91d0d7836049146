// Package journal records the host function results of a call, so that the call can be replayed from its start to the
// point where it stopped.
//
//	first run:  fetch ── record ── fetch ── record ── question ── open ── the run ends
//	second run: fetch ◀─ replay    fetch ◀─ replay    question ── record ── fetch ── record …
//
// When a guest asks a person something, the host ends the run and stores the journal. When the answer arrives, the
// host runs the guest again. Earlier requests are answered from the journal, in the same order, so that no effect
// happens twice. The journal also supplies time and randomness, which makes the guest deterministic: the clock
// advances only with entries, sleeps and its own reads, and the random bytes come from the same seed. A guest that
// makes a different request gets a *DivergedError, which names the first call that differs.
//
// A journal can be persisted while its call runs, so that the call can be repeated after its process was killed: Keep
// writes it in parts, and Continue restores it from them. Begin records a request with side effects before it is
// sent. If such a request has no outcome, its effect is unknown: the next run gets an *UnknownError there, and the
// request is not sent again unless Retry allows it.
//
// Entries are opaque to the package.
package journal

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// MaxSize bounds a journal, in bytes. Beyond it the call continues, but cannot be replayed.
const MaxSize = 1 << 20

// maxEntries bounds the entries, and so the memory of a loop of small requests.
const maxEntries = 64 << 10

// ErrFull is returned if a call exceeded the journal before it asked a question.
var ErrFull = fmt.Errorf("the call's journal is too large for a question: more than %d bytes of answers", MaxSize)

// ErrOther is returned if a journal was bound to another plugin, or to other grants.
var ErrOther = errors.New("the plugin or its grants are others now")

// ErrChanged is returned if files or keys that the guest observed have changed.
var ErrChanged = errors.New("files or keys that the call had read have changed since it asked")

// DivergedError reports that a replayed guest made a different request.
type DivergedError struct {
	Index     int    // number of the differing call, from 1
	Was, Is   string // the request then and now
	Different bool   // same request, different contents
}

// Error names the call.
func (e *DivergedError) Error() string {
	if e.Different {
		return fmt.Sprintf("its call %d, %s, has other contents when it is run again", e.Index, e.Is)
	}
	return fmt.Sprintf("its call %d is %s when it is run again, and was %s", e.Index, e.Is, e.Was)
}

// Journal records one call. It serves one guest, on one goroutine. It has a method for each step of an
// entry (looked up, reserved, begun, kept, retried, cut) and for each end of a call.
type Journal struct {
	clock
	tape
	observed
	part
	binding []byte   // identity of the plugin and grants it is bound to
	did     []string // changes of the request in progress
}

// New returns the journal of a call that begins now. Bind must be called before use.
func New() *Journal { return &Journal{clock: clock{real: time.Now}} }

// Blank returns a journal without entries, with the beginning and the random numbers of this one.
func (j *Journal) Blank() *Journal {
	b := New()
	b.seed, b.base, b.random = j.seed, j.base, rand.NewChaCha8(j.seed)
	return b
}

// Bound reports whether Bind has been called.
func (j *Journal) Bound() bool { return j.binding != nil }

// Bind starts a new journal with a binding, the identity of plugin and grants. For a stored journal with a different
// binding it returns ErrOther.
func (j *Journal) Bind(binding []byte) error {
	if j.binding == nil {
		j.binding = binding
		j.clock.begin()
		return nil
	}
	if string(j.binding) != string(binding) {
		return ErrOther
	}
	return nil
}

// look records the observations as an entry, or compares them with the recorded one.
func (j *Journal) look() error {
	h, ok := j.take()
	if !ok {
		return nil
	}
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

// Next looks up the outcome of a request. family is its kind. If replay is true, outcome is the recorded one.
// Otherwise the request is to be performed, and then recorded. The error is a *DivergedError or ErrChanged.
func (j *Journal) Next(family string, request ...[]byte) (outcome []byte, replay bool, err error) {
	if err := j.look(); err != nil || !j.Replaying() {
		return nil, false, err
	}
	e := &j.entries[j.next]
	if h := sum(request); e.family != family || e.request != h {
		return nil, false, &DivergedError{Index: j.next + 1, Was: e.family, Is: family, Different: e.family == family}
	}
	switch e.how {
	case open: // the run continues from here
		j.cut()
		return nil, false, nil
	case begun:
		return nil, false, e.unknown()
	}
	j.next++
	j.now = e.at
	return e.outcome, true, nil
}

// Upcoming reports whether this request is the next to be replayed.
func (j *Journal) Upcoming(family string, request ...[]byte) bool {
	at := j.next
	if j.looks > 0 { // they are a separate entry, before it
		if at == len(j.entries) || j.entries[at].family != observations {
			return false
		}
		at++
	}
	return at < len(j.entries) && j.entries[at].family == family && j.entries[at].request == sum(request)
}

// Record stores the outcome of a performed request.
func (j *Journal) Record(outcome []byte, family string, request ...[]byte) {
	j.catchUp()
	began := j.last() == begun
	if began {
		j.cutLast()
	}
	j.add(entry{family: family, request: sum(request), at: j.now, outcome: outcome, did: []byte(strings.Join(j.did, "\n"))})
	j.did = nil
	if began {
		_ = j.save() // on failure, retried with the next part: until then the outcome counts as unknown
	}
}

// Open records the request at which the run ends. The error is ErrFull if the journal is unusable.
func (j *Journal) Open(family string, request ...[]byte) error {
	j.add(entry{family: family, request: sum(request), at: j.now, how: open})
	if j.full {
		return ErrFull
	}
	return nil
}

// Does records an upcoming change of the request in progress, as a line for people. A persisted journal is on disk
// when it returns. The error reports that the write failed.
func (j *Journal) Does(what string) error {
	what = strings.ReplaceAll(what, "\n", " ")
	if e := j.begun(); e != nil && j.write != nil && string(e.outcome) != what {
		before := e.did
		e.did = []byte(strings.Join(append(slices.Clone(j.did), what), "\n"))
		j.size += len(e.did) - len(before)
		if j.written = len(j.entries) - 1; j.save() != nil {
			return errNote
		}
	}
	j.did = append(j.did, what)
	return nil
}

var errNote = errors.New("the journal entry of a request cannot be written")

// Undoes removes the last record of Does, if the change did not happen.
func (j *Journal) Undoes() { j.did = j.did[:max(0, len(j.did)-1)] }

// Done lists the changes that this run and earlier ones made or began.
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

// Size is a tight upper bound of the bytes that Append writes.
func (j *Journal) Size() int { return j.size + len(j.seed) + len(j.binding) + 2*entryOverhead }

// Reserve returns the remaining room for an outcome, in bytes.
func (j *Journal) Reserve() int {
	if j.full {
		return 0
	}
	return max(0, MaxSize-j.size)
}
