package settings

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The reader takes a value for each key of PluginKeys, and records it under the key's name.
func TestPluginKeys_areRead(t *testing.T) {
	values := map[string]string{"path": "x.wasm", "digest": "sha256:" + strings.Repeat("0", 64), "list": "[x]", "bytes": "1MiB",
		"duration": "1s", "days": "7d", "count": "1", "rate": "0.5", "grants": "[elicitation]", "rules": "[{who: [all]}]", "limits": "[{who: [all], deadline: 1s}]"}
	for _, k := range PluginKeys() {
		words := []string{values[k.Type]}
		if words[0] == "" {
			words = strings.Split(strings.ReplaceAll(k.Type, "`", ""), ", ")
		}
		for _, word := range words {
			text := "plugins: {p: {" + strings.ReplaceAll(k.Name, ".", ": {") + ": " + word + strings.Repeat("}", strings.Count(k.Name, ".")) + "}}\n"
			file := filepath.Join(t.TempDir(), "sallyport.yaml")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := Load(Options{File: file})
			if err != nil {
				t.Errorf("%s: %v", text, err)
			} else if got := s.Plugins[0].Written; len(got) != 1 || got[0].Name != k.Name {
				t.Errorf("%s: got %+v, want one value of %s", text, got, k.Name)
			}
		}
	}
}

func TestPluginRecord_takesDaysOnly(t *testing.T) {
	for _, word := range []string{"0d", "31d", "7", "1GiB", "'7d,1GiB'", "-1d", "week", "''", "[7d]", "1h"} {
		file := filepath.Join(t.TempDir(), "sallyport.yaml")
		if err := os.WriteFile(file, []byte("plugins: {p: {record: "+word+"}}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := Load(Options{File: file}); err == nil || !strings.Contains(err.Error(), "p.record") {
			t.Errorf("%s: got %+v, %v, want an error of p.record", word, s, err)
		}
	}
}

// The words in the syntax of a kind are valid values of it.
func TestKind_syntaxWords(t *testing.T) {
	for _, k := range Keys() {
		for i, word := range strings.Split(k.Kind.Syntax(), "`") {
			if i%2 == 0 {
				continue
			}
			if err := check(k.Kind, word); err != nil {
				t.Errorf("%s: %v", k.Name, err)
			}
		}
		if k.Default != "" && check(k.Kind, k.Default) != nil {
			t.Errorf("%s: the default %q is invalid", k.Name, k.Default)
		}
	}
}
