package sanitize

import (
	"slices"
	"unicode"
	"unicode/utf8"
)

// hidden reports whether r is removed unless stays allows it: control and format characters, and default ignorable
// code points, including unassigned ones.
func hidden(r rune) bool {
	switch {
	case r == '\n' || r == '\t' || r == '\r':
		return false
	case r < 0xa0:
		return r < ' ' || r >= 0x7f
	case r < 0x300:
		return r == 0xad
	case plain(r):
		return false
	case r >= 0xe0000 && r <= 0xe0fff || r >= 0xfff0 && r <= 0xfff8:
		return true
	}
	return r == 0x2065 || blank(r) != 0 || selector(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
}

// blank returns the common replacement for an unusual blank, or 0 for other characters.
func blank(r rune) byte {
	switch r {
	case 0x2028, 0x2029:
		return '\n'
	case 0x2800: // empty braille cell
		return ' '
	}
	return 0
}

// mark reports whether r is a combining mark.
func mark(r rune) bool { return r >= 0x300 && !plain(r) && unicode.In(r, unicode.Mn, unicode.Me) }

// stays reports whether a hidden character r has a role between its neighbours. The text continues at i.
func (c *cleaner) stays(r rune, i int) bool {
	switch {
	case !hidden(r):
		return true
	case selector(r):
		return varies(c.before, r)
	case r == zwj && pictograph(c.before):
		return pictograph(c.next(i))
	case r == zwj || r == zwnj:
		return c.joins(r, i)
	case direction(r):
		return c.turns(i)
	case r == 0x034f: // combining grapheme joiner, orders Hebrew marks
		return mark(c.before) && c.before != r && unicode.Is(unicode.Hebrew, c.before)
	case r == 0x180e: // Mongolian vowel separator, before a and e
		return unicode.Is(unicode.Mongolian, c.before) && (c.next(i) == 0x1820 || c.next(i) == 0x1821)
	case unicode.Is(unicode.Prepended_Concatenation_Mark, r): // covers the following number or word
		next := c.next(i)
		return unicode.IsDigit(next) || unicode.IsLetter(next) && rightToLeft(next)
	}
	return false
}

// Joiners, non-joiners and direction marks.
const (
	zwnj = 0x200c
	zwj  = 0x200d
	lrm  = 0x200e
	rlm  = 0x200f
	alm  = 0x061c
)

// joins reports whether a joiner has a role before the text at i. By RFC 5892 it follows a virama, or it separates
// letters that would join. It may also precede a virama, as in Bengali and Kannada.
func (c *cleaner) joins(r rune, i int) bool {
	if in(viramas[:], c.before) {
		return true
	}
	next := c.next(i)
	if r == zwj {
		return unicode.IsLetter(c.before) && c.viramaAt(i)
	}
	return in(joinNext[:], c.base) && in(joinBefore[:], next)
}

// viramaAt reports whether a virama follows.
func (c *cleaner) viramaAt(i int) bool {
	for _, r := range c.s[i:] {
		return in(viramas[:], r)
	}
	return false
}

// direction reports whether r is a direction mark.
func direction(r rune) bool { return r == lrm || r == rlm || r == alm }

// turns reports whether a direction mark is the first between letters of different directions.
func (c *cleaner) turns(i int) bool {
	next, ok := c.nextLetter(i)
	return ok && !c.turned && rightToLeft(c.letter) != rightToLeft(next)
}

// nextLetter returns the first letter from i on, or 0 if there is none. It returns false if the search was cut off.
func (c *cleaner) nextLetter(i int) (rune, bool) {
	for range maxAhead {
		if i >= len(c.s) {
			return 0, true
		}
		c.steps++
		r, n := utf8.DecodeRuneInString(c.s[i:])
		if unicode.IsLetter(r) && !hidden(r) {
			return r, true
		}
		if unicode.IsControl(r) && hidden(r) {
			return 0, false
		}
		i += n
	}
	return 0, false
}

// rightToLeft reports whether r is in a right-to-left block.
func rightToLeft(r rune) bool {
	return r >= 0x0590 && r <= 0x08ff || r >= 0xfb1d && r <= 0xfdff || r >= 0xfe70 && r <= 0xfefc ||
		r >= 0x10800 && r <= 0x10fff || r >= 0x1e800 && r <= 0x1efff
}

// pictograph reports whether r may be part of an emoji.
func pictograph(r rune) bool {
	return r == 0xfe0f || r >= 0x1f000 && r <= 0x1faff || r >= 0x2190 && r <= 0x2bff || r == 0x3030 || r == 0x303d
}

// selector reports whether r is a variation selector.
func selector(r rune) bool {
	return r >= 0xfe00 && r <= 0xfe0f || r >= 0x180b && r <= 0x180f && r != 0x180e || r >= 0xe0100 && r <= 0xe01ef
}

// varies reports whether a selector forms a standardized variation with the character before it. Ideographic
// variations are excluded: 240 selectors could hide a byte after each ideograph.
func varies(before, r rune) bool {
	var bit int
	switch {
	case r >= 0xe0100:
		return false
	case r >= 0xfe00:
		bit = int(r - 0xfe00)
	default:
		bit = 16 + int(r-0x180b)
	}
	i, found := slices.BinarySearchFunc(variants[:], uint32(before), func(v [2]uint32, r uint32) int { return int(v[0]) - int(r) })
	return found && variants[i][1]&(1<<bit) != 0
}

// in reports whether r is in a sorted list of ranges.
func in(ranges [][2]rune, r rune) bool {
	_, found := slices.BinarySearchFunc(ranges, r, func(x [2]rune, r rune) int {
		switch {
		case x[1] < r:
			return -1
		case x[0] > r:
			return 1
		}
		return 0
	})
	return found
}
