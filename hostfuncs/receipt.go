package hostfuncs

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
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
	Updates string   `json:"updates,omitempty"` // Plugin.Updates
	Millis  float64  `json:"ms,omitempty"`      // how long it took
	Outcome string   `json:"outcome,omitempty"` // OutcomeOK, OutcomeTool, or the kind of its failure
	Effects []Effect `json:"effects,omitempty"` // sorted by family and target
	Denials []Denial `json:"denials,omitempty"` // in the order they came
	// Fuel is how much the guest computed, in units of about one instruction; equal work is equal fuel.
	Fuel uint64 `json:"fuel,omitempty"`
	// Memory is the most linear memory that the guest had, in bytes.
	Memory  uint64   `json:"memory,omitempty"`
	Landed  int      `json:"landed,omitempty"`  // files and folders that it changed
	Removed int      `json:"removed,omitempty"` // characters that were cleaned out of its answer
	Hidden  int      `json:"hidden,omitempty"`  // characters of that kind in its structured content, which stay
	Would   []string `json:"would,omitempty"`   // what was held back in a call that only tries
	// Calls are the receipts of the calls that it made, in the order they ended.
	Calls []Receipt `json:"calls,omitempty"`
	Audit string    `json:"audit,omitempty"` // its line in the audit log: chain/number/mac

	// Learnt are the lines that it needed, for the audit log alone.
	Learnt []Learnt `json:"-"`

	// would is how often what was held back, by what was to be done.
	would map[string]int

	// Counts says that whoever gets it sees numbers, not what was touched.
	Counts bool `json:"-"`
}

// The outcomes of a call that are no failure of it.
const (
	OutcomeOK   = "ok"
	OutcomeTool = "tool" // the tool says that it failed
)

// ReceiptListener is met by a Client that wants the receipt when the call is over.
type ReceiptListener interface {
	Receipt(Receipt)
}

// members writes the receipt as members of an object, without braces.
func (r *Receipt) members(b []byte) []byte {
	b = text(b, `"call":`, r.Call)
	b = text(b, `,"plugin":`, r.Plugin)
	if r.Digest != "" {
		b = text(b, `,"digest":`, r.Digest)
	}
	if r.Updates != "" {
		b = text(b, `,"updates":`, r.Updates)
	}
	b = append(b, `,"ms":`...)
	b = strconv.AppendFloat(b, r.Millis, 'f', 3, 64)
	if r.Outcome != "" {
		b = text(b, `,"outcome":`, r.Outcome)
	}
	for _, n := range []struct {
		key string
		n   uint64
	}{{`,"fuel":`, r.Fuel}, {`,"memory":`, r.Memory}, {`,"landed":`, uint64(r.Landed)}, {`,"removed":`, uint64(r.Removed)}, {`,"hidden":`, uint64(r.Hidden)}} {
		if n.n > 0 {
			b = strconv.AppendUint(append(b, n.key...), n.n, 10)
		}
	}
	return b
}

func text(b []byte, key, value string) []byte { return rawjson.AppendString(append(b, key...), value) }

// line is what the audit log keeps: everything.
func (r *Receipt) line(c *Call, t *traced) []byte {
	b := r.members(make([]byte, 0, 512))
	b = text(b, `,"principal":`, c.Principal)
	b = text(b, `,"method":`, c.Method)
	if c.Tool != "" {
		b = text(b, `,"tool":`, c.Tool)
	}
	b = t.line(b)
	if len(r.Learnt) > 0 {
		if raw, err := json.Marshal(r.Learnt); err == nil {
			b = append(append(b, `,"learnt":`...), raw...)
		}
	}
	return r.details(b)
}

// details writes what was touched, in full.
func (r *Receipt) details(b []byte) []byte {
	for _, d := range []struct {
		key   string
		there bool
		value any
	}{
		{`,"effects":`, len(r.Effects) > 0, r.Effects}, {`,"denials":`, len(r.Denials) > 0, r.Denials},
		{`,"would":`, len(r.Would) > 0, r.Would}, {`,"calls":`, len(r.Calls) > 0, r.Calls},
	} {
		if !d.there {
			continue
		}
		if raw, err := json.Marshal(d.value); err == nil {
			b = append(append(b, d.key...), raw...)
		}
	}
	return b
}

// JSON is the receipt as the caller gets it.
func (r *Receipt) JSON() json.RawMessage {
	b := r.members(append(make([]byte, 0, 384), '{'))
	if r.Counts {
		b = r.counts(b)
	} else {
		b = r.details(b)
	}
	if r.Audit != "" {
		b = text(b, `,"audit":`, r.Audit)
	}
	return append(b, '}')
}

// counts writes numbers for each family, how much was refused, and how much a call that only tries held back.
func (r *Receipt) counts(b []byte) []byte {
	type sum struct {
		Count    int   `json:"count"`
		Sent     int64 `json:"sent,omitempty"`
		Received int64 `json:"received,omitempty"`
		Denied   int   `json:"denied,omitempty"`
	}
	families := map[string]*sum{}
	of := func(family string) *sum {
		if families[family] == nil {
			families[family] = &sum{}
		}
		return families[family]
	}
	for _, e := range r.Effects {
		s := of(e.Family)
		s.Count, s.Sent, s.Received = s.Count+e.Count, s.Sent+e.Sent, s.Received+e.Received
	}
	for _, d := range r.Denials {
		of(d.Family).Denied += d.Count
	}
	b = counted(b, `,"effects":`, families)
	return counted(b, `,"would":`, r.tries(nil))
}

// counted writes numbers, unless there are none.
func counted[N any](b []byte, key string, numbers map[string]N) []byte {
	if len(numbers) == 0 {
		return b
	}
	raw, err := json.Marshal(numbers)
	if err != nil {
		return b
	}
	return append(append(b, key...), raw...)
}

// tries adds up what was held back in this call and in those that it made.
func (r *Receipt) tries(sum map[string]int) map[string]int {
	if sum == nil {
		sum = map[string]int{}
	}
	for do, n := range r.would {
		sum[do] += n
	}
	for i := range r.Calls {
		r.Calls[i].tries(sum)
	}
	return sum
}

// Done lists the effects outside of this machine that cannot be taken back.
func (r *Receipt) Done() []string {
	var done []string
	for _, e := range r.Effects {
		if e.Family == "net" && !strings.HasPrefix(e.Target, "GET ") && !strings.HasPrefix(e.Target, "HEAD ") {
			done = append(done, e.Target)
		}
	}
	return done
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

// drop takes one count off the entry of a target, and the entry out when nothing of it is left.
func (r *record) drop(family, target string) {
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
