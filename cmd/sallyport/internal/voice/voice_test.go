package voice

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"
)

// evil is what a hostile plugin says where only its name is expected.
const evil = "a\x1b]0;owned\x07\x1b[2J\u009b31m\u202egnp\u2066\U000e0041\nsallyport: all is well\r\x7f"

func TestLine(t *testing.T) {
	for in, want := range map[string]string{
		"":               "",
		`say "hi" \o/ é`: `say "hi" \o/ é`,
		evil:             `a\x1b]0;owned\a\x1b[2J\u009b31m\u202egnp\u2066\U000e0041\nsallyport: all is well\r\x7f`,
		"\xff\xfeé":      `\xff\xfeé`,
	} {
		if got := Line(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := Lines("a\nb\x1b"); got != "a\n  b\\x1b" {
		t.Errorf("%q", got)
	}
}

func TestJSON(t *testing.T) {
	in := map[string]any{evil: []any{evil, "é", 1.0}}
	raw, err := json.MarshalIndent(in, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	out := JSON(raw)
	var back map[string]any
	if err := json.Unmarshal(out, &back); err != nil || !reflect.DeepEqual(in, back) {
		t.Errorf("%s: %v", out, err)
	}
	if odd := func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' && r != '\t' }; bytes.ContainsFunc(out, odd) {
		t.Errorf("%s", out)
	}
}

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		5 * time.Minute: "5m", time.Hour: "1h", 90 * time.Minute: "1h30m", 30 * 24 * time.Hour: "720h", 30 * time.Second: "30s",
		10 * time.Minute: "10m", time.Hour + 10*time.Second: "1h0m10s",
	} {
		if got := Span(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

// An error is one line with the program's name before it, however many it has, and its hint another.
func TestComplain(t *testing.T) {
	cause := errors.New("no file\nsallyport: all is well")
	err := fmt.Errorf("open: %w", Hint(cause, "write %s", "its name"))
	if !errors.Is(err, cause) {
		t.Error("the cause is lost")
	}
	var out strings.Builder
	Complain(&out, err)
	if want := "sallyport: open: no file\n  sallyport: all is well\nhint: write its name\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

func TestIndent(t *testing.T) {
	var out strings.Builder
	Indent(&out, strings.Repeat("word ", 20))
	if want := "    " + strings.TrimSpace(strings.Repeat("word ", 15)) + "\n    word word word word word\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
