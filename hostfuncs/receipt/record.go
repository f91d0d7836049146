package receipt

import (
	"cmp"
	"slices"
)

// Limits of one receipt.
const (
	maxEffects = 256
	maxDenials = 64
	maxLearnt  = 64
)

// Record is the receipt while the call runs. The zero value is empty; it is not safe for concurrent use.
type Record struct {
	effects map[[2]string]*Effect
	denials []Denial
	learnt  []Learnt
}

// Count adds to what was done to a target: so often, with so many bytes that left the guest and came to it.
func (r *Record) Count(family, target string, times int, sent, received int64) {
	e := r.effect(family, target)
	e.Count += times
	e.Sent += sent
	e.Received += received
}

// effect finds or makes the entry of a target.
func (r *Record) effect(family, target string) *Effect {
	if r.effects == nil {
		r.effects = map[[2]string]*Effect{}
	}
	key := [2]string{family, target}
	if r.effects[key] == nil && len(r.effects) >= maxEffects {
		key[1] = "" // a family has at most one of these beyond the bound
	}
	e := r.effects[key]
	if e == nil {
		e = &Effect{Family: family, Target: key[1]}
		r.effects[key] = e
	}
	return e
}

// Uncount takes one count off the entry of a target, and the entry out when nothing of it is left.
func (r *Record) Uncount(family, target string) {
	key := [2]string{family, target}
	if r.effects[key] == nil {
		key[1] = ""
	}
	if e := r.effects[key]; e != nil {
		if e.Count--; *e == (Effect{Family: key[0], Target: key[1]}) {
			delete(r.effects, key)
		}
	}
}

// Deny adds a refusal, or counts one that is there; false if there is no room.
func (r *Record) Deny(d Denial) bool {
	for i := range r.denials {
		if have := &r.denials[i]; have.Family == d.Family && have.Effect == d.Effect && have.Reason == d.Reason {
			have.Count++
			return false
		}
	}
	if len(r.denials) >= maxDenials {
		return false
	}
	d.Count = 1
	r.denials = append(r.denials, d)
	return true
}

// Effects are what was done, sorted by family and target.
func (r *Record) Effects() []Effect {
	out := make([]Effect, 0, len(r.effects))
	for _, e := range r.effects {
		out = append(out, *e)
	}
	slices.SortFunc(out, func(a, b Effect) int {
		return cmp.Or(cmp.Compare(a.Family, b.Family), cmp.Compare(a.Target, b.Target))
	})
	return out
}

// Denials are the refusals, in the order they came; equal ones are one.
func (r *Record) Denials() []Denial { return slices.Clone(r.denials) }

// Need is what became of an effect that needed a line.
type Need byte

// The kinds of needs.
const (
	Used    Need = iota // it was done
	Refused             // it was refused
	Tried               // the call only tries, and it was not done
)

// Learn counts a line that the call needed.
func (r *Record) Learn(line string, n Need) {
	i := slices.IndexFunc(r.learnt, func(l Learnt) bool { return l.Line == line })
	if i < 0 {
		if len(r.learnt) >= maxLearnt {
			return
		}
		i = len(r.learnt)
		r.learnt = append(r.learnt, Learnt{Line: line})
	}
	switch n {
	case Used:
		r.learnt[i].Used++
	case Refused:
		r.learnt[i].Refused++
	case Tried:
		r.learnt[i].Tried++
	}
}

// Learnt are the lines that the call needed, in the order they came.
func (r *Record) Learnt() []Learnt { return slices.Clone(r.learnt) }

// Would is what a call that only tries has held back. The zero value is nothing.
type Would struct {
	List   []string       // in full, for whoever may know what was touched
	Counts map[string]int // how often, by what was to be done: "POST", "write", "mkdir", "keys"
}

// Add notes what happened n times, and leaves out of the list what is beyond its bound.
func (w *Would) Add(do string, n int, text string) {
	w.count(do, n)
	if len(w.List) < maxEffects {
		w.List = append(w.List, text)
	}
}

// Join adds what another has held back.
func (w *Would) Join(o Would) {
	w.List = append(w.List, o.List...)
	for do, n := range o.Counts {
		w.count(do, n)
	}
}

func (w *Would) count(do string, n int) {
	if w.Counts == nil {
		w.Counts = map[string]int{}
	}
	w.Counts[do] += n
}
