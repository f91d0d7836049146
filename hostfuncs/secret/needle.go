package secret

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
)

// notation is the encoding of a value's bytes.
type notation uint8

const (
	plain   notation = iota // verbatim
	inHex                   // two digits per byte
	base64s                 // four letters per three bytes
)

// needle is a value in one notation. The redactor searches for it, with any escapes around it.
type needle struct {
	as      notation
	text    string
	instead string
}

// needles returns the encodings under which a value is found: verbatim, hex, and base64 at each of the three possible
// alignments.
func needles(v Value) []needle {
	instead := v.Instead
	if instead == "" {
		instead = "[secret:" + v.Name + "]"
	}
	all := []needle{{plain, v.Text, instead}, {inHex, hex.EncodeToString([]byte(v.Text)), instead}}
	for phase := range 3 {
		padded := append(make([]byte, phase), v.Text...)
		letters := base64.RawStdEncoding.EncodeToString(padded)
		// Only the letters that depend on nothing but the value.
		all = append(all, needle{base64s, letters[(phase*8+5)/6 : len(padded)*8/6], instead})
	}
	return all
}

// starts reports whether the needle may begin with a byte that begins no escape.
func (n *needle) starts(b byte) bool {
	_, _, ok := n.step(0, 0, byteText(b))
	return ok || n.begins(b) || b == '+' && n.text[0] == ' '
}

// begins reports whether a decoded byte may be the first of the needle, or of its first character.
func (n *needle) begins(b byte) bool {
	switch n.as {
	case inHex:
		return lower(b) == n.text[0]
	case base64s:
		return standard(b) == n.text[0]
	}
	return b == n.text[0]
}

// step matches one character. at is the length of the needle matched so far, and next the length after it. gap counts
// separators between two letters. ok is false if the character does not match.
func (n *needle) step(at, gap int, meant string) (next, nextGap int, ok bool) {
	switch rest := n.text[at:]; {
	case n.as == plain:
		return at + len(meant), 0, strings.HasPrefix(rest, meant)
	case len(meant) != 1:
		return 0, 0, false
	case n.as == inHex && lower(meant[0]) == rest[0], n.as == base64s && standard(meant[0]) == rest[0]:
		return at + 1, 0, true
	case at == 0:
		return 0, 0, false
	case n.as == inHex: // de:ad be-ef
		return at, 1, gap == 0 && at%2 == 0 && strings.Contains(": -", meant)
	case meant == "\r":
		return at, 1, gap == 0
	}
	return at, 2, meant == "\n" && gap < 2 // a line break of MIME or PEM
}

func lower(b byte) byte {
	if b >= 'A' && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}

// standard maps a letter of the URL base64 alphabet to the standard one. A blank stands for a plus before form
// decoding.
func standard(b byte) byte {
	switch b {
	case '-', ' ':
		return '+'
	case '_':
		return '/'
	}
	return b
}

// place is the state of a search: the matched lengths of needle and gap, and the next index of the text.
type place struct{ found, gap, next int }

// maxPlaces bounds the alternative readings of one text at a time.
const maxPlaces = 64

// match searches for the needle at i. end is the end of the longest match, or 0. more reports that more text could
// produce a match, or a longer one.
func (n *needle) match(text []byte, i int) (end int, more bool) {
	for p := (place{next: i}); p.found < len(n.text); {
		if p.next == len(text) {
			return 0, true
		}
		b := text[p.next]
		if introduces(b) || b == '+' {
			return n.search(text, p)
		}
		found, gap, ok := n.step(p.found, p.gap, byteText(b))
		if !ok {
			return 0, false
		}
		if p = (place{found, gap, p.next + 1}); p.found == len(n.text) {
			end = p.next
		}
	}
	return end, false
}

// search continues match from a place with several readings.
func (n *needle) search(text []byte, from place) (end int, more bool) {
	c := chars{text: text}
	now := append(make([]place, 0, 8), from)
	for len(now) > 0 {
		var next []place
		for _, p := range now {
			if p.found == len(n.text) {
				end = max(end, p.next)
				continue
			}
			m := c.at(p.next)
			for _, one := range m.all[:m.n] {
				found, gap, ok := n.step(p.found, p.gap, one.text)
				if to := (place{found, gap, one.next}); ok && len(next) < maxPlaces && !slices.Contains(next, to) {
					next = append(next, to)
				}
			}
		}
		now = next
	}
	return end, c.cut
}
