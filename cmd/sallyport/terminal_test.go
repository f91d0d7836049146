package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// evil is what a hostile plugin says where only its name is expected.
const evil = "a\x1b]0;owned\x07\x1b[2J\u009b31m\u202egnp\u2066\U000e0041\nsallyport: all is well\r\x7f"

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"":               "",
		`say "hi" \o/ é`: `say "hi" \o/ é`,
		evil:             `a\x1b]0;owned\a\x1b[2J\u009b31m\u202egnp\u2066\U000e0041\nsallyport: all is well\r\x7f`,
		"\xff\xfeé":      `\xff\xfeé`,
	} {
		if got := printable(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := printableLines("a\nb\x1b"); got != "a\n  b\\x1b" {
		t.Errorf("%q", got)
	}
}

func TestPrintableJSON(t *testing.T) {
	in := map[string]any{evil: []any{evil, "é", 1.0}}
	raw, err := json.MarshalIndent(in, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	out := printableJSON(raw)
	var back map[string]any
	if err := json.Unmarshal(out, &back); err != nil || !reflect.DeepEqual(in, back) {
		t.Errorf("%s: %v", out, err)
	}
	wantCalm(t, "json", string(out))
}

// wantCalm fails if text could steer a terminal.
func wantCalm(t *testing.T, what, text string) {
	t.Helper()
	if i := strings.IndexFunc(text, func(r rune) bool { return hidden(r) && r != '\n' && r != '\t' }); i >= 0 {
		t.Errorf("%s: a hidden character at %d: %.60q", what, i, text[max(0, i-20):])
	}
	if strings.Contains(text, "\nsallyport: all is well") {
		t.Errorf("%s: a plugin begins a line", what)
	}
}

// evilPlugin is a file whose every word is evil.
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

func TestLogger_isCalm(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		var out bytes.Buffer
		log := newLogger(&out, "info", asJSON).With("w", evil)
		log.Info(evil, "k", evil, "e", os.ErrNotExist, slog.Group(evil, "k", evil))
		text := strings.ReplaceAll(out.String(), "\n  | ", " ") // how the log goes on with a value
		wantCalm(t, "log", text)
		if !strings.Contains(text, "owned") || !strings.Contains(text, "file does not exist") {
			t.Errorf("%s", text)
		}
	}
}

func TestSpanText(t *testing.T) {
	for d, want := range map[time.Duration]string{
		5 * time.Minute: "5m", time.Hour: "1h", 90 * time.Minute: "1h30m", 30 * 24 * time.Hour: "720h", 30 * time.Second: "30s",
		10 * time.Minute: "10m", time.Hour + 10*time.Second: "1h0m10s",
	} {
		if got := spanText(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}
