package main

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"strings"
	"testing"
)

// TestScript_everyCharacterInJSON compares JSON and searches in a script with the same functions by single characters, and
// sends texts of all lengths through a call.
func TestScript_everyCharacterInJSON(t *testing.T) {
	t.Parallel()
	script := filepath.Join("testdata", "scripts", "characters.ts")
	call := func(tool, arguments string) string {
		t.Helper()
		cmd := program(t, "", "call", script, tool, arguments, "--text")
		cmd.Stderr = t.Output()
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	if got, want := call("compare", "{}"), `{"texts":29792,"wrong":[]}`+"\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	texts := map[string]string{}
	for n := range 40 {
		for _, c := range []string{"x", `"`, `\`, "\n", "\u00ff", "\u0100", "\U0001f600", "~"} {
			s := strings.Repeat("a", n) + c + strings.Repeat("b", n%9)
			texts[s] = s
		}
	}
	arguments, err := json.Marshal(map[string]any{"v": texts})
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		V    map[string]string
		Same bool
	}
	if text := call("same", string(arguments)); json.Unmarshal([]byte(text), &got) != nil || !got.Same || !maps.Equal(got.V, texts) {
		t.Errorf("got %.2000s, want the %d texts of the arguments", text, len(texts))
	}
}
