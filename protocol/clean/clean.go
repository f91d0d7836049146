// Package clean takes out of text what a person does not see and a terminal or a model may obey: control
// characters, ANSI sequences, characters that turn the direction of writing, and invisible ones in which a
// message can hide.
//
//	text, removed := clean.Text("fine\x1b[2J\u202e")  // "fine", 5
//	raw, removed := clean.JSON(raw, nil)              // the same in every string of a JSON value
//
// What goes is every character that Unicode calls a format character (Cf) or default ignorable, and every control
// character but tabs and line ends. What stays of them stays for its neighbours: joiners where writing needs them, one
// mark of direction where the direction turns, and a variation selector after what it varies by the standard.
// Blanks that are no spaces become spaces and line ends.
//
// The work is in proportion to the text, whatever it holds.
package clean

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns s without what nobody sees, and how many characters that were.
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

// suspect reports whether s may hold anything that goes: most texts are seen to be clean here.
func suspect[T string | []byte](s T) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= 0x7f || c < ' ' && c != '\n' && c != '\t' && c != '\r' {
			return true
		}
	}
	return false
}

// cleaner goes through one text.
type cleaner struct {
	s       string
	out     strings.Builder
	before  rune // the last character that stays, 0 before the first
	letter  rune // the last letter that stays
	turned  bool // a mark of direction stays behind it
	base    rune // the last one that stays and is no mark on another
	removed int
	end     int // where the first end of a command stands, at or behind the place that was asked for last; see command
	steps   int // characters looked at, for the test that counts them
}

func (c *cleaner) run() {
	c.out.Grow(len(c.s))
	copied := 0
	for i := 0; i < len(c.s); c.steps++ {
		r, n := utf8.DecodeRuneInString(c.s[i:])
		if r >= ' ' && r < 0x7f && !c.turned { // most of most texts
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

// plain are characters of which none goes.
func plain(r rune) bool {
	return r >= ' ' && r < 0x7f || r >= 0x3400 && r < 0xd800
}

// keep notes a character that stays.
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

// maxAhead is how many characters are looked at to find the neighbour of one.
const maxAhead = 8

// next is the first character from i on that has a place of its own: no mark and nothing that goes. It is 0 if it
// is far.
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
		if unicode.IsControl(r) { // it may begin a sequence, with which characters go
			return 0
		}
		if plain(r) || !mark(r) && !hidden(r) {
			return r
		}
		i += n
	}
	return 0
}
