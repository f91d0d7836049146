package frontmatter

import (
	"strings"
	"testing"
)

func TestSplit(t *testing.T) {
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
		f, err := Split([]byte(c.in))
		if err != nil {
			t.Errorf("%q: %v", c.in, err)
			continue
		}
		if got := string(f.Values.Append(nil)); got != c.values || f.Body != c.body || f.Line != c.line {
			t.Errorf("%q: %s %q line %d", c.in, got, f.Body, f.Line)
		}
	}
}

func TestSplit_Refused(t *testing.T) {
	for in, want := range map[string]string{
		"":                                   "line 1: the file does not begin with a line of three dashes",
		"name: a":                            "line 1: the file does not begin with a line of three dashes",
		"---\nname: a\n":                     "line 1: there is no second line of three dashes",
		"---\na: 1\nb: 2\na: 3\n---\n":       `line 4: "a" is there twice`,
		"---\n- a\n---\n":                    "line 2: write key: value lines between the dashes",
		"---\na: &x 1\nb: *x\n---\n":         "line 2: anchors and aliases are not read",
		"---\nx: 1\na: !!binary aGk=\n---\n": "line 3: binary values are not read",
		"---\n[a]: 1\n---\n":                 "line 2: a key must be a word",
		"---\na: b: c\n---\n":                "the text between the dashes is not YAML: yaml: line 2: mapping values are not allowed in this context",
		"\xff":                               "the file is not UTF-8",
		"---\na: " + strings.Repeat("[", 20) + strings.Repeat("]", 20) + "\n---\n": "line 2: this nests too deep",
		"---\na: " + strings.Repeat("x", maxYAML) + "\n---\n":                      "the text between the dashes is over 64 KiB",
	} {
		if _, err := Split([]byte(in)); err == nil || err.Error() != want {
			t.Errorf("%.40q: %v, want %s", in, err, want)
		}
	}
}

func FuzzSplit(f *testing.F) {
	f.Add([]byte("---\na: [x, {b: true}]\n---\nbody\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		file, err := Split(raw)
		if err == nil && file.Line < 3 {
			t.Errorf("%q: line %d", raw, file.Line)
		}
	})
}
