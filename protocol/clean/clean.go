// Package clean takes out of text what a person does not see and a terminal or a model may obey: control
// characters, ANSI sequences, characters that turn the direction of writing, and invisible ones in which a
// message can hide.
//
//	text, removed := clean.Text("fine\x1b[2J\u202e")  // "fine", 5
//	raw, removed := clean.JSON(raw, nil)              // the same in every string of a JSON value
//
// Tabs and line ends stay. Joiners stay where writing needs them: between letters of scripts that join, and
// between the parts of an emoji; so does one variation selector after what it varies.
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
	s = strings.ToValidUTF8(s, "\uFFFD")
	var out strings.Builder
	out.Grow(len(s))
	before := rune(-1) // the last one that stays
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if seq := sequence(s[i:], r); seq > 0 {
			removed += utf8.RuneCountInString(s[i : i+seq])
			i += seq
			continue
		}
		next, _ := utf8.DecodeRuneInString(s[i+n:])
		if hidden(r) || joiner(r) && !joins(before, r, next) || selector(r) && !varies(before, r) {
			removed++
		} else {
			out.WriteString(s[i : i+n])
			before = r
		}
		i += n
	}
	if removed == 0 {
		return s, 0
	}
	return out.String(), removed
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

// escape begins a sequence that a terminal obeys; csi and osc are its one-character forms.
const (
	escape = 0x1b
	csi    = 0x9b
	osc    = 0x9d
	dcs    = 0x90
)

// sequence is how many bytes of s are one ANSI sequence, which begins with r.
func sequence(s string, r rune) int {
	switch r {
	case csi:
		return 2 + control(s[2:])
	case osc, dcs:
		return 2 + command(s[2:])
	case escape:
	default:
		return 0
	}
	if len(s) == 1 {
		return 1
	}
	switch s[1] {
	case '[':
		return 2 + control(s[2:])
	case ']', 'P', 'X', '^', '_':
		return 2 + command(s[2:])
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

// control is the length of what follows the beginning of a control sequence.
func control(s string) int {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 0x40 && c <= 0x7e:
			return i + 1
		case c < 0x20 || c > 0x3f:
			return i // it is none: what follows is text
		}
	}
	return len(s)
}

// maxCommand bounds a command to a terminal, a window title for example; one without an end is cut there.
const maxCommand = 4096

// command is the length of what follows the beginning of a command, with its end.
func command(s string) int {
	for i := 0; i < len(s) && i < maxCommand; i++ {
		switch {
		case s[i] == 0x07:
			return i + 1
		case s[i] == escape && i+1 < len(s) && s[i+1] == '\\':
			return i + 2
		case strings.HasPrefix(s[i:], "\u009c"):
			return i + 2
		case s[i] == '\n':
			return i
		}
	}
	return 0 // no end: the text stays
}

// hidden are the characters that always go.
func hidden(r rune) bool {
	switch {
	case r == '\n' || r == '\t' || r == '\r':
		return false
	case r < ' ' || r >= 0x7f && r <= 0x9f:
		return true
	case r >= 0xe0000 && r <= 0xe007f: // tags
		return true
	case r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069: // direction
		return true
	case r >= 0x2061 && r <= 0x2064 || r >= 0x206a && r <= 0x206f || r >= 0xfff9 && r <= 0xfffb:
		return true
	}
	switch r {
	case 0x200b, 0x2060, 0xfeff, 0x180e, 0x115f, 0x1160, 0x3164, 0xffa0:
		return true
	}
	return false
}

// joiner reports whether r is one of the two that join or keep from joining.
func joiner(r rune) bool { return r == 0x200c || r == 0x200d }

// joins reports whether a joiner has a role between two characters.
func joins(before, r, next rune) bool {
	if joining(before) && joining(next) {
		return true
	}
	return r == 0x200d && pictograph(before) && pictograph(next)
}

// joining reports whether r is of a script whose letters join.
func joining(r rune) bool {
	return r > 0 && unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Nko, unicode.Mongolian, unicode.Mandaic,
		unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil,
		unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar,
		unicode.Tibetan, unicode.Balinese, unicode.Javanese)
}

// pictograph reports whether r may be part of an emoji.
func pictograph(r rune) bool {
	return r == 0xfe0f || r >= 0x1f000 && r <= 0x1faff || r >= 0x2190 && r <= 0x2bff || r == 0x3030 || r == 0x303d
}

// selector reports whether r chooses between forms of the character before it.
func selector(r rune) bool { return r >= 0xfe00 && r <= 0xfe0f || r >= 0xe0100 && r <= 0xe01ef }

// varies reports whether a selector has something to vary: bytes hide in those that have not.
func varies(before, r rune) bool {
	if r >= 0xe0100 {
		return unicode.Is(unicode.Han, before)
	}
	return before > 0x20 && !selector(before) && !joiner(before) && !unicode.Is(unicode.Latin, before)
}
