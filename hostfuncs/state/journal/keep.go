package journal

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
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

// Keep persists the journal from now on: before each request with side effects, and after its outcome. write receives
// the parts in order, and must return only when they are durable.
func (j *Journal) Keep(write func(part []byte) error) {
	j.write, j.written = write, len(j.entries)
	if j.last() == begun {
		j.written--
	}
}

// part is the persisted part of a journal.
type part struct {
	write   func(part []byte) error // nil: not persisted while the call runs
	written int                     // number of entries written; -1 if no more are
}

// Kept reports whether the journal is persisted while the call runs.
func (p *part) Kept() bool { return p.write != nil }

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
				j.cutLast()
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
			j.cutLast()
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

// cut drops the entries from the next one on.
func (j *Journal) cut() {
	j.truncate()
	j.written = min(j.written, j.next)
}

// cutLast drops the last entry.
func (j *Journal) cutLast() {
	j.next = len(j.entries) - 1
	j.cut()
}

// save writes the entries that are not written yet. A begun entry is written again with its outcome.
func (j *Journal) save() error {
	if j.write == nil || j.written < 0 {
		return nil
	}
	entries := []entry{{how: lost}}
	if !j.full {
		entries = j.entries[j.written:]
	}
	if err := j.write(j.encode(nil, entries)); err != nil {
		return err
	}
	switch {
	case j.full:
		j.written = -1 // no later part is usable
	case j.last() == begun:
		j.written = len(j.entries) - 1
	default:
		j.written = len(j.entries)
	}
	return nil
}
