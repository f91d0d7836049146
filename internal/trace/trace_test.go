package trace_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/trace"
)

const (
	id     = "0af7651916cd43dd8448eb211c80319c"
	span   = "b7ad6b7169203331"
	parent = "00-" + id + "-" + span + "-01"
)

func TestRead_parent(t *testing.T) {
	for given, want := range map[string]string{
		parent:                               parent,
		"00-" + id + "-" + span + "-ff":      "00-" + id + "-" + span + "-03",
		"cc-" + id + "-" + span + "-01-more": parent, // of a later version
		"cc-" + id + "-" + span + "-01":      parent,

		"00-" + id + "-" + span + "-01-more":                        "",
		"cc-" + id + "-" + span + "-01more":                         "",
		"ff-" + id + "-" + span + "-01":                             "",
		"00-" + strings.ToUpper(id) + "-" + span + "-01":            "",
		"00-" + strings.Repeat("0", 32) + "-" + span + "-01":        "",
		"00-" + id + "-" + strings.Repeat("0", 16) + "-01":          "",
		"00-" + id[1:] + "x-" + span + "-01":                        "",
		"00_" + id + "-" + span + "-01":                             "",
		parent[:54]:                                                 "",
		"cc-" + id + "-" + span + "-01-" + strings.Repeat("x", 100): "",
		"00-" + id + "-" + span + "-0\r":                            "",
		"00-" + id + "-" + span[:14] + "\r\n-01":                    "",
		"":                                                          "",
	} {
		raw, _ := json.Marshal(map[string]string{"traceparent": given, "tracestate": "a=1"})
		c := trace.Read(raw)
		if c.Parent != want || (c.State != "") != (want != "") {
			t.Errorf("%q: got %+v, want parent %q, with the state if there is one", given, c, want)
		}
	}
	for _, raw := range []string{``, `null`, `[]`, `{"traceparent":5}`, `{"traceparent":null}`, `{"traceparent":["` + parent + `"]}`} {
		if c := trace.Read(json.RawMessage(raw)); c != (trace.Context{}) {
			t.Errorf("%s: got %+v, want no context", raw, c)
		}
	}
}

func TestRead_lists(t *testing.T) {
	many := func(n int, form string) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(form, i))
		}
		return strings.Join(all, ",")
	}
	for state, want := range map[string]bool{
		"rojo=00f067aa0ba902b7,congo=t61rcWkgMzE": true, "fw529a3039@dt=FfABC/d:x;y": true, "a=1, b=2 ,,c= 3": true, "0a=1": true, many(32, "k%d=1"): true,
		"": false, ",": false, "a": false, "a=": false, "A=1": false, "a=1,a=2": false, "a=b=c": false, "a=\x01": false, "a=é": false, "@a=1": false,
		many(33, "k%d=1"): false, "a=" + strings.Repeat("x", 257): false, many(30, "key%d=0123456789abcdef"): false, "a=1\r\nx: y": false,
	} {
		raw, _ := json.Marshal(map[string]string{"traceparent": parent, "tracestate": state})
		if c := trace.Read(raw); (c.State == state && state != "") != want {
			t.Errorf("state %q: got %+v, want it taken: %v", state, c, want)
		}
	}
	for baggage, want := range map[string]bool{
		"userId=alice,serverNode=DF%2028": true, "a=1;p;q=2, b = 3": true, "a=": true, many(64, "k%d=1"): true,
		"": false, "a": false, "a,b=1": false, "=1": false, "a=1 2": false, `a="1"`: false, "a=1\r\nx: y": false, "a=é": false, "k y=1": false,
		many(65, "k%d=1"): false, "a=" + strings.Repeat("x", 8192): false,
	} {
		raw, _ := json.Marshal(map[string]string{"baggage": baggage})
		if c := trace.Read(raw); (c.Baggage == baggage && baggage != "") != want || c.Parent != "" {
			t.Errorf("baggage %q: got %+v, want it taken: %v", baggage, c, want)
		}
	}
}

// A child belongs to the same trace, with a random span.
func TestContext_childHasItsOwnSpan(t *testing.T) {
	c := trace.Context{Parent: parent, State: "a=1", Baggage: "b=2"}
	one, two := c.Child(), c.Child()
	if one.Span() == span || one.Span() == two.Span() || len(one.Span()) != 16 || one.State != "a=1" || one.Baggage != "b=2" {
		t.Errorf("got children %+v and %+v, want the same trace and spans of their own", one, two)
	}
	if again := trace.Read(json.RawMessage(one.Meta().Append(nil))); again != one || one.Parent[:36] != parent[:36] || one.Parent[52:] != "-01" {
		t.Errorf("got %+v and, read again, %+v; want the same", one, again)
	}
	none := trace.Context{Baggage: "b=2"}
	if none.Child() != none || none.Span() != "" {
		t.Errorf("got %+v, want %+v", none.Child(), none)
	}
}

func TestContext_headerReplacesForgedOnes(t *testing.T) {
	c := trace.Context{Parent: parent, State: "a=1", Baggage: "b=2"}
	for name, want := range map[string][3]string{
		"parent": {parent}, "state": {parent, "a=1"}, "baggage": {parent, "a=1", "b=2"}, "off": {},
	} {
		up, ok := trace.ParseUpstream(name)
		h := http.Header{"Traceparent": {"forged"}, "Tracestate": {"forged"}, "Baggage": {"forged", "twice"}}
		c.Header(h, up)
		if got := [3]string{h.Get("traceparent"), h.Get("tracestate"), h.Get("baggage")}; got != want || !ok {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if _, ok := trace.ParseUpstream("all"); ok {
		t.Error("ParseUpstream(\"all\"): got true, want false")
	}
	if !trace.HostField("TraceParent") || !trace.HostField("baggage") || trace.HostField("x-trace") {
		t.Errorf("HostField of TraceParent, baggage and x-trace: got %v, %v, %v; want true, true, false", trace.HostField("TraceParent"), trace.HostField("baggage"), trace.HostField("x-trace"))
	}
}

func FuzzRead(f *testing.F) {
	f.Add(parent, "a=1,b=2", "c=3;d")
	f.Fuzz(func(t *testing.T, p, s, b string) {
		raw, _ := json.Marshal(map[string]string{"traceparent": p, "tracestate": s, "baggage": b})
		c := trace.Read(raw)
		h := http.Header{}
		c.Child().Header(h, trace.Baggage)
		for _, v := range h {
			if strings.ContainsFunc(v[0], func(r rune) bool { return r < ' ' && r != '\t' || r > 0x7e }) {
				t.Fatalf("got header %q, want printable ASCII", v)
			}
		}
		if again := trace.Read(json.RawMessage(c.Meta().Append(nil))); again != c {
			t.Fatalf("read again: got %+v, want %+v", again, c)
		}
	})
}
