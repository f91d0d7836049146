package hostfuncs

import (
	"cmp"
	"slices"
)

// Limits of one receipt: it travels with the result, so it says what happened and does not grow with it.
const (
	maxEffects = 256
	maxDenials = 64
)

// Receipt is what one call did.
type Receipt struct {
	Call    string   `json:"call"`
	Plugin  string   `json:"plugin"`
	Digest  string   `json:"digest,omitempty"`
	Effects []Effect `json:"effects,omitempty"` // sorted by family and target
	Denials []Denial `json:"denials,omitempty"` // in the order they came
	// Fuel is how much the guest computed, in units of about one instruction; equal work is equal fuel.
	Fuel uint64 `json:"fuel,omitempty"`
	// Memory is the most linear memory that the guest had, in bytes.
	Memory uint64 `json:"memory,omitempty"`
}

// Effect is everything of one kind that a call did to one target.
type Effect struct {
	Family string `json:"family"`
	// Target is what was touched: "GET https://api.example.com" (without the path), "read ~/work/x".
	// It is empty for families without targets, and for those of a family that are too many to list.
	Target   string `json:"target,omitempty"`
	Count    int    `json:"count"`
	Sent     int64  `json:"sent,omitempty"`     // bytes that left the guest
	Received int64  `json:"received,omitempty"` // bytes that came to it
}

// Denial is one effect that was refused.
type Denial struct {
	Family string `json:"family"`
	Effect string `json:"effect"`         // "GET https://api.example.com/v1/x", "write ~/work/x"
	Reason string `json:"reason"`         // one sentence, lower case, no full stop, names the plugin and the effect
	Hint   string `json:"hint,omitempty"` // the narrowest line that would allow it, if there is one
	Count  int    `json:"count"`          // how often
}

// record is the receipt while the call runs.
type record struct {
	effects map[[2]string]*Effect
	denials []Denial
}

// effect finds or makes the entry of a target.
func (r *record) effect(family, target string) *Effect {
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

// deny adds a refusal, or counts one that is there; false if there is no room.
func (r *record) deny(d Denial) bool {
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

func (r *record) list() []Effect {
	out := make([]Effect, 0, len(r.effects))
	for _, e := range r.effects {
		out = append(out, *e)
	}
	slices.SortFunc(out, func(a, b Effect) int {
		return cmp.Or(cmp.Compare(a.Family, b.Family), cmp.Compare(a.Target, b.Target))
	})
	return out
}
