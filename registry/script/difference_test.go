package script

import (
	"fmt"
	"strings"
	"testing"
)

// shown returns a difference as text.
func shown(all []FileChange) string {
	var b strings.Builder
	for _, c := range all {
		fmt.Fprintf(&b, "%s +%d -%d\n", c.Path, c.Added, c.Gone)
		for _, l := range c.Lines {
			if l.Sign != 0 {
				fmt.Fprintf(&b, "%c%s\n", l.Sign, l.Text)
			}
		}
	}
	return b.String()
}

// Two containers with the same texts can be different programs: each such change is shown.
func TestDifference_showsChangedImportsAndEntry(t *testing.T) {
	source := func(entry, checks string) *Source {
		return &Source{Entry: entry, Files: []File{
			{Path: "a.ts", Text: "import './checks'", Imports: map[string]string{"./checks": checks}},
			{Path: "checks.ts", Text: "1"}, {Path: "nothing.ts", Text: "2"},
		}}
	}
	for want, after := range map[string]*Source{
		"":                                     source("a.ts", "checks.ts"),
		`+(import "./checks" is "nothing.ts")`: source("a.ts", "nothing.ts"),
		`+(the script is "nothing.ts")`:        source("nothing.ts", "checks.ts"),
	} {
		got := shown(Difference(source("a.ts", "checks.ts"), after))
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
}

// Imports that lead where their words say are not shown.
func TestDifference_showsNoUsualImport(t *testing.T) {
	for _, c := range []struct{ file, words, to string }{
		{"a.ts", "./b", "b.ts"}, {"a.ts", "./b.js", "b.ts"}, {"a.ts", "./b.js", "b.js"}, {"a.ts", "./lib", "lib/index.ts"}, {"lib/a.ts", "../b", "b.ts"},
		{"lib/a.ts", ".", "lib/index.ts"}, {"lib/a.ts", "..", "index.ts"}, {"a.ts", "p", "node_modules/p/main.js"}, {"a.ts", "@s/p/x", "node_modules/@s/p/x.js"},
		{"node_modules/p/main.js", "q", "node_modules/p/node_modules/q/index.js"}, {"a.ts", "p", "node_modules/.pnpm/p@1/node_modules/p/main.js"},
		{"a.ts", "./data.json", "data.json"},
	} {
		s := &Source{Entry: c.file, Files: []File{{Path: c.file, Text: "x", Imports: map[string]string{c.words: c.to}}}}
		if got := s.texts()[c.file]; got != "x" {
			t.Errorf("%s imports %s from %s: got %q, want the text alone", c.file, c.words, c.to, got)
		}
	}
}

// A container of which a person would be shown a different program than the one that runs is refused.
func TestExpand_refusesContainersThatShowOtherSources(t *testing.T) {
	for name, s := range map[string]*Source{
		"a module twice in Python": {Entry: "a.py", Files: []File{{Path: "a.py", Text: "import b"}, {Path: "b.py", Text: "1"}, {Path: "b.py", Text: "2"}}},
		"the script twice":         {Entry: "a.py", Files: []File{{Path: "a.py", Text: "1"}, {Path: "a.py", Text: "2"}}},
		"a module twice":           {Entry: "a.ts", Files: []File{{Path: "a.ts"}, {Path: "b.ts"}, {Path: "b.ts"}}},
		"an own file without side effects": {Entry: "a.ts", Files: []File{
			{Path: "a.ts", Text: "import './checks'", Imports: map[string]string{"./checks": "checks.ts"}}, {Path: "checks.ts", Pure: true}}},
	} {
		wasm, err := s.container()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Expand(wasm); err == nil {
			t.Errorf("%s: got a module, want an error", name)
		}
	}
}
