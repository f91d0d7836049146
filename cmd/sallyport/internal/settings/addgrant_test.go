package settings

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/userfile"
)

const newLine = "fs: read ~/notes/todo.txt"

// added adds a grant to the plugin files and returns the new text of the file.
func added(t *testing.T, before string) (string, *Addition, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "sub", "sallyport.yaml")
	s := &Settings{File: file}
	if before != "-" {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a, err := s.Add("files", newLine)
	if err != nil {
		return "", nil, err
	}
	if err := a.Write(); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(after), a, nil
}

// A grant is added at its place in the file; comments, order, blank lines and indentation stay.
func TestAdd_keepsTheRestOfTheFile(t *testing.T) {
	for name, c := range map[string][2]string{
		"no file":    {"-", "plugins:\n  files:\n    grants:\n      - fs: read ~/notes/todo.txt\n"},
		"empty":      {"", "plugins:\n  files:\n    grants:\n      - fs: read ~/notes/todo.txt\n"},
		"a comment":  {"# mine\n", "# mine\nplugins:\n  files:\n    grants:\n      - fs: read ~/notes/todo.txt\n"},
		"no plugins": {"http:\n  addr: 127.0.0.1:1\n\n# end", "http:\n  addr: 127.0.0.1:1\nplugins:\n  files:\n    grants:\n      - fs: read ~/notes/todo.txt\n\n# end"},
		"null":       {"plugins:\nask: off\n", "plugins:\n  files:\n    grants:\n      - fs: read ~/notes/todo.txt\nask: off\n"},
		"no such":    {"plugins:\n    time:\n        disabled: true # really\n\nask: off\n", "plugins:\n    time:\n        disabled: true # really\n    files:\n      grants:\n        - fs: read ~/notes/todo.txt\n\nask: off\n"},
		"no grants":  {"plugins:\n  files:\n    disabled: false\n  time:\n", "plugins:\n  files:\n    disabled: false\n    grants:\n      - fs: read ~/notes/todo.txt\n  time:\n"},
		"grants null": {"plugins:\n  files:\n    grants:\n    disabled: false\n",
			"plugins:\n  files:\n    grants:\n      - fs: read ~/notes/todo.txt\n    disabled: false\n"},
		"a list": {"plugins:\n  files:\n    grants:\n    # first\n    - fs: read ~/a # one\n    - fs: write ~/b\n      quota: 1MiB\n\n    # about time\n  time:\n    grants: []\n",
			"plugins:\n  files:\n    grants:\n    # first\n    - fs: read ~/a # one\n    - fs: write ~/b\n      quota: 1MiB\n    - fs: read ~/notes/todo.txt\n\n    # about time\n  time:\n    grants: []\n"},
		"no line end": {"plugins:\n  files:\n    grants:\n      - fs: read ~/a", "plugins:\n  files:\n    grants:\n      - fs: read ~/a\n      - fs: read ~/notes/todo.txt\n"},
		"windows":     {"plugins:\r\n  files:\r\n    grants:\r\n      - fs: read ~/a\r\n", "plugins:\r\n  files:\r\n    grants:\r\n      - fs: read ~/a\r\n      - fs: read ~/notes/todo.txt\r\n"},
		"braces":      {"# top\nplugins:\n  files: {grants: [\"fs: read ~/a\"]} # here\n", "# top\nplugins:\n  files: {grants: [\"fs: read ~/a\", \"fs: read ~/notes/todo.txt\"]} # here\n"},
	} {
		after, _, err := added(t, c[0])
		if err != nil || after != c[1] {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, after, c[1])
		}
	}
}

// An empty flow list or map becomes block lines, and a non-empty one gets its item between the braces. Comments keep
// their columns.
func TestAdd_insertsBetweenBraces(t *testing.T) {
	const line = `"fs: read ~/notes/todo.txt"`
	for name, c := range map[string][2]string{
		"no lines": {"plugins:\n  fetch:\n    grants:\n      - net: GET https://**    # the web\n  files:\n    grants: []    # such as\n  git:\n    grants: []    # such as\n",
			"plugins:\n  fetch:\n    grants:\n      - net: GET https://**    # the web\n  files:\n    grants:       # such as\n      - fs: read ~/notes/todo.txt\n  git:\n    grants: []    # such as\n"},
		"no line, no comment": {"plugins:\r\n  files:\r\n    grants: []\r\n", "plugins:\r\n  files:\r\n    grants:\r\n      - fs: read ~/notes/todo.txt\r\n"},
		"no keys":             {"plugins:\n  files: {}\n", "plugins:\n  files:\n    grants:\n      - fs: read ~/notes/todo.txt\n"},
		"no plugins":          {"plugins: { } # none\nask: off", "plugins:     # none\n  files:\n    grants:\n      - fs: read ~/notes/todo.txt\nask: off"},
		"another key":         {"plugins:\n  files: {disabled: false}   # a\n", "plugins:\n  files: {disabled: false, grants: [" + line + "]}   # a\n"},
		"another plugin":      {"plugins: {time: {disabled: true}}\n", "plugins: {time: {disabled: true}, files: {grants: [" + line + "]}}\n"},
		"empty within":        {"plugins: {files: {grants: []}}\n", "plugins: {files: {grants: [" + line + "]}}\n"},
		"many lines": {"plugins:\n  files:\n    grants: [ # ]\n      'fs: read ~/it''s]', # one ]\n      \"fs: read ~/\\\"é]\" # two\n    ] # three\n",
			"plugins:\n  files:\n    grants: [ # ]\n      'fs: read ~/it''s]', # one ]\n      \"fs: read ~/\\\"é]\", " + line + " # two\n    ] # three\n"},
		"a comma":                   {"plugins:\n  files: {grants: [fs: read ~/it's, ]}\n", "plugins:\n  files: {grants: [fs: read ~/it's, " + line + " ]}\n"},
		"a wide letter":             {"plugins: {é: {}, files: {grants: [kv: 1MiB]}}\n", ""},
		"a null":                    {"plugins: {files: {grants: }}\n", ""},
		"nothing in it, over lines": {"plugins:\n  files:\n    grants: [\n    ]\n", "plugins:\n  files:\n    grants: [" + line + "\n    ]\n"},
	} {
		after, _, err := added(t, c[0])
		if c[1] == "" {
			if err == nil {
				t.Errorf("%s: got %s, want an error", name, after)
			}
		} else if err != nil || after != c[1] {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, after, c[1])
		}
	}
}

// Difference has the changed lines and no others.
func TestAdd_showsTheChangedLines(t *testing.T) {
	for before, want := range map[string]string{
		"plugins:\n  time:\n": "+   files:\n+     grants:\n+       - fs: read ~/notes/todo.txt",
		"plugins:\n  files:\n    grants:\n      - fs: read ~/a":                           "+       - fs: read ~/notes/todo.txt",
		"plugins:\r\n  files:\r\n    grants: [] # a\r\n  time:\r\n    grants: [] # b\r\n": "-     grants: [] # a\n+     grants:    # a\n+       - fs: read ~/notes/todo.txt",
		"plugins: {files: {disabled: false}}\n\nask: off\n":                               "- plugins: {files: {disabled: false}}\n+ plugins: {files: {disabled: false, grants: [\"fs: read ~/notes/todo.txt\"]}}",
	} {
		_, a, err := added(t, before)
		if err != nil || strings.Join(a.Difference, "\n") != want || a.Line != newLine {
			t.Errorf("%s: got %+v %v, want %v, %v", before, a, err, want, newLine)
		}
	}
}

// A line without effect is not written, and a granted line is not written twice.
func TestAdd_refusesLinesWithoutEffect(t *testing.T) {
	for before, want := range map[string]string{
		"plugins: {files: {grants: ['fs: read ~/**']}}":             "allow it already",
		"plugins: {files: {grants: ['fs: read ~/notes/todo.txt']}}": "allow it already",
		"max_grants: ['fs: read ~/work/**']\n":                      "max_grants does not reach it",
		"max_grants: ['net: GET https://a.example/**']\n":           "max_grants does not reach it",
		"plugins: {files: {max_grants: ['fs: read ~/work/**']}}":    "max_grants does not reach it",
		"plugins: {files: {grants: ['deny: fs: read ~/notes/**']}}": "line 1 denies it",
		"{\"plugins\": {\"files\": {\"grants\": []}}}":              "by hand",
		"plugins: [1]\n": "want keys and values", "plugins:\n  files:\n    grants: 7\n": "want a list", "a: &b 1\n": "anchors", "nonsense: 1\nplugins:\n\tx": "tab",
	} {
		if after, _, err := added(t, before); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, %s, want an error, %q in it", before, err, after, want)
		}
	}
	if _, a, err := added(t, "max_grants: ['fs: read ~/notes/**']\n"); err != nil || a.Note != "" {
		t.Errorf("got %v", err)
	}
	s := &Settings{File: filepath.Join(t.TempDir(), "a.yaml")}
	for _, c := range [][2]string{{"a b", newLine}, {"sallyport", newLine}, {"files", "nonsense"}, {"files", "fs: read ~/a\nask: true"}} {
		if _, err := s.Add(c[0], c[1]); err == nil {
			t.Errorf("%q is taken", c)
		}
	}
}

// A change of the file since Add is not overwritten.
func TestAdd_refusesAConcurrentChange(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sallyport.yaml")
	s := &Settings{File: file}
	a, err := s.Add("files", newLine)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("ask: off\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := a.Write(); !errors.Is(err, userfile.ErrMeanwhile) {
		t.Error(err)
	}
	if text, _ := os.ReadFile(file); string(text) != "ask: off\n" {
		t.Errorf("got %s, want %q", text, "ask: off\n")
	}
}

// A line that YAML would parse differently is quoted.
func TestAdd_quotesAmbiguousLines(t *testing.T) {
	for _, line := range []string{"fs: read ~/a: b #c", "elicitation: {url: \"https://a.example/x\"}", "tools: [time-now]", "roots", "deny: fs: read ~/x/**", "fs: write ~/w/** {ask: true}"} {
		file := filepath.Join(t.TempDir(), "sallyport.yaml")
		a, err := (&Settings{File: file}).Add("files", line)
		if err == nil {
			err = a.Write()
		}
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		s, err := Load(Options{File: file})
		if err != nil || len(s.Plugins) != 1 || len(s.Plugins[0].Grants.Lines()) != 1 || s.Plugins[0].Grants.Lines()[0].String() != a.Line {
			t.Errorf("%s: got %v, want 1, 1, %v", line, err, a.Line)
		}
	}
}
