package logging

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
)

// evil is hostile plugin output in the place of a name.
const evil = "a\x1b]0;owned\x07\x1b[2J\u009b31m\u202egnp\u2066\U000e0041\nsallyport: all is well\r\x7f"

func TestLogger_escapesControlCharacters(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		var out bytes.Buffer
		log := New(&out, "info", asJSON).With("w", evil)
		log.Info(evil, "k", evil, "e", os.ErrNotExist, slog.Group(evil, "k", evil))
		text := strings.ReplaceAll(out.String(), "\n  | ", " ") // hclog's prefix of continuation lines
		if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' }) || strings.Contains(text, "\nsallyport: all is well") {
			t.Errorf("got %q", text)
		}
		if !strings.Contains(text, "owned") || !strings.Contains(text, "file does not exist") {
			t.Errorf("got %s, want %q in it, %q in it", text, "owned", "file does not exist")
		}
	}
}

// A full log is rotated, and one old file is kept.
func TestFile_keepsOneOldFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sallyport.log")
	var terminal bytes.Buffer
	f, err := Open(path, &terminal)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(f, "first\n"); err != nil {
		t.Fatal(err)
	}
	f.max = 10
	if _, err := io.WriteString(f, "second\n"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(f, "third\n"); err != nil {
		t.Error(err)
	}
	for file, want := range map[string]string{path + ".1": "first\n", path: "second\n"} {
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v, want %v", file, got, err, want)
		}
	}
	if terminal.String() != "first\nsecond\nthird\n" {
		t.Errorf("terminal: %q", terminal.String())
	}
}
