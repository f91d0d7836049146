package journal

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"
)

// UnknownError says that the process of a call ended while it performed something, so that nobody knows
// whether it happened.
type UnknownError struct {
	What string // as it was given to Begin
}

// Error names the request.
func (e *UnknownError) Error() string {
	return e.What + " was under way when the host went away, and its outcome is not known"
}

// unknown is the error of an entry that has begun.
func (e *entry) unknown() *UnknownError {
	what := string(e.outcome)
	if len(e.did) > 0 {
		what += ", which had begun " + strings.ReplaceAll(string(e.did), "\n", ", ") + ","
	}
	return &UnknownError{What: what}
}

// Keep has the journal written down from now on, before anything begins that changes something and when its
// outcome is there. Write gets the parts in order, and returns when they would be found after a crash.
func (j *Journal) Keep(write func(part []byte) error) {
	j.write, j.saved = write, len(j.entries)
	if j.last() == begun {
		j.saved--
	}
}

// Kept reports whether the journal is written down while the call runs.
func (j *Journal) Kept() bool { return j.write != nil }

// Continue takes in the parts that were kept of a run of this journal. The error is ErrFull if that run did
// more than a journal holds.
func (j *Journal) Continue(parts [][]byte) error {
	for _, raw := range parts {
		p, err := Decode(raw)
		if err != nil {
			return err
		}
		if j.binding == nil {
			j.seed, j.base, j.binding, j.random = p.seed, p.base, p.binding, p.random
		}
		if p.seed != j.seed || string(p.binding) != string(j.binding) {
			return errFormat
		}
		for _, e := range p.entries {
			if e.how == lost {
				return ErrFull
			}
			if how := j.last(); how == open || how == begun { // what came of it
				j.next = len(j.entries) - 1
				j.cut()
			}
			if j.add(e); j.full {
				return ErrFull
			}
		}
	}
	j.next = 0
	return nil
}

// Begin notes that a request is about to be performed that changes something; what says it to people. It is
// to be recorded when its outcome is there. An error means that this could not be written down.
func (j *Journal) Begin(what, family string, request ...[]byte) error {
	if j.write == nil {
		return nil
	}
	if !j.full {
		j.add(entry{family: family, request: sum(request), at: j.now, how: begun, outcome: []byte(what)})
	}
	if err := j.save(); err != nil {
		if j.last() == begun {
			j.next = len(j.entries) - 1
			j.cut()
		}
		return err
	}
	return nil
}

// Retry takes back what has begun and has no outcome, where an UnknownError came of it: it is to be performed
// again.
func (j *Journal) Retry() {
	if j.Replaying() && j.entries[j.next].how == begun {
		j.cut()
	}
}

// Unfinished is what has begun and has no outcome; empty if there is nothing.
func (j *Journal) Unfinished() (family, what string) {
	if j.last() != begun {
		return "", ""
	}
	e := j.entries[len(j.entries)-1]
	return e.family, string(e.outcome)
}

// Key is a name for the request that is performed next: the same whenever it is, and told by nobody else.
func (j *Journal) Key() string {
	mac := hmac.New(sha256.New, j.seed[:])
	mac.Write(binary.AppendUvarint([]byte("request "), uint64(j.dropped+j.next)))
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// last is how the last entry stands; answered if there is none.
func (j *Journal) last() how {
	if len(j.entries) == 0 {
		return answered
	}
	return j.entries[len(j.entries)-1].how
}

// cut drops the entries from the next one on.
func (j *Journal) cut() {
	for _, e := range j.entries[j.next:] {
		j.size -= e.size()
	}
	j.entries = j.entries[:j.next]
	j.saved = min(j.saved, j.next)
}

// save writes what was not written yet. One that has begun is written again with its outcome.
func (j *Journal) save() error {
	if j.write == nil || j.saved < 0 {
		return nil
	}
	part := Journal{seed: j.seed, base: j.base, binding: j.binding}
	if j.full {
		part.entries = []entry{{how: lost}}
	} else {
		part.entries = j.entries[j.saved:]
	}
	if err := j.write(part.Append(nil)); err != nil {
		return err
	}
	switch {
	case j.full:
		j.saved = -1 // nothing more is of use
	case j.last() == begun:
		j.saved = len(j.entries) - 1
	default:
		j.saved = len(j.entries)
	}
	return nil
}
