package recording

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Kind is what differs between a recorded call and its trial.
type Kind string

// The kinds of differences, the weightiest first.
const (
	NewHost     Kind = "host"      // a request to a host that no recorded call reached
	NewSecret   Kind = "secret"    // a secret in a request, or read, that was not before
	NewFile     Kind = "file"      // a file or folder that the call did not touch
	NewTool     Kind = "tool"      // a tool of another plugin
	NewQuestion Kind = "question"  // a question to the client
	NewRequest  Kind = "request"   // a request to a known host
	Other       Kind = "effect"    // any other new effect
	Arguments   Kind = "arguments" // a known effect with other arguments
	Failed      Kind = "failed"    // no answer, where there was one
	Answer      Kind = "answer"
	Gone        Kind = "gone" // an effect that the call had
)

var kinds = [...]Kind{NewHost, NewSecret, NewFile, NewTool, NewQuestion, NewRequest, Other, Arguments, Failed, Answer, Gone}

// Difference is one difference, in one call or in several.
type Difference struct {
	Kind   Kind      `json:"kind"`
	What   string    `json:"what"`             // the effect, or the entry whose answer differs
	Denied bool      `json:"denied,omitempty"` // the grants do not allow it
	Entry  string    `json:"entry"`            // the tool, prompt or resource of the first such call
	First  time.Time `json:"first"`            // of that call
	Calls  int       `json:"calls"`
	Before string    `json:"before,omitempty"` // an excerpt of those that grew the most, around the first difference
	After  string    `json:"after,omitempty"`
	Sizes  [2]int    `json:"sizes"`            // of the arguments or answers, in bytes
	Others int       `json:"others,omitempty"` // times that the excerpts are others, which are not shown
}

// Report compares recorded calls with their trials.
type Report struct {
	Recorded    int          `json:"recorded"` // calls
	Tried       int          `json:"tried"`    // of them
	Damaged     int          `json:"damaged,omitempty"`
	Since       time.Time    `json:"since"` // of the oldest call
	Differences []Difference `json:"differences"`
	More        int          `json:"more,omitempty"` // differences beyond those
	// Failed is why no call was tried; empty if some were.
	Failed string `json:"failed,omitempty"`
}

// Comparison compares recorded calls with their trials, one at a time.
type Comparison struct {
	merger
	hosts map[string]bool // that the calls reached
	since time.Time
	calls int
	tried int
}

// NewComparison returns a comparison of these calls.
func NewComparison(calls []Call) *Comparison {
	c := &Comparison{merger: merger{at: map[string]int{}, of: map[Kind]int{}}, hosts: map[string]bool{}, calls: len(calls)}
	for i, one := range calls {
		if i == 0 || one.Time.Before(c.since) {
			c.since = one.Time
		}
		for _, x := range one.Exchanges {
			if !x.Denied {
				c.hosts[hostOf(&x)] = true
			}
		}
	}
	return c
}

// Add compares one call with its trial.
func (c *Comparison) Add(call, trial *Call) {
	c.tried++
	c.compare(call, trial, c.hosts)
}

// Report returns the differences so far.
func (c *Comparison) Report() Report {
	slices.SortStableFunc(c.found, func(a, b Difference) int {
		return cmp.Compare(slices.Index(kinds[:], a.Kind), slices.Index(kinds[:], b.Kind))
	})
	return Report{Recorded: c.calls, Tried: c.tried, Since: c.since, More: c.more, Differences: append([]Difference{}, c.found...)}
}

// hostOf returns the host of a request; empty for other effects.
func hostOf(x *Exchange) string {
	_, address, _ := strings.Cut(x.Act, " ")
	u, err := url.Parse(address)
	if x.Family != "net" || err != nil {
		return ""
	}
	return strings.ToLower(u.Host)
}

// maxDifferences limits the differences of each kind in a report: a hostile plugin can make any number, and many of one
// kind hide none of another.
const maxDifferences = 100

// merger counts equal differences of several calls as one.
type merger struct {
	found []Difference
	more  int
	of    map[Kind]int
	at    map[string]int
	call  *Call // the current one
	once  map[string]bool
}

func (m *merger) add(d Difference) {
	key := string(d.Kind) + "\x00" + d.What
	if d.Denied {
		key += "\x00denied"
	}
	again := m.once[key]
	m.once[key] = true
	if i, known := m.at[key]; known {
		f := &m.found[i]
		if !again {
			f.Calls++
		}
		if d.Before != f.Before || d.After != f.After || d.Sizes != f.Sizes {
			f.Others++
		}
		if d.Sizes[1]-d.Sizes[0] > f.Sizes[1]-f.Sizes[0] { // it tells the most
			f.Before, f.After, f.Sizes = d.Before, d.After, d.Sizes
		}
		return
	}
	if m.of[d.Kind] == maxDifferences {
		m.more++
		return
	}
	m.of[d.Kind]++
	d.What = excerpt(d.What, 0)
	d.Entry, d.First, d.Calls = m.call.Entry, m.call.Time, 1
	m.at[key] = len(m.found)
	m.found = append(m.found, d)
}

// compare adds the differences of one call.
func (m *merger) compare(call, trial *Call, hosts map[string]bool) {
	m.call, m.once = call, map[string]bool{}
	before, after := unmatched(call.Exchanges, trial.Exchanges)
	for _, x := range after {
		i := slices.IndexFunc(before, func(y *Exchange) bool { return y.Family == x.Family && y.Act == x.Act })
		if i < 0 && x.Family == "net" {
			i = slices.IndexFunc(before, func(y *Exchange) bool { return y.Family == x.Family && address(y.Act) == address(x.Act) })
		}
		if i < 0 {
			m.add(Difference{Kind: kindOf(x, hosts), What: x.Act, Denied: x.Denied, After: excerpt(string(x.Request), 0), Sizes: [2]int{0, len(x.Request)}})
			m.secrets(x, nil)
			continue
		}
		y := before[i]
		before = slices.Delete(before, i, i+1)
		m.secrets(x, y.Secrets)
		was, is := argumentsOf(y, x)
		sizes := [2]int{len(was), len(is)}
		was, is = excerpts(was, is)
		m.add(Difference{Kind: Arguments, What: address(x.Act), Denied: x.Denied, Before: was, After: is, Sizes: sizes})
	}
	for _, y := range before {
		if !y.Denied {
			m.add(Difference{Kind: Gone, What: y.Act})
		}
	}
	m.ends(call, trial)
}

// ends compares the ends of a call.
func (m *merger) ends(call, trial *Call) {
	switch {
	case trial.Failed != "" && call.Failed == "":
		m.add(Difference{Kind: Failed, What: call.Entry, After: excerpt(trial.Failed, 0)})
	case trial.Failed == "" && !sameJSON(call.Answer, trial.Answer):
		was, is := cmp.Or(string(call.Answer), call.Failed), string(trial.Answer)
		sizes := [2]int{len(was), len(is)}
		was, is = excerpts(was, is)
		m.add(Difference{Kind: Answer, What: call.Entry, Before: was, After: is, Sizes: sizes})
	}
}

// secrets adds the secrets of a request that were not in it before.
func (m *merger) secrets(x *Exchange, before []string) {
	for _, name := range x.Secrets {
		if !slices.Contains(before, name) {
			m.add(Difference{Kind: NewSecret, What: name + " in " + address(x.Act), Denied: x.Denied})
		}
	}
}

// unmatched returns the exchanges of each side that have no equal one on the other.
func unmatched(before, after []Exchange) (gone, fresh []*Exchange) {
	count := map[string]int{}
	key := func(x *Exchange) string { return x.Family + "\x00" + x.Act + "\x00" + string(x.Request) }
	for i := range before {
		count[key(&before[i])]++
	}
	for i := range after {
		if k := key(&after[i]); count[k] > 0 {
			count[k]--
			continue
		}
		fresh = append(fresh, &after[i])
	}
	for i := len(before) - 1; i >= 0; i-- { // the last ones are those without a partner
		if k := key(&before[i]); count[k] > 0 {
			count[k]--
			gone = append(gone, &before[i])
		}
	}
	slices.Reverse(gone)
	return gone, fresh
}

// kindOf returns the kind of a new effect.
func kindOf(x *Exchange, hosts map[string]bool) Kind {
	switch x.Family {
	case "net":
		if hosts[hostOf(x)] {
			return NewRequest
		}
		return NewHost
	case "fs":
		return NewFile
	case "secret":
		return NewSecret
	case "tools":
		return NewTool
	case "client", "sampling", "elicitation", "roots":
		return NewQuestion
	}
	return Other
}

// address returns an act without its query.
func address(act string) string {
	act, _, _ = strings.Cut(act, "?")
	return act
}

// argumentsOf returns what differs between two effects of one address: their queries too, if they do.
func argumentsOf(before, after *Exchange) (was, is string) {
	was, is = string(before.Request), string(after.Request)
	if before.Act != after.Act {
		was, is = before.Act+"\n"+was, after.Act+"\n"+is
	}
	return was, is
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	if json.Compact(&x, a) != nil || json.Compact(&y, b) != nil {
		return bytes.Equal(a, b)
	}
	return bytes.Equal(x.Bytes(), y.Bytes())
}

// MaxExcerpt is the size of an excerpt, in bytes.
const MaxExcerpt = 400

// lead is the part of an excerpt before the first difference, in bytes.
const lead = 40

// excerpts returns the parts of two texts around their first difference.
func excerpts(was, is string) (string, string) {
	same := 0
	for same < len(was) && same < len(is) && was[same] == is[same] {
		same++
	}
	return excerpt(was, same), excerpt(is, same)
}

// excerpt returns the part of a text around a position, in whole characters.
func excerpt(text string, at int) string {
	from := max(0, min(at, len(text))-lead)
	for from > 0 && from < len(text) && !utf8.RuneStart(text[from]) {
		from--
	}
	to := min(len(text), from+MaxExcerpt)
	for to < len(text) && to > from && !utf8.RuneStart(text[to]) {
		to--
	}
	part := strings.ToValidUTF8(text[from:to], "\ufffd")
	if from > 0 {
		part = "…" + part
	}
	if to < len(text) {
		part += "…"
	}
	return part
}
