package receipt

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/trace"
)

// Permitted callers get targets. Others get numbers, including those of nested calls.
func TestReceipt_countsHideTargets(t *testing.T) {
	r := Receipt{
		Call: "1", Plugin: "p", Digest: "sha256:1", Millis: 1.5, Outcome: OK, Landed: 2, Audit: "a/1/ff",
		Effects: []Effect{{Family: "net", Target: "GET https://a", Count: 2, Received: 9}, {Family: "net", Target: "POST https://b", Count: 1, Sent: 4}},
		Denials: []Denial{{Family: "fs", Effect: "read ~/x", Reason: "no", Count: 3}},
		Would:   []string{"POST https://c"}, WouldCounts: map[string]int{"POST": 1},
		Calls:  []Receipt{{Call: "2", Plugin: "q", WouldCounts: map[string]int{"POST": 1, "mkdir": 1}}},
		Learnt: []Learnt{{Line: "net: GET https://a", Used: 1}},
	}
	const begin = `{"call":"1","plugin":"p","digest":"sha256:1","ms":1.500,"outcome":"ok","landed":2,`
	for counts, want := range map[bool]string{
		false: begin + `"effects":[{"family":"net","target":"GET https://a","count":2,"received":9},{"family":"net","target":"POST https://b","count":1,"sent":4}],` +
			`"denials":[{"family":"fs","effect":"read ~/x","reason":"no","count":3}],"would":["POST https://c"],"calls":[{"call":"2","plugin":"q"}],"audit":"a/1/ff"}`,
		true: begin + `"effects":{"fs":{"count":0,"denied":3},"net":{"count":3,"sent":4,"received":9}},"would":{"POST":2,"mkdir":1},"audit":"a/1/ff"}`,
	} {
		r.Counts = counts
		if got := string(r.JSON()); got != want {
			t.Errorf("counts %v:\n got %s\nwant %s", counts, got, want)
		}
	}
	if got := r.Done(); !reflect.DeepEqual(got, []string{"POST https://b"}) {
		t.Errorf("done: got %q, want POST https://b", got)
	}
	given := trace.Context{Parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", State: "a=1", Baggage: "user=grete"}
	own := given.Child()
	line := string(r.Line(Caller{Principal: "me", Method: "tools/call", Tool: "t", Trace: given, Span: own}))
	for _, want := range []string{`,"principal":"me","method":"tools/call","tool":"t","traceparent":"` + given.Parent + `","tracestate":"a=1","span":"` + own.Span() + `","learnt":[{"line":"net: GET https://a","used":1}],"effects":[`} {
		if !strings.Contains(line, want) || !json.Valid([]byte("{"+line+"}")) {
			t.Errorf("%s\nhas no %s", line, want)
		}
	}
}

// The size of a receipt is bounded: beyond the limit, a family has one entry for all other targets.
func TestRecord_isBounded(t *testing.T) {
	var r Record
	for i := range 3 * maxEffects {
		r.Count("net", fmt.Sprint(i), 1, 2, 3)
		r.Deny(Denial{Family: "fs", Effect: fmt.Sprint(i)})
		r.Learn(fmt.Sprint(i), Used)
	}
	effects := r.Effects()
	if n := len(effects); n != maxEffects+1 {
		t.Errorf("got %d effects, want %d", n, maxEffects+1)
	}
	if want := (Effect{Family: "net", Count: 2 * maxEffects, Sent: 4 * maxEffects, Received: 6 * maxEffects}); effects[0] != want {
		t.Errorf("the others: %+v, want %+v", effects[0], want)
	}
	if len(r.Denials()) != maxDenials || len(r.Learnt()) != maxLearnt {
		t.Errorf("got %d denials, %d lines, want %d, %d", len(r.Denials()), len(r.Learnt()), maxDenials, maxLearnt)
	}
}

// Equal denials and lines are merged. Uncounted effects are removed.
func TestRecord_counts(t *testing.T) {
	var r Record
	r.Count("net", "a", 1, 5, 0)
	r.Count("net", "b", 1, 0, 0)
	r.Uncount("net", "a")
	r.Uncount("net", "b")
	r.Uncount("net", "never")
	if got := r.Effects(); !reflect.DeepEqual(got, []Effect{{Family: "net", Target: "a", Sent: 5}}) {
		t.Errorf("got effects %+v, want net a with 5 bytes sent", got)
	}
	d := Denial{Family: "fs", Effect: "read x", Reason: "no"}
	if !r.Deny(d) || r.Deny(d) || r.Denials()[0].Count != 2 {
		t.Errorf("got denials %+v, want one counted twice", r.Denials())
	}
	for _, n := range []Need{Used, Refused, Tried, Used} {
		r.Learn("line", n)
	}
	if got := r.Learnt(); !reflect.DeepEqual(got, []Learnt{{Line: "line", Used: 2, Refused: 1, Tried: 1}}) {
		t.Errorf("got lines %+v, want one used twice, refused once, tried once", got)
	}
}
