package hostfuncs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every effect is of a family of the table, or needs no grant.
func TestFamilies_everyEffectHasRow(t *testing.T) {
	table := newEffects(families()).families
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`family: +"([a-z]+)"`).FindAllStringSubmatch(string(text), -1) {
			seen[found[1]] = true
			if _, ok := table[found[1]]; !ok {
				t.Errorf("%s: got family %q, want one of the table", name, found[1])
			}
		}
	}
	for name := range table {
		if !seen[name] {
			t.Errorf("family %q: got no effect, want one", name)
		}
	}
}

// The words of each family are explained by it first: "read the secret NAME" could be a file.
func TestFamilies_explainTheirWordsFirst(t *testing.T) {
	h := NewHost(&Options{Home: t.TempDir()})
	defer h.Close()
	g := h.Plugin(Plugin{Name: "p"}).NewGate(Call{ID: "c"})
	defer g.Close()
	for _, f := range families() {
		for _, act := range f.acts {
			act = strings.ReplaceAll(act, "URL", "https://example.com/x")
			var by []string
			for _, other := range families() {
				if other.explain == nil {
					continue
				}
				if _, ok, err := other.explain(&g.rules, act); ok && err == nil {
					by = append(by, other.name)
				}
			}
			if first := by[:min(1, len(by))]; !slices.Equal(first, []string{f.name}) {
				t.Errorf("%q is explained by %v, want %s first", act, by, f.name)
			}
		}
	}
}
