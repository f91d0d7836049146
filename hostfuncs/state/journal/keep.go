package journal

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"
)

// UnknownError reports that the process of a call ended during a request with side effects, so that its effect is
// unknown.
type UnknownError struct {
	What string // description passed to Begin
}

// Error names the request.
func (e *UnknownError) Error() string {
	return e.What + " was under way when the host went away, and its outcome is not known"
}

// unknown returns the error of an entry in state begun.
func (e *entry) unknown() *UnknownError {
	what := string(e.outcome)
	if len(e.did) > 0 {
		what += ", which had begun " + strings.ReplaceAll(string(e.did), "\n", ", ") + ","
	}
	return &UnknownError{What: what}
}

// Keep persists the journal from now on: before each request with side effects, and after its outcome. write receives
// the parts in order, and must return only when they are durable.
func (j *Journal) Keep(write func(part []byte) error) {
	j.write, j.saved = write, len(j.entries)
	if j.last() == begun {
		j.saved--
	}
}

// Kept reports whether the journal is persisted while the call runs.
func (j *Journal) Kept() bool { return j.write != nil }

// Continue adds the persisted parts of an earlier run of this journal. The error is ErrFull if that run exceeded the
// journal.
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
			if how := j.last(); how == open || how == begun { // how it ended
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

// Begin records a request with side effects before it is performed, with a description for people. Record must follow
// with its outcome. The error reports that the write failed.
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

// Retry removes a begun entry without outcome, after an UnknownError: the request is performed again.
func (j *Journal) Retry() {
	if j.Replaying() && j.entries[j.next].how == begun {
		j.cut()
	}
}

// Unfinished returns the begun entry without outcome. It is empty if there is none.
func (j *Journal) Unfinished() (family, what string) {
	if j.last() != begun {
		return "", ""
	}
	e := j.entries[len(j.entries)-1]
	return e.family, string(e.outcome)
}

// Key returns an idempotency key for the next request. It is stable across runs and unguessable.
func (j *Journal) Key() string {
	mac := hmac.New(sha256.New, j.seed[:])
	mac.Write(binary.AppendUvarint([]byte("request "), uint64(j.dropped+j.next)))
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// last returns the state of the last entry, or answered if there is none.
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

// save writes the entries that are not written yet. A begun entry is written again with its outcome.
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
		j.saved = -1 // no later part is usable
	case j.last() == begun:
		j.saved = len(j.entries) - 1
	default:
		j.saved = len(j.entries)
	}
	return nil
}
