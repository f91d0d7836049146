package ui

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

// evil is hostile plugin output in the place of a name.
const evil = "a\x1b]0;owned\x07\x1b[2J\u009b31m\u202egnp\u2066\U000e0041\nsallyport: all is well\r\x7f"

func TestLine_escapesInvisibleCharacters(t *testing.T) {
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
		t.Errorf("got %q, want %q", got, "a\n  b\\x1b")
	}
}

func TestJSON_escapesInvisibleCharacters(t *testing.T) {
	in := map[string]any{evil: []any{evil, "é", 1.0}}
	raw, err := json.MarshalIndent(in, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	out := JSON(raw)
	var back map[string]any
	if err := json.Unmarshal(out, &back); err != nil || !reflect.DeepEqual(in, back) {
		t.Errorf("got %s: %v, want %v", out, err, back)
	}
	if odd := func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' && r != '\t' }; bytes.ContainsFunc(out, odd) {
		t.Errorf("got %s", out)
	}
}

func TestSpan_omitsZeroParts(t *testing.T) {
	for d, want := range map[time.Duration]string{
		5 * time.Minute: "5m", time.Hour: "1h", 90 * time.Minute: "1h30m", 30 * 24 * time.Hour: "720h", 30 * time.Second: "30s",
		10 * time.Minute: "10m", time.Hour + 10*time.Second: "1h0m10s",
	} {
		if got := Span(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

// An error is printed as one line behind the program's name, with its own lines indented, and its hint as a separate
// line.
func TestComplain_putsTheHintOnItsOwnLine(t *testing.T) {
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

// A terminal wraps a longer line to its left edge, where plugin text could be taken for the program's own.
func TestFit_indentsContinuationLines(t *testing.T) {
	long := "wants to  read ~/a" + strings.Repeat(" ", 70) + "grants    nothing at all " + strings.Repeat("漢", 60) + strings.Repeat("x", 200)
	for name, text := range map[string]string{
		"fit": Fit("short\n" + long + "\n"), "marked": strings.Join(Marked("  | ", long), "\n"),
	} {
		var whole strings.Builder
		for i, line := range strings.Split(text, "\n") {
			columns := 0
			for _, r := range line {
				columns += columnsOf(r)
			}
			own := line == "" || line == "short" || strings.HasPrefix(line, "wants to") || strings.HasPrefix(line, "      ")
			if columns > 80 || name == "fit" && !own || name == "marked" && !strings.HasPrefix(line, "  | ") {
				t.Errorf("%s, line %d: %q", name, i, line)
			}
			whole.WriteString(strings.TrimPrefix(line, "  | "))
		}
		plain := func(s string) string { return strings.NewReplacer(" ", "", "short", "").Replace(s) }
		if plain(whole.String()) != plain(long) {
			t.Errorf("%s: something is lost: %q", name, text)
		}
	}
	if got := Fit("a\n  b\n"); got != "a\n  b\n" {
		t.Errorf("got %q, want %q", got, "a\n  b\n")
	}
}

func TestIndent_wrapsToTheTerminal(t *testing.T) {
	var out strings.Builder
	Indent(&out, strings.Repeat("word ", 20))
	if want := "    " + strings.TrimSpace(strings.Repeat("word ", 15)) + "\n    word word word word word\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
