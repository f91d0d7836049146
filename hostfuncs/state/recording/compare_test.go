package recording

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

func request(act, body, outcome string) Exchange {
	return Exchange{Family: "net", Act: act, Request: []byte("\n" + body), Outcome: []byte(outcome)}
}

func did(exchanges ...Exchange) Call {
	return Call{Entry: "send", Time: time.Unix(1000, 0), Answer: json.RawMessage(`{"a":1}`), Exchanges: exchanges}
}

func compared(calls, trials []Call) Report {
	c := NewComparison(calls)
	for i := range trials {
		c.Add(&calls[i], &trials[i])
	}
	return c.Report()
}

// kindsOf describes differences in one line.
func kindsOf(r Report) string {
	var all []string
	for _, d := range r.Differences {
		text := fmt.Sprintf("%s %s", d.Kind, d.What)
		if d.Denied {
			text += " denied"
		}
		if d.Calls > 1 {
			text += fmt.Sprintf(" ×%d", d.Calls)
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

func TestCompare_namesEachDifference(t *testing.T) {
	get, post := request("GET https://a.example/x?q=1", "", "r"), request("POST https://a.example/y", "old", "r")
	file := Exchange{Family: "fs", Act: "read ~/a"}
	denied := request("GET https://c.example/", "", "")
	denied.Denied = true
	keyed := post
	keyed.Secrets = []string{"token"}
	keyed.Request = []byte("\nnew")
	failed, other := did(get), did(get)
	failed.Answer, failed.Failed = nil, "the guest trapped"
	other.Answer = json.RawMessage(`{"a":2}`)
	spaced := did(get)
	spaced.Answer = json.RawMessage(`{ "a": 1 }`)
	for name, c := range map[string]struct {
		was, is Call
		want    string
	}{
		"the same":       {did(get, post, file), did(file, get, post), ""},
		"formatting":     {did(get), spaced, ""},
		"new host":       {did(get), did(get, request("POST https://b.example/", "secret", "")), "host POST https://b.example/"},
		"other port":     {did(get), did(get, request("GET https://a.example:8443/x", "", "")), "host GET https://a.example:8443/x"},
		"upper case":     {did(get), did(get, request("GET https://A.example/z", "", "")), "request GET https://A.example/z"},
		"new denied":     {did(get), did(get, denied), "host GET https://c.example/ denied"},
		"new path":       {did(get), did(get, request("GET https://a.example/z", "", "")), "request GET https://a.example/z"},
		"other query":    {did(get), did(request("GET https://a.example/x?q=2", "", "r")), "arguments GET https://a.example/x"},
		"other body":     {did(post), did(request("POST https://a.example/y", "new", "r")), "arguments POST https://a.example/y"},
		"twice":          {did(post), did(post, post), "request POST https://a.example/y"},
		"secret":         {did(post), did(keyed), "secret token in POST https://a.example/y, arguments POST https://a.example/y"},
		"file":           {did(), did(file), "file read ~/a"},
		"write":          {did(file), did(file, Exchange{Family: "fs", Act: "write ~/a"}), "file write ~/a"},
		"tool":           {did(), did(Exchange{Family: "tools", Act: "call x"}), "tool call x"},
		"question":       {did(), did(Exchange{Family: "client", Act: "ask the client: roots/list"}), "question ask the client: roots/list"},
		"key":            {did(), did(Exchange{Family: "kv", Act: "store a value"}), "effect store a value"},
		"reveal":         {did(), did(Exchange{Family: "secret", Act: "read the secret t"}), "secret read the secret t"},
		"gone":           {did(get, file), did(get), "gone read ~/a"},
		"failed":         {did(get), failed, "failed send"},
		"failed both":    {failed, failed, ""},
		"answer":         {did(get), other, "answer send"},
		"answers now":    {failed, other, "answer send"},
		"order of kinds": {did(get), func() Call { c := other; c.Exchanges = []Exchange{get, file, denied}; return c }(), "host GET https://c.example/ denied, file read ~/a, answer send"},
	} {
		if got := kindsOf(compared([]Call{c.was}, []Call{c.is})); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// Equal differences of several calls are one, and a host that any recorded call reached is known.
func TestCompare_countsCalls(t *testing.T) {
	known, fresh := request("GET https://a.example/", "", "r"), request("GET https://b.example/", "", "")
	r := compared([]Call{did(known), did(known), did(), did(fresh)}, []Call{did(known, fresh), did(known, known), did(request("GET https://c.example/", "", ""))})
	if got := kindsOf(r); got != "host GET https://c.example/, request GET https://b.example/, request GET https://a.example/" || r.Recorded != 4 || r.Tried != 3 {
		t.Errorf("got %q of %d and %d, want each once, of 4 and 3", got, r.Recorded, r.Tried)
	}
	many := []Call{did(known), did(known), did(known)}
	if got := kindsOf(compared(many, []Call{did(known, fresh), did(known, fresh), did(known)})); got != "host GET https://b.example/ ×2" {
		t.Errorf("got %q, want the new host in two calls", got)
	}
}

// A harmless difference in the arguments of an address hides no other one there: those that are not shown are counted, in
// one call and in several, and so are bytes beyond the excerpt.
func TestCompare_countsArgumentsThatItDoesNotShow(t *testing.T) {
	post := func(body string) Exchange { return request("POST https://a.example/", body, "r") }
	call := did(post("version 1"), post("version 1, again"))
	for name, c := range map[string]struct {
		trials []Call
		want   Difference
	}{
		"one":        {[]Call{did(post("version 2"), post("version 1, again"))}, Difference{Calls: 1, Sizes: [2]int{10, 10}}},
		"in a call":  {[]Call{did(post("version 2"), post("the secret"))}, Difference{Calls: 1, Sizes: [2]int{10, 10}, Others: 1}},
		"in another": {[]Call{did(post("version 2"), post("version 1, again")), did(post("version 1"), post("the secret"))}, Difference{Calls: 2, Sizes: [2]int{10, 10}, Others: 1}},
		"equal ones": {[]Call{did(post("version 2"), post("version 1, again")), did(post("version 2"), post("version 1, again"))}, Difference{Calls: 2, Sizes: [2]int{10, 10}}},
		"far behind": {[]Call{did(post("version 2"+strings.Repeat(" ", 5000)+"the secret"), post("version 1, again"))}, Difference{Calls: 1, Sizes: [2]int{10, 5020}}},
	} {
		got := compared([]Call{call, call}[:len(c.trials)], c.trials).Differences[0]
		if got.Calls != c.want.Calls || got.Sizes != c.want.Sizes || got.Others != c.want.Others {
			t.Errorf("%s: got %d calls, sizes %d, %d others; want %d, %d, %d", name, got.Calls, got.Sizes, got.Others, c.want.Calls, c.want.Sizes, c.want.Others)
		}
	}
}

// A host that was denied to the recorded calls is new.
func TestCompare_knowsNoDeniedHost(t *testing.T) {
	tried, sent := request("GET https://b.example/", "", ""), request("GET https://b.example/x", "", "")
	tried.Denied = true
	if got := kindsOf(compared([]Call{did(tried)}, []Call{did(tried, sent)})); got != "host GET https://b.example/x" {
		t.Errorf("got %q, want a new host", got)
	}
}

// An excerpt is short, shows the first difference, and is whole characters.
func TestCompare_excerptsAreBounded(t *testing.T) {
	was, is := strings.Repeat("é", 5000)+"old"+strings.Repeat("x", 5000), strings.Repeat("é", 5000)+"new"+strings.Repeat("x", 5000)
	d := compared([]Call{did(request("POST https://a.example/", was, "r"))}, []Call{did(request("POST https://a.example/", is, "r"))}).Differences[0]
	for _, c := range []struct{ got, want string }{{d.Before, "old"}, {d.After, "new"}} {
		if !strings.Contains(c.got, c.want) || len(c.got) > MaxExcerpt+10 || strings.Contains(c.got, "\ufffd") {
			t.Errorf("got %d bytes %q, want an excerpt with %q", len(c.got), c.got, c.want)
		}
	}
	binary := compared([]Call{did()}, []Call{did(request("POST https://a.example/", "\xff\xfe", ""))}).Differences[0]
	if !strings.Contains(binary.After, "\ufffd") {
		t.Errorf("got %q, want valid UTF-8", binary.After)
	}
}

// Any number of differences of one kind hides none of another.
func TestComparison_isBounded(t *testing.T) {
	many := did()
	for i := range MaxExchanges {
		many.Exchanges = append(many.Exchanges, request(fmt.Sprintf("GET https://a.example/%d?%s", i, strings.Repeat("x", 2000)), "", ""))
	}
	many.Exchanges = append(many.Exchanges, request("GET https://b.example/", "", ""), Exchange{Family: "fs", Act: "read ~/a"})
	r := compared([]Call{did(request("GET https://a.example/", "", "r"))}, []Call{many})
	last := r.Differences[len(r.Differences)-1]
	if len(r.Differences) > maxDifferences+4 || r.More < MaxExchanges-maxDifferences-1 || r.Differences[0].What != "GET https://b.example/" || len(last.What) > MaxExcerpt+10 {
		t.Errorf("got %d and %d more, first %+v, last %.100s, want the new host first, and each short", len(r.Differences), r.More, r.Differences[0], last.What)
	}
}

// The excerpt is of the call that grew the most: a harmless change in each call hides no file in one of them.
func TestComparison_showsTheGreatestGrowth(t *testing.T) {
	var calls, trials []Call
	for i := range 50 {
		calls = append(calls, did(request("POST https://a.example/", fmt.Sprintf("note %02d", i), "r")))
		body := fmt.Sprintf("v2 note %02d", i)
		if i == 37 {
			body += " the safe is 12-34-56"
		}
		trials = append(trials, did(request("POST https://a.example/", body, "r")))
	}
	r := compared(calls, trials)
	if len(r.Differences) != 1 || r.Differences[0].Calls != 50 || r.Differences[0].Others != 49 || !strings.Contains(r.Differences[0].After, "the safe is 12-34-56") {
		t.Errorf("got %+v, want one difference with the longest body", r.Differences)
	}
}
