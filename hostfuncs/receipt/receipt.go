// Package receipt is what one call did, as its caller, the audit log and the operator get to see it: the effects that it
// had, what it was refused, what it used, and what it would have done.
//
//	var r receipt.Record                     // while the call runs
//	r.Count("net", "GET https://a.example", 1, 0, 512)
//	r.Deny(receipt.Denial{Family: "fs", …})
//	…
//	done := receipt.Receipt{Call: id, Plugin: name, Effects: r.Effects(), Denials: r.Denials()}
//	caller <- done.JSON()
//
// It travels with the result, so it says what happened and does not grow with it.
//
// This package is internal to Sallyport: it is not promised to others.
package receipt

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

// Receipt is what one call did.
type Receipt struct {
	Call    string   `json:"call"`
	Plugin  string   `json:"plugin"`
	Digest  string   `json:"digest,omitempty"`
	Updates string   `json:"updates,omitempty"` // which bytes the operator approved before they were there
	Millis  float64  `json:"ms,omitempty"`      // how long it took
	Outcome string   `json:"outcome,omitempty"` // OK, Tool, or the kind of its failure
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

	// WouldCounts is how often what was held back, by what was to be done.
	WouldCounts map[string]int `json:"-"`

	// Counts says that whoever gets it sees numbers, not what was touched.
	Counts bool `json:"-"`
}

// The outcomes of a call that are no failure of it.
const (
	OK   = "ok"
	Tool = "failed" // the tool says that it failed
)

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

// Caller is who made the call, and by what: for the audit log alone.
type Caller struct {
	Principal, Method string
	Tool              string // its local name; empty if it is not a tool's
	// Trace writes members that say which trace the call belongs to; nil writes none.
	Trace func(b []byte) []byte
}

// Line is what the audit log keeps, as members of an object without braces: everything.
func (r *Receipt) Line(c Caller) []byte {
	b := r.members(make([]byte, 0, 512))
	b = text(b, `,"principal":`, c.Principal)
	b = text(b, `,"method":`, c.Method)
	if c.Tool != "" {
		b = text(b, `,"tool":`, c.Tool)
	}
	if c.Trace != nil {
		b = c.Trace(b)
	}
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
	for do, n := range r.WouldCounts {
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
