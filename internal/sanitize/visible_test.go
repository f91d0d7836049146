package sanitize_test

import (
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/sanitize"
)

// Blank and invisible characters are always escaped.
func TestVisible_escapesBlankCharacters(t *testing.T) {
	for in, want := range map[string]string{
		"~/work/ünïcode 漢字 ❤\ufe0f": "~/work/ünïcode 漢字 ❤\ufe0f",
		"a\x1b[2J\nb":               `a\x1b[2J\nb`,
		"a\u00a0b\u3000c":           `a\u00a0b\u3000c`,
		"a\u3164b\uffa0c\u115fd":    `a\u3164b\uffa0c\u115fd`, // Hangul fillers are letters
		"a\u2800b":                  `a\u2800b`,               // an empty braille cell is a symbol
		"a\u034fb\u17b5c":           `a\u034fb\u17b5c`,        // marks without ink
		"a\ufe01b\U000e0101":        `a\ufe01b\U000e0101`,
		"\xff":                      `\xff`,
	} {
		if got := sanitize.Visible(in); got != want {
			t.Errorf("%+q: %+q, want %+q", in, got, want)
		}
	}
}
