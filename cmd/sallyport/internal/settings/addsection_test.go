package settings

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A section is added to every form of a file, and nothing else in it changes.
func TestAddSection_addsToEachForm(t *testing.T) {
	section := Section{Memory: "32MiB", Hide: []string{"a: b", "say"}}
	for before, want := range map[string]string{
		"":                "plugins:\n  speaker:\n    limits: {memory: 32MiB}\n    publish:\n      hide:\n        - \"a: b\"\n        - \"say\"\n",
		"# mine\n":        "# mine\nplugins:\n  speaker:\n    limits: {memory: 32MiB}\n",
		"workspace: /x\n": "workspace: /x\nplugins:\n  speaker:\n    limits: {memory: 32MiB}\n",
		"plugins: {}\n":   "plugins:\n  speaker:\n",
		"plugins:\n":      "plugins:\n  speaker:\n",
		"plugins:\n    x:\n        learn: true # on\n\nworkspace: /x\n": "learn: true # on\n    speaker:\n      limits: {memory: 32MiB}\n",
	} {
		file := filepath.Join(t.TempDir(), "sallyport.yaml")
		if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time nothing is left to add
			a, err := AddSection(file, "speaker", section)
			if err == nil {
				err = a.Write()
			}
			if err != nil {
				t.Fatalf("%q: %v", before, err)
			}
		}
		after, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(after), want) {
			t.Errorf("%q: got %q, %v, want %q in it", before, after, err, want)
		}
		s, err := Load(Options{File: file})
		if err != nil {
			t.Fatalf("%q: %v\n%s", before, err, after)
		}
		i := slices.IndexFunc(s.Plugins, func(p Plugin) bool { return p.Name == "speaker" })
		if i < 0 || s.Plugins[i].Limits.Memory != 32<<20 || !slices.Equal(s.Plugins[i].Publish.Hide, section.Hide) {
			t.Errorf("%q: got %+v, want the section", before, s.Plugins)
		}
	}
}

// A section that is there already is changed by hand, unless it is as strict.
func TestAddSection_leavesASectionThatIsThere(t *testing.T) {
	section := Section{Memory: "32MiB", Hide: []string{"say"}}
	for before, ok := range map[string]bool{
		"plugins: {speaker: {limits: {memory: 16MiB}, publish: {hide: [other, say]}}}": true,
		"plugins: {speaker: {limits: {memory: 64MiB}, publish: {hide: [say]}}}":        false,
		"plugins: {speaker: {limits: {memory: 16MiB}}}":                                false,
		"plugins:\n  speaker:\n    learn: true\n":                                      false,
		"{plugins: {other: {}}}":                                                       false,
		"plugins: {other: {learn: true}}":                                              false,
		"plugins: [":                                                                   false,
	} {
		file := filepath.Join(t.TempDir(), "sallyport.yaml")
		if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		a, err := AddSection(file, "speaker", section)
		if (err == nil) != ok || ok && len(a.Difference) != 0 {
			t.Errorf("%q: got %+v, %v, want accepted: %v", before, a, err, ok)
		}
		if err != nil && strings.Contains(before, "}") && !strings.Contains(err.Error(), "add to plugins.speaker by hand: limits.memory: 32MiB; publish.hide: say") {
			t.Errorf("%q: got %v, want the values to add", before, err)
		}
	}
}
