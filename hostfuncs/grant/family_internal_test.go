package grant

import (
	"net/url"
	"strings"
	"testing"
)

// parsed reads a line even if this version does not enforce it.
func parsed(t *testing.T, line string) Grant {
	t.Helper()
	g, err := parseLine(line, 0)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return g
}

func TestFamilies_formatCanonically(t *testing.T) {
	for line, want := range map[string]string{
		"elicitation":   "elicitation",
		"elicitation: ": "elicitation",
		"elicitation: {url: https://A.example/**}": `elicitation: {url: "https://a.example/**"}`,
		"roots":                                  "roots",
		"kv: 1048576B":                           "kv: 1MiB",
		"sampling":                               "sampling: {calls: 5, tokens: 8000}",
		"sampling: {calls: 3}":                   "sampling: {calls: 3, tokens: 8000}",
		"sampling: {tokens: 9}":                  "sampling: {calls: 5, tokens: 9}",
		"fs: write ~/a {mode: direct}":           "fs: write ~/a {mode: direct}",
		"fs: write ~/a {quota: 1024B, files: 3}": "fs: write ~/a {files: 3, quota: 1KiB}",
	} {
		g := parsed(t, line)
		if g.String() != want {
			t.Errorf("%s: got %s, want %s", line, g, want)
		}
		if again := parsed(t, g.String()); again.String() != want {
			t.Errorf("%s became %s became %s", line, g, again)
		}
	}
}

func TestFamilies_explainErrors(t *testing.T) {
	for line, want := range map[string]string{
		"kv":                             `"kv" says nothing: write such as "kv: 16MiB"`,
		"kv: much":                       "kv takes a size, such as 16MiB",
		"kv: {size: 1}":                  `"kv" takes one line of text, such as "kv: 16MiB"`,
		"roots: ~/work":                  `"roots" takes one line of text, such as "roots"`,
		"sampling: 3":                    `sampling takes numbers: write such as "sampling: {calls: 3, tokens: 4000}"`,
		"sampling: {call: 3}":            `unknown "call" in sampling: write calls or tokens`,
		"sampling: {calls: 0}":           "calls is a whole number above zero",
		"sampling: {calls: +1}":          "calls is a whole number above zero",
		"sampling: {calls: 99999999999}": "calls is a whole number above zero",
		"elicitation: form":              `elicitation alone allows forms; for an address write such as "elicitation: {url: https://accounts.example.com/**}"`,
		"elicitation: {url: ftp://a/}":   `an address begins with https:// or http://: write such as "net: GET https://api.example.com/v1/**"`,
		"fs: read ~/a {mode: direct}":    `mode is "direct", of a line that allows to write`,
		"fs: write ~/a {mode: fast}":     `mode is "direct", of a line that allows to write`,
		"fs: write ~/a {files: -1}":      "files is a whole number above zero",
		"deny: kv: 1MiB":                 "kv cannot be denied: remove the line that grants it",
	} {
		if g, err := parseLine(line, 0); err == nil || err.Error() != want {
			t.Errorf("%s\n got %v, %v\nwant %s", line, g, err, want)
		}
	}
}

func TestFamilies_decideWithLargestLimits(t *testing.T) {
	s := NewSet(parsed(t, "sampling: {calls: 3, tokens: 10}"), parsed(t, "sampling: {calls: 1, tokens: 99}"),
		parsed(t, "kv: 1KiB"), parsed(t, "kv: 2KiB"), parsed(t, "roots"), parsed(t, "elicitation: {url: https://a.example/x/**}"))
	if d := s.Given(Sampling); !d.Allowed || d.Calls != 3 || d.Tokens != 99 {
		t.Errorf("sampling: %+v", d)
	}
	if d := s.Given(KV); !d.Allowed || d.Size != 2048 {
		t.Errorf("kv: %+v", d)
	}
	if !s.Given(Roots).Allowed {
		t.Error("roots: refused")
	}
	if d := s.Elicit(nil); d.Allowed || d.Suggest != "elicitation" {
		t.Errorf("a form: %+v", d)
	}
	for raw, want := range map[string]bool{"https://a.example/x/y": true, "https://a.example/y": false, "https://b.example/x/y": false} {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		d := s.Elicit(u)
		if d.Allowed != want {
			t.Errorf("%s: %+v", raw, d)
		}
		if !want {
			if again := NewSet(parsed(t, d.Suggest)); !again.Elicit(u).Allowed {
				t.Errorf("%s does not allow %s", d.Suggest, raw)
			}
		}
	}
	var none *Set
	for _, d := range []Decision{none.Given(Sampling), none.Given(Roots), none.Given(KV), none.Elicit(nil)} {
		if g := parsed(t, d.Suggest); d.Allowed || g.String() != d.Suggest {
			t.Errorf("nothing granted: %+v", d)
		}
	}
}

// A suggested line can be pasted into a YAML list, and ParseLine reads it too.
func TestQuote_reversedByUnquote(t *testing.T) {
	for name, want := range map[string]string{
		"/a b":       "fs: read /a b",
		"/a: b":      `"fs: read /a: b"`,
		"/x/a:":      `"fs: read /x/a:"`,
		"/a #b":      `"fs: read /a #b"`,
		`/a"b`:       `fs: read /a"b`,
		`/"a": \b"c`: `"fs: read /\"a\": \\b\"c"`,
		"/it's: ü":   `"fs: read /it's: ü"`,
		"/#a":        "fs: read /#a",
	} {
		d := NewSet().Files(Places{}).Decide(Read, name)
		if d.Suggest != want {
			t.Errorf("%s: got %s, want %s", name, d.Suggest, want)
		}
		if g := parsed(t, d.Suggest); !NewSet(g).Files(Places{}).Decide(Read, name).Allowed || strings.Contains(g.String(), `\"fs`) {
			t.Errorf("%s does not allow %s", d.Suggest, name)
		}
	}
}
