package uritemplate

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
)

// expansion is one template with its values, as in JSON, and Python's expansion of it.
type expansion struct {
	Template string
	Values   map[string]any
}

// generated returns templates of every operator and modifier over values of every kind.
func generated(r *rand.Rand, n int) (all []expansion) {
	texts := []string{"", "a", "value", "/foo/bar", "50%", "ö", "öäüß", "日本語", "😀𝄞x", "a b&c=d", "x,y", "e\u0301e\u0301", "%C3", "~-._"}
	names := []string{"v", "w", "long_name", "x.y"}
	for len(all) < n {
		values := map[string]any{}
		for _, name := range names {
			switch r.IntN(5) {
			case 0:
			case 1:
				values[name] = []string{texts[r.IntN(len(texts))], texts[r.IntN(len(texts))]}
			default:
				values[name] = texts[r.IntN(len(texts))]
			}
		}
		var b strings.Builder
		b.WriteString("s://h/")
		for range 1 + r.IntN(2) {
			b.WriteString("{" + []string{"", "+", "#", ".", "/", ";", "?", "&"}[r.IntN(8)])
			for i := range 1 + r.IntN(3) {
				if i > 0 {
					b.WriteString(",")
				}
				name := names[r.IntN(len(names))]
				b.WriteString(name)
				if _, list := values[name].([]string); list && r.IntN(2) == 0 {
					b.WriteString("*")
				} else if !list && r.IntN(2) == 0 {
					fmt.Fprintf(&b, ":%d", 1+r.IntN(5))
				}
			}
			b.WriteString("}" + []string{"", "/x", "!"}[r.IntN(3)])
		}
		all = append(all, expansion{b.String(), values})
	}
	return all
}

// program expands templates with Python's library, one per line; without that library it reports so.
const program = `
import json, sys
try:
    import uritemplate
except ImportError:
    print(json.dumps(None)); sys.exit()
for line in sys.stdin:
    e = json.loads(line)
    print(json.dumps(uritemplate.expand(e["Template"], e["Values"])))
`

// inPython returns the expansions of Python's library; nil if it is not installed.
func inPython(t *testing.T, all []expansion) []string {
	path, err := exec.LookPath("python3")
	if err != nil {
		return nil
	}
	var lines strings.Builder
	for _, e := range all {
		line, _ := json.Marshal(e)
		lines.Write(append(line, '\n'))
	}
	cmd := exec.Command(path, "-c", program)
	cmd.Stdin = strings.NewReader(lines.String())
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for line := range strings.Lines(string(out)) {
		var text *string
		if err := json.Unmarshal([]byte(line), &text); err != nil {
			t.Fatal(err)
		}
		if text == nil {
			return nil
		}
		texts = append(texts, *text)
	}
	return texts
}

// A template matches its expansions, by the RFC and by a library of a different language.
func TestTemplate_matchesExpansionsOfPython(t *testing.T) {
	const seed, n = 20261122, 10_000
	all := generated(rand.New(rand.NewPCG(seed, 1)), n)
	python := inPython(t, all)
	expansions := 0
	for i, e := range all {
		p, err := Parse(e.Template)
		if err != nil {
			t.Fatalf("%s: got %v, want no error", e.Template, err)
		}
		texts := []string{expand(e.Template, e.Values)}
		if python != nil { // it leaves %C3 of a reserved value unencoded, and has ;x= for ;x
			texts = append(texts, python[i])
		}
		for _, text := range texts {
			if expansions++; !p.Match(text) {
				t.Errorf("%s with %s of %v: got no match, want one", e.Template, text, e.Values)
			}
		}
	}
	t.Logf("seed %d: %d templates, %d expansions, by Python too: %v", seed, n, expansions, python != nil)
}
