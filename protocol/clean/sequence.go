package clean

import "strings"

// escape begins a sequence that a terminal obeys; the others are its one-character forms.
const (
	escape = 0x1b
	csi    = 0x9b
	osc    = 0x9d
	dcs    = 0x90
	sos    = 0x98
	pm     = 0x9e
	apc    = 0x9f
)

// sequence is how many bytes of the text at i are one ANSI sequence, which begins with r.
func (c *cleaner) sequence(i int, r rune) int {
	s := c.s[i:]
	switch r {
	case csi:
		return 2 + c.control(s[2:])
	case osc, dcs, sos, pm, apc:
		return 2 + c.command(i+2)
	case escape:
	default:
		return 0
	}
	if len(s) == 1 {
		return 1
	}
	switch s[1] {
	case '[':
		return 2 + c.control(s[2:])
	case ']', 'P', 'X', '^', '_':
		return 2 + c.command(i+2)
	case '(', ')', '*', '+', '#', '%', ' ':
		if len(s) > 2 && s[2] >= ' ' && s[2] <= '~' {
			return 3
		}
		return 2 // what follows is text
	}
	if s[1] >= '0' && s[1] <= '~' {
		return 2
	}
	return 1
}

// control is the length of what follows the beginning of a control sequence. All of it goes, so that nothing is looked at
// twice.
func (c *cleaner) control(s string) int {
	for i := range len(s) {
		c.steps++
		switch b := s[i]; {
		case b >= 0x40 && b <= 0x7e:
			return i + 1
		case b < 0x20 || b > 0x3f:
			return i // it is none: what follows is text
		}
	}
	return len(s)
}

// maxCommand bounds a command to a terminal, a window title for example: the text behind one whose end is farther stays.
const maxCommand = 4096

// command is the length of the command at i, with its end. The place of an end is kept, since the next command may have
// the same: the text is searched once.
func (c *cleaner) command(i int) int {
	if c.end < i {
		c.end = i + c.ending(c.s[i:])
	}
	if c.end-i >= maxCommand || c.end == len(c.s) {
		return 0 // no end: the text stays
	}
	switch end := c.s[c.end:]; {
	case end[0] == 0x07:
		return c.end + 1 - i
	case end[0] == '\n':
		return c.end - i
	}
	return c.end + 2 - i // ESC \ and U+009C
}

// ending is where the first end of a command stands in s, and its length if there is none.
func (c *cleaner) ending(s string) int {
	for i := 0; i < len(s); i++ {
		c.steps++
		if s[i] == 0x07 || s[i] == '\n' || strings.HasPrefix(s[i:], "\x1b\\") || strings.HasPrefix(s[i:], "\u009c") {
			return i
		}
	}
	return len(s)
}
