package sanitize

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestText_isLinear counts visited characters in texts designed for repeated visits.
func TestText_isLinear(t *testing.T) {
	for _, unit := range []string{
		"\x1b]", "\u009d", "\u0090", "\x1b]0;a", "\x1bP\x1bX\x1b^\x1b_", "\x1b[", "\x1b[0;", "\u009b1", "\u0098\u009e\u009f",
		"\u200d", "\u0628\u200c\u064b", "\u0628\u200c" + strings.Repeat("\u064b", 20), "\u200f\u05d0", "\u200f", "\u0600", "\u180e", "\u034f", "\ufe0f",
		"👩\u200d", "\u0915\u200d", "\u2800\u2028", "\xff", "\x1b]" + strings.Repeat("x", maxCommand-2), strings.Repeat("x", 3) + "\x1b]0\x1b",
	} {
		text := strings.Repeat(unit, 1<<20/len(unit))
		c := cleaner{s: strings.ToValidUTF8(text, "\uFFFD")}
		c.run()
		if most := 3 + maxAhead; c.steps > most*len(text) {
			t.Errorf("%+q: got %d steps for %d bytes, want at most %d a byte", unit, c.steps, len(text), most)
		}
	}
}

// TestJSON_isLinear does the same for objects with colliding cleaned names, and for depth.
func TestJSON_isLinear(t *testing.T) {
	var wide, alike strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&wide, `"k\u200b%d":0,`, i)
		fmt.Fprintf(&alike, `"k%s":0,`, strings.Repeat(`\u200b`, i%200))
	}
	deep := strings.Repeat(`{"a\u200b":1,"b":`, maxDepth-1) + strings.Repeat(`[{"\u200b":"\u202e"}]`, 1) + strings.Repeat("}", maxDepth-1)
	for name, text := range map[string]string{
		"wide":  "{" + wide.String() + `"end":1}`,
		"alike": "{" + alike.String() + `"k":1}`,
		"deep":  deep,
		"texts": `["` + strings.Repeat(`\u200b`, 200_000) + `"]`,
		"lists": "[" + strings.Repeat(`{"a\u200b":["\u200b"],"a":1},`, 20_000) + "0]",
	} {
		if !json.Valid([]byte(text)) {
			t.Fatalf("%s: got %.80s, want JSON", name, text)
		}
		w := walker{b: []byte(text)}
		w.value(0, nil, 0)
		got := w.edited()
		if w.steps > 4*len(text) || !json.Valid(got) {
			t.Errorf("%s: got %d steps for %d bytes, and %.80s; want at most 4 a byte, JSON", name, w.steps, len(text), got)
		}
		if again, n := JSON(got, nil); n != 0 {
			t.Errorf("%s: got %d removed when cleaned again, to %.80s; want 0", name, n, again)
		}
	}
}
