package settings

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// LoadHost uses the valid settings of a broken file and no plugins. It never guesses a state folder that the file may
// set.
func TestLoadHost_usesValidSettingsOfABrokenFile(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", "/default")
	for name, c := range map[string]struct{ file, state, broken string }{
		"whole":            {"state: /mine\nplugins: {a: {}}\n", "/mine", ""},
		"a wrong plugin":   {"state: /mine\nplugins: {a: {nonsense: 1}}\n", "/mine", `unknown key "nonsense"`},
		"a wrong ceiling":  {"state: /mine\nmax_grants: [nonsense]\n", "/mine", "nonsense"},
		"an unknown key":   {"nonsense: 1\nstate: /mine\nlimits: {memory: x}\n", "/mine", `unknown key "nonsense"`},
		"no YAML":          {"plugins: [\n", "/default/sallyport", "did not find expected node content"},
		"no YAML, a state": {"state: /mine\nplugins: [\n", "", ""},
		"two states":       {"state: /mine\nstate: /other\n", "", ""},
		"a wrong state":    {"state: [/mine]\n", "", ""},
	} {
		file := filepath.Join(t.TempDir(), "sallyport.yaml")
		if err := os.WriteFile(file, []byte(c.file), 0o600); err != nil {
			t.Fatal(err)
		}
		s, broken, err := LoadHost(Options{File: file})
		switch {
		case c.state == "":
			if err == nil {
				t.Errorf("%s: got state %s, want an error", name, s.Text("state"))
			}
			continue
		case err != nil:
			t.Errorf("%s: got %v, want success", name, err)
			continue
		}
		if s.Text("state") != c.state || (broken == nil) != (c.broken == "") || broken != nil && !strings.Contains(broken.Error(), c.broken) {
			t.Errorf("%s: got state %s, broken %v, want %s, %q", name, s.Text("state"), broken, c.state, c.broken)
		}
		if broken != nil && (len(s.Plugins) > 0 || s.File != file) {
			t.Errorf("%s: got %d plugins of %q, want none of %q", name, len(s.Plugins), s.File, file)
		}
	}
	if _, _, err := LoadHost(Options{File: filepath.Join(t.TempDir(), "none.yaml")}); err == nil {
		t.Errorf("a missing file: got success, want an error")
	}
}
