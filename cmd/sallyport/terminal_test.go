package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// evil is hostile plugin output in the place of a name.
const evil = "a\x1b]0;owned\x07\x1b[2J\u009b31m\u202egnp\u2066\U000e0041\nsallyport: all is well\r\x7f"

// hidden reports whether a character is neither printable nor a plain space.
func hidden(r rune) bool { return !unicode.IsPrint(r) }

// wantCalm fails if text contains terminal control characters.
func wantCalm(t *testing.T, what, text string) {
	t.Helper()
	if i := strings.IndexFunc(text, func(r rune) bool { return hidden(r) && r != '\n' && r != '\t' }); i >= 0 {
		t.Errorf("%s: a hidden character at %d: %.60q", what, i, text[max(0, i-20):])
	}
	if strings.Contains(text, "\nsallyport: all is well") {
		t.Errorf("%s: a plugin begins a line", what)
	}
}

// evilPlugin creates a plugin with hostile text in every field.
func evilPlugin(t *testing.T, imports bool) string {
	t.Helper()
	word, _ := json.Marshal(evil)
	entry := `{"name":"t","description":` + string(word) + `,"inputSchema":{"type":"object"},"_meta":{"com.mcp/` + string(word[1:]) + `:1}}`
	var m wasmtest.Module
	if imports {
		m.Import(evil, evil, nil, nil)
	}
	m.Export("mcp_handle", m.Func([]byte{wasmtest.I32}, []byte{wasmtest.I32}, nil, wasmtest.I32Const(0)))
	m.Custom("sallyport.manifest", []byte(`{"name":`+string(word)+`,"version":`+string(word)+`,"description":`+string(word)+`,"state":`+string(word)+
		`,"tools":[`+entry+`],"prompts":[{"name":"p","description":`+string(word)+`}],"wants":[{"net":`+string(word)+`,"why":`+string(word)+`,`+string(word)+`:1},`+string(word)+`]}`))
	file := filepath.Join(t.TempDir(), "evil\x1b[2Jx.wasm")
	if err := os.WriteFile(file, m.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestTerminal_pluginsSpeakPlainly(t *testing.T) {
	for _, imports := range []bool{false, true} {
		file := evilPlugin(t, imports)
		for _, args := range [][]string{
			{"inspect", file}, {"inspect", file, "--json"}, {"list", filepath.Dir(file)}, {"list", filepath.Dir(file), "--json"},
			{"call", file, "t"}, {"call", file, evil}, {"serve", filepath.Dir(file)}, {"pack", file}, {evil}, {"inspect", evil},
		} {
			out, _ := program(t, "", args...).CombinedOutput()
			wantCalm(t, args[0], string(out))
			if len(out) == 0 {
				t.Errorf("%s says nothing", args[0])
			}
		}
	}
}
