package strictyaml

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestFrontMatter_splits(t *testing.T) {
	for _, c := range []struct {
		in, values, body string
		line             int
	}{
		{"---\nname: a\n---\nbody\nmore\n", `{"name":"a"}`, "body\nmore\n", 4},
		{"\ufeff---\r\nn: 1\r\nd: 2026-01-02\r\n---\r\nx\r\n", `{"n":1,"d":"2026-01-02"}`, "x\n", 5},
		{"---\n---\n", `{}`, "", 3},
		{"---\n---", `{}`, "", 3},
		{"---\na: [x, {b: true, c: ~}]\nf: 1.50\nh: 0x1F\ni: .inf\nt: |\n  two\n  lines\n---\n---\n", `{"a":["x",{"b":true,"c":null}],"f":1.50,"h":"0x1F","i":".inf","t":"two\nlines\n"}`, "---\n", 10},
	} {
		f, err := FrontMatter([]byte(c.in))
		if err != nil {
			t.Errorf("%q: %v", c.in, err)
			continue
		}
		if got := string(f.Values.Append(nil)); got != c.values || f.Body != c.body || f.Line != c.line {
			t.Errorf("%q: got %s and a body %q on line %d, want %s, %q, %d", c.in, got, f.Body, f.Line, c.values, c.body, c.line)
		}
	}
}

func TestFrontMatter_namesTheLine(t *testing.T) {
	for in, want := range map[string]string{
		"":                                   "line 1: the file does not begin with a line of three dashes",
		"name: a":                            "line 1: the file does not begin with a line of three dashes",
		"---\nname: a\n":                     "line 1: there is no second line of three dashes",
		"---\na: 1\nb: 2\na: 3\n---\n":       `line 4: key "a" is already on line 2`,
		"---\n- a\n---\n":                    "line 2: want keys and values at the top level",
		"---\na: &x 1\nb: *x\n---\n":         "line 2: anchors and aliases are not read here; write the value out",
		"---\nx: 1\na: !!binary aGk=\n---\n": "line 3: tags are not read here; remove !!binary",
		"---\n[a]: 1\n---\n":                 "line 2: a key must be plain text",
		"---\na: b: c\n---\n":                "line 2: mapping values are not allowed in this context: put a text with \": \" in it into quotes, or correct the blanks that begin the line",
		"---\na: 1\n...\nb: 2\n---\n":        "line 4: did not find expected <document start>",
		"---\na: 1\n--- # b\nb: 2\n---\n":    "holds more than one document",
		"\xff":                               "the file is not UTF-8",
		"---\na: " + strings.Repeat("[", 20) + strings.Repeat("]", 20) + "\n---\n": "line 2: nested deeper than 16",
		"---\na: " + strings.Repeat("x", frontLimits.Bytes) + "\n---\n":            "the text between the dashes is over 64 KiB",
	} {
		if _, err := FrontMatter([]byte(in)); err == nil || err.Error() != want {
			t.Errorf("%.40q: got %v, want %s", in, err, want)
		}
	}
}

// Both readers apply the same rules, apart from their limits.
func FuzzFrontMatter(f *testing.F) {
	f.Add("a: [x, {b: true}]")
	f.Add("a: &x 1\nb: *x")
	f.Add("a: 1\n...\nb: 2")
	f.Fuzz(func(t *testing.T, head string) {
		if strings.Contains("\n"+head+"\n", "\n---\n") || strings.Contains(head, "\r") || !utf8.ValidString(head) {
			t.Skip("its YAML is another text")
		}
		root, err := Parse([]byte(head), frontLimits)
		front, frontErr := FrontMatter([]byte("---\n" + head + "\n---\nbody"))
		if (err == nil) != (frontErr == nil) {
			t.Fatalf("%q: Parse returns %v, FrontMatter %v", head, err, frontErr)
		}
		if err != nil {
			return
		}
		want := "{}"
		if root != nil {
			want = string(root.JSON())
		}
		if got := string(front.Values.Append(nil)); got != want || front.Body != "body" || front.Line != strings.Count(head, "\n")+4 {
			t.Errorf("%q: got %s and a body %q on line %d, want %s", head, got, front.Body, front.Line, want)
		}
	})
}
