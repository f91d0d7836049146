// Package receipt records the effects of one call for its caller, the audit log and the operator: effects, denials,
// resource use, and the effects held back in a dry run.
//
//	var r receipt.Record                     // while the call runs
//	r.Count("net", "GET https://a.example", 1, 0, 512)
//	r.Deny(receipt.Denial{Family: "fs", …})
//	…
//	done := receipt.Receipt{Call: id, Plugin: name, Effects: r.Effects(), Denials: r.Denials()}
//	caller <- done.JSON()
//
// A receipt travels with the result, so its size is bounded.
package receipt

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/trace"
)

// Receipt is the record of one finished call. It has a field for each member of its JSON form, so that clients and
// tools can decode it.
type Receipt struct {
	Call    string   `json:"call"`
	Plugin  string   `json:"plugin"`
	Digest  string   `json:"digest,omitempty"`
	Updates string   `json:"updates,omitempty"` // digest that the operator approved in advance
	Millis  float64  `json:"ms,omitempty"`      // duration
	Outcome string   `json:"outcome,omitempty"` // update policy that accepted the digest in advance: dev, same-interface
	Effects []Effect `json:"effects,omitempty"` // sorted by family and target
	Denials []Denial `json:"denials,omitempty"` // in order of occurrence
	// Fuel is the computation of the guest, in units of about one instruction. It is deterministic.
	Fuel uint64 `json:"fuel,omitempty"`
	// Memory is the peak size of the guest's linear memory, in bytes.
	Memory  uint64   `json:"memory,omitempty"`
	Landed  int      `json:"landed,omitempty"`  // number of committed files and folders
	Removed int      `json:"removed,omitempty"` // characters removed from its result by sanitizing
	Hidden  int      `json:"hidden,omitempty"`  // such characters in its structured content, which are not removed
	Would   []string `json:"would,omitempty"`   // effects held back in a dry run
	// Calls are the receipts of its nested calls, in the order in which they ended.
	Calls []Receipt `json:"calls,omitempty"`
	Audit string    `json:"audit,omitempty"` // its line in the audit log: chain/number/mac

	// Learnt are the lines that it needed, only for the audit log.
	Learnt []Learnt `json:"-"`

	// WouldCounts counts the effects held back in a dry run, by operation.
	WouldCounts map[string]int `json:"-"`

	// Counts limits the caller's receipt to numbers, without targets.
	Counts bool `json:"-"`
}

// Outcomes of a call that did not fail in the host.
const (
	OK   = "ok"
	Tool = "failed" // the tool reported an error
)

// members appends the receipt as members of an object, without braces.
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

func text(b []byte, key, value string) []byte { return jsonraw.AppendString(append(b, key...), value) }

// Caller describes the origin of a call, for the audit log and for traces.
type Caller struct {
	Principal, Method string
	Tool              string // local name of the tool; empty for other methods
	// Trace is the trace context of the caller, and Span the call's own; zero without a trace.
	Trace, Span trace.Context
}

// Line returns the full receipt for the audit log, as members of an object without braces.
func (r *Receipt) Line(c Caller) []byte {
	b := r.members(make([]byte, 0, 512))
	b = text(b, `,"principal":`, c.Principal)
	b = text(b, `,"method":`, c.Method)
	if c.Tool != "" {
		b = text(b, `,"tool":`, c.Tool)
	}
	b = c.trace(b)
	if len(r.Learnt) > 0 {
		if raw, err := json.Marshal(r.Learnt); err == nil {
			b = append(append(b, `,"learnt":`...), raw...)
		}
	}
	return r.details(b)
}

// trace appends the trace as members. It omits the client's baggage, which may contain personal data.
func (c *Caller) trace(b []byte) []byte {
	if c.Trace.Parent == "" {
		return b
	}
	b = text(b, `,"traceparent":`, c.Trace.Parent)
	if c.Trace.State != "" {
		b = text(b, `,"tracestate":`, c.Trace.State)
	}
	return text(b, `,"span":`, c.Span.Span())
}

// details appends the effects in full.
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

// JSON returns the receipt for the caller.
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

// counts appends, for each family, the number of effects, denials, and effects held back in a dry run.
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

// counted appends numbers, unless there are none.
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

// tries adds up the effects held back in this call and its nested calls.
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

// Done lists the effects outside of this machine, which cannot be rolled back.
func (r *Receipt) Done() []string {
	var done []string
	for _, e := range r.Effects {
		if e.Family == "net" && !strings.HasPrefix(e.Target, "GET ") && !strings.HasPrefix(e.Target, "HEAD ") {
			done = append(done, e.Target)
		}
	}
	return done
}
