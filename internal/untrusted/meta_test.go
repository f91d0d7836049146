package untrusted_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/untrusted"
)

func TestReservedKey_holdsForPrefixesOfMCPAndThisHost(t *testing.T) {
	for key, want := range map[string]bool{
		"io.modelcontextprotocol/x": true, "com.mcp/x": true, "mcp/x": true, "mcp.dev/x": true, "modelcontextprotocol.io/x": true,
		"traceparent": true, "tracestate": true, "baggage": true, "a.b/traceparent": false,
		"IO.ModelContextProtocol/x": true, "dev.sallyport/receipt": true, "dev.sallyport.sub/x": true, "org.mcp.deep/": true,
		"com.example.mcp/x": false, "com.example/mcp": false, "mcp": false, "progressToken": false, "dev.sallyports/x": false, "": false,
	} {
		if untrusted.ReservedKey(key) != want {
			t.Errorf("%s: got %v, want %v", key, !want, want)
		}
	}
}

func TestOwnMeta_keepsOnlyThePluginsKeys(t *testing.T) {
	for raw, want := range map[string]string{
		`{"a":1, "b":{"io.mcp/x":1}}`:                   `{"a":1, "b":{"io.mcp/x":1}}`,
		`{"io.mcp/x":1}`:                                `{}`,
		`{"a":1,"dev.sallyport/receipt":{},"b":2}`:      `{"a":1,"b":2}`,
		`{"io\u002emcp/x":1}`:                           `{}`,
		`{"ui":{"csp":{"connectDomains":["x"]},"a":1}}`: `{"ui":{"a":1}}`,
		`{"a":1,"a":2}`:                                 "",
		`null`:                                          "",
		`[{"a":1}]`:                                     "",
		`"x"`:                                           "",
	} {
		if got := string(untrusted.OwnMeta(json.RawMessage(raw))); got != want {
			t.Errorf("%s: got %s, want %s", raw, got, want)
		}
	}
}

// _meta is cleaned in all its positions in MCP messages, and nothing else changes.
func TestCleanMeta_reachesEveryPosition(t *testing.T) {
	for raw, want := range map[string]string{
		`[{"type":"text", "text":"a","_meta" : {"io.modelcontextprotocol/x":1,"b":2} , "z":1.50}]`:                            `[{"type":"text", "text":"a","_meta" : {"b":2} , "z":1.50}]`,
		`[{"type":"resource","resource":{"uri":"a:b","text":"_meta","_meta":{"dev.sallyport/x":1}},"_meta":{"mcp.dev/x":1}}]`: `[{"type":"resource","resource":{"uri":"a:b","text":"_meta","_meta":{}},"_meta":{}}]`,
		`[{"role":"user","content":{"type":"text","text":"a","_meta":{"io.mcp/x":1}}}]`:                                       `[{"role":"user","content":{"type":"text","text":"a","_meta":{}}}]`,
		`[{"type":"tool_result","content":[{"_meta":{"io.mcp/x":1}}]}]`:                                                       `[{"type":"tool_result","content":[{"_meta":{}}]}]`,
		`[{"\u005fmeta":{"io.mcp/x":1}}]`:                  `[{"\u005fmeta":{}}]`,
		`[{"_meta":{"a":1},"_meta":{"io.mcp/x":1}}]`:       `[{"_meta":{"a":1},"_meta":{}}]`,
		`[{"_meta":"io.mcp/x"}]`:                           `[{"_meta":{}}]`,
		`[{"_meta":{"ui":{"permissions":{"camera":{}}}}}]`: `[{"_meta":{"ui":{}}}]`,

		// data is never changed
		`[{"type":"tool_use","input":{"_meta":{"io.mcp/x":1}}}]`:  "",
		`{"structuredContent":{"_meta":{"io.mcp/x":1}}}`:          "",
		`{"inputSchema":{"properties":{"_meta":{"io.mcp/x":1}}}}`: "",
		`[{"_meta":{"a":{"_meta":{"io.mcp/x":1}}}}]`:              "",
		`["_meta","\u0041"]`:      "",
		`{"_meta":{"io.mcp/x":1}`: "",
		``:                        "",
	} {
		if want == "" {
			want = raw
		}
		if got := string(untrusted.CleanMeta(json.RawMessage(raw))); got != want {
			t.Errorf("%s: got %s, want %s", raw, got, want)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add(`[{"type":"text","_meta":{"io.mcp/x":1,"a":[1, 2]},"\u005fmeta":{"ui":{"csp":1}}}]`)
	f.Add(`{"a":{"_meta":{"mcp/":null}}} `)
	f.Fuzz(func(t *testing.T, raw string) {
		got := untrusted.CleanMeta(json.RawMessage(raw))
		if json.Valid([]byte(raw)) != json.Valid(got) {
			t.Fatalf("%q: got %q, want JSON only for JSON", raw, got)
		}
		if again := untrusted.CleanMeta(got); string(again) != string(got) {
			t.Fatalf("%q: got %q when cleaned again, want %q", raw, again, got)
		}
	})
}

func BenchmarkClean_nothing(b *testing.B) {
	raw := json.RawMessage(`[{"type":"text","text":"` + strings.Repeat("a plain answer ", 1000) + `"}]`)
	for b.Loop() {
		untrusted.CleanMeta(raw)
	}
}

func TestStripMeta_removesReservedKeys(t *testing.T) {
	for raw, want := range map[string]string{
		`{"a":1,"b":{"io.mcp/x":1}}`:               `{"a":1,"b":{"io.mcp/x":1}}`,
		`{"io.mcp/x":1}`:                           `{}`,
		`{"a":1,"dev.sallyport/receipt":{},"b":2}`: `{"a":1,"b":2}`,
		`{"ifc":{"label":"public"},"ifc/integrity":"trusted","IFC.example/x":1,"ifcx":2,"traceParent":"x","m\u0063p.dev/x":1}`: `{"ifcx":2}`,
		`{"a":1,"a":2}`: "",
		`null`:          "",
		`[1]`:           "",
		`"x"`:           "",
	} {
		o := jsonraw.Object{{Key: "_meta", Value: json.RawMessage(raw)}}
		untrusted.StripMeta(&o)
		if got := string(o.Get("_meta")); got != want {
			t.Errorf("%s: got %s, want %s", raw, got, want)
		}
	}
}
