// Package sanitize removes invisible characters from text that a terminal or a model might interpret: control
// characters, ANSI sequences, bidirectional controls, and characters that can hide a message.
//
//	text, removed := sanitize.Text("fine\x1b[2J\u202e")  // "fine", 5
//	raw, removed := sanitize.JSON(raw, nil)              // the same in every string of a JSON value
//
// It removes every character that Unicode classifies as format (Cf) or default ignorable, and every control
// character except tabs and line ends. Exceptions depend on context: joiners where the script needs them, one
// direction mark where the direction changes, and a variation selector of a standardized variation. Unusual blanks
// become spaces and line ends.
//
// Running time is linear in the text.
package sanitize

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns s without invisible characters, and the number of removed characters.
func Text(s string) (text string, removed int) {
	if !suspect(s) {
		return s, 0
	}
	c := cleaner{s: strings.ToValidUTF8(s, "\uFFFD")}
	c.run()
	if c.removed == 0 {
		return s, 0
	}
	return c.out.String(), c.removed
}

// suspect reports whether s may need cleaning. Most texts take this fast path.
func suspect[T string | []byte](s T) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= 0x7f || c < ' ' && c != '\n' && c != '\t' && c != '\r' {
			return true
		}
	}
	return false
}

// cleaner cleans one text.
type cleaner struct {
	s       string
	out     strings.Builder
	before  rune // last kept character, 0 before the first
	letter  rune // last kept letter
	turned  bool // a kept direction mark precedes
	base    rune // last kept character that is no combining mark
	removed int
	end     int // position of the first command end at or after the last search, see command
	steps   int // visited characters, counted for a test
}

func (c *cleaner) run() {
	c.out.Grow(len(c.s))
	copied := 0
	for i := 0; i < len(c.s); c.steps++ {
		r, n := utf8.DecodeRuneInString(c.s[i:])
		if r >= ' ' && r < 0x7f && !c.turned { // fast path
			c.before, c.base = r, r
			if r >= 'A' {
				c.letter = r
			}
			i += n
			continue
		}
		if seq := c.sequence(i, r); seq > 0 {
			n = seq
		} else if plain(r) || c.stays(r, i+n) {
			c.keep(r)
			i += n
			continue
		}
		c.out.WriteString(c.s[copied:i])
		c.removed += utf8.RuneCountInString(c.s[i : i+n])
		if b := blank(r); b != 0 {
			c.out.WriteByte(b)
			c.before, c.base = rune(b), rune(b)
		}
		i += n
		copied = i
	}
	c.out.WriteString(c.s[copied:])
}

// plain reports whether r is never removed.
func plain(r rune) bool {
	return r >= ' ' && r < 0x7f || r >= 0x3400 && r < 0xd800
}

// keep records a kept character.
func (c *cleaner) keep(r rune) {
	c.before = r
	if !mark(r) {
		c.base = r
	}
	switch {
	case unicode.IsLetter(r):
		c.letter, c.turned = r, false
	case direction(r):
		c.turned = true
	}
}

// maxAhead is the maximum lookahead for a neighbour, in characters.
const maxAhead = 8

// next returns the first kept base character from i on, or 0 if it is not within maxAhead.
func (c *cleaner) next(i int) rune {
	for range maxAhead {
		if i >= len(c.s) {
			return 0
		}
		c.steps++
		r, n := utf8.DecodeRuneInString(c.s[i:])
		if b := blank(r); b != 0 {
			return rune(b)
		}
		if unicode.IsControl(r) { // it may begin a sequence that removes following characters
			return 0
		}
		if plain(r) || !mark(r) && !hidden(r) {
			return r
		}
		i += n
	}
	return 0
}
