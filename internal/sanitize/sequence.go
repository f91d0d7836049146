package sanitize

import "strings"

// escape introduces a terminal sequence; the others are its one-character (C1) forms.
const (
	escape = 0x1b
	csi    = 0x9b
	osc    = 0x9d
	dcs    = 0x90
	sos    = 0x98
	pm     = 0x9e
	apc    = 0x9f
)

// sequence returns the length in bytes of the ANSI sequence at i, which begins with r.
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
		return 2 // the rest is text
	}
	if s[1] >= '0' && s[1] <= '~' {
		return 2
	}
	return 1
}

// control returns the length of the body of a control sequence. Incomplete sequences are removed too, so no
// character is visited twice.
func (c *cleaner) control(s string) int {
	for i := range len(s) {
		c.steps++
		switch b := s[i]; {
		case b >= 0x40 && b <= 0x7e:
			return i + 1
		case b < 0x20 || b > 0x3f:
			return i // invalid, the rest is text
		}
	}
	return len(s)
}

// maxCommand is the maximum length of a terminal command such as a window title. The text of a longer or
// unterminated command is kept.
const maxCommand = 4096

// command returns the length of the command at i with its terminator. The position of the terminator is cached, so
// the text is searched only once.
func (c *cleaner) command(i int) int {
	if c.end < i {
		c.end = i + c.ending(c.s[i:])
	}
	if c.end-i >= maxCommand || c.end == len(c.s) {
		return 0 // unterminated, keep the text
	}
	switch end := c.s[c.end:]; {
	case end[0] == 0x07:
		return c.end + 1 - i
	case end[0] == '\n':
		return c.end - i
	}
	return c.end + 2 - i // ESC \ and U+009C
}

// ending returns the position of the first terminator in s, or len(s).
func (c *cleaner) ending(s string) int {
	for i := 0; i < len(s); i++ {
		c.steps++
		if s[i] == 0x07 || s[i] == '\n' || strings.HasPrefix(s[i:], "\x1b\\") || strings.HasPrefix(s[i:], "\u009c") {
			return i
		}
	}
	return len(s)
}
