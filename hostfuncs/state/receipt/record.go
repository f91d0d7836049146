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

// Record collects the receipt while the call runs. The zero value is empty. It is not safe for concurrent use.
type Record struct {
	effects map[[2]string]*Effect
	denials []Denial
	learnt  []Learnt
}

// Count adds effects on a target: their number, and the bytes that the guest sent and received.
func (r *Record) Count(family, target string, times int, sent, received int64) {
	e := r.effect(family, target)
	e.Count += times
	e.Sent += sent
	e.Received += received
}

// effect finds or adds the entry of a target.
func (r *Record) effect(family, target string) *Effect {
	if r.effects == nil {
		r.effects = map[[2]string]*Effect{}
	}
	key := [2]string{family, target}
	if r.effects[key] == nil && len(r.effects) >= maxEffects {
		key[1] = "" // beyond the limit, one entry without a target per family
	}
	e := r.effects[key]
	if e == nil {
		e = &Effect{Family: family, Target: key[1]}
		r.effects[key] = e
	}
	return e
}

// Uncount subtracts one effect from the entry of a target. An empty entry is removed.
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

// Deny adds a denial, or increments an equal one. It returns false if the limit is reached.
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

// Effects returns the effects, sorted by family and target.
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

// Denials returns the distinct denials in order of occurrence.
func (r *Record) Denials() []Denial { return slices.Clone(r.denials) }

// Need is the outcome of an effect that needed a line.
type Need byte

// Outcomes of an effect.
const (
	Used    Need = iota // performed
	Refused             // denied
	Tried               // held back in a dry run
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

// Learnt returns the lines that the call needed, in order of occurrence.
func (r *Record) Learnt() []Learnt { return slices.Clone(r.learnt) }

// Would collects the effects held back in a dry run. The zero value is empty.
type Would struct {
	List   []string       // in full, for callers that may see targets
	Counts map[string]int // counts by operation: "POST", "write", "mkdir", "keys"
}

// Add counts n effects, and adds text to the list unless the list is full.
func (w *Would) Add(do string, n int, text string) {
	w.count(do, n)
	if len(w.List) < maxEffects {
		w.List = append(w.List, text)
	}
}

// Join adds the effects of another Would.
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
