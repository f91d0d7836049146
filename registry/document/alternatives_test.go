package document

import (
	"errors"
	"strings"
	"testing"
	"text/template"
)

// These tests hold the reasons of RATIONALE.md for a template language of our own.

// noOutput is a writer that fails when something is written.
type noOutput struct{}

func (noOutput) Write(text []byte) (int, error) {
	if len(text) > 0 {
		return 0, errors.New("output")
	}
	return 0, nil
}

// text/template cannot be stopped during loops without output; a prompt is.
func TestPrompt_countsStepsOfLoopsWithoutOutput(t *testing.T) {
	const items = 60 // 216,000 steps in three loops
	steps := 0
	count := func() string { steps++; return "" }
	nested, err := template.New("").Funcs(template.FuncMap{"count": count}).Parse(`{{range .a}}{{range $.a}}{{range $.a}}{{count}}{{end}}{{end}}{{end}}`)
	if err != nil {
		t.Fatal(err)
	}
	if err := nested.Execute(noOutput{}, map[string][]int{"a": make([]int, items)}); err != nil || steps != items*items*items {
		t.Errorf("text/template: got %d steps, %v; want %d", steps, err, items*items*items)
	}
	p := parse(t, "---\narguments: [a, none]\n---\n{{each x in a}}{{each y in a}}{{each z in a}}{{none}}{{end}}{{end}}{{end}}\n")
	if got, want := texts(t, p, `{"a":"`+strings.Repeat("x,", items)+`"}`), "error: line 4: the loops take too long with these arguments"; got != want {
		t.Errorf("got %.100q, want %s", got, want)
	}
}

// text/template accepts a file that names an unknown argument; a prompt is refused when it is loaded.
func TestPrompt_refusesUnknownArgumentsOnLoading(t *testing.T) {
	if _, err := template.New("").Option("missingkey=error").Parse("{{.b}}"); err != nil {
		t.Errorf("text/template: got %v, want none", err)
	}
	_, err := parsePrompt([]byte("---\narguments: [a]\n---\n{{b}}\n"), "x")
	if want := `line 4: "b" is no argument of this prompt`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Mustache has no comparison, and encodes values for HTML.
func TestPrompt_comparesAndDoesNotEncode(t *testing.T) {
	p := parse(t, "---\narguments: [a]\n---\n{{if a == \"<&>\"}}equal{{else}}unlike{{end}} {{a}}\n")
	for arguments, want := range map[string]string{`{"a":"<&>"}`: "user: equal <&>", `{"a":"\"x\""}`: `user: unlike "x"`} {
		if got := texts(t, p, arguments); got != want {
			t.Errorf("%s: got %s, want %s", arguments, got, want)
		}
	}
}
