package canonical

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Marks of a skeleton: no text holds a control character.
const (
	anything = '\x00' // any text, or none
	atMost1  = '\x02' // one character, or none
)

// Skeleton is one spelling for all those that a server may take for the same text: without case, accents and width, with
// the digits and letters that code pages write for others. A character of which servers make different things, or
// nothing, is a mark for what it may be: see Unclear. Meets compares skeletons.
func Skeleton(text string) string { return skeleton(text, "") }

// wildcards are those of Windows. PHP finds a file by them.
const wildcards = `*?<>"`

// skeleton is Skeleton with characters that stand for any text.
func skeleton(text, wild string) string {
	var b strings.Builder
	for _, r := range norm.NFKD.String(marked(text)) {
		if r >= utf8.RuneSelf || !strings.ContainsRune(wild, r) {
			writeBone(&b, r)
		} else {
			b.WriteRune(anything)
		}
	}
	return b.String()
}

// marked is a text with marks for unclear characters, and for bytes that are none: what follows one may be a part of it.
func marked(text string) string {
	var b strings.Builder
	for text != "" {
		r, size := utf8.DecodeRuneInString(text)
		text = text[size:]
		switch {
		case r == utf8.RuneError && size == 1:
			_, size = utf8.DecodeRuneInString(text)
			text = text[size:]
			b.WriteString(strings.Repeat(string(rune(atMost1)), 3))
		case unclear(r) || r == '%': // one that decodes nothing
			b.WriteRune(atMost1)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func writeBone(b *strings.Builder, r rune) {
	switch {
	case r < utf8.RuneSelf:
		b.WriteRune(unicode.ToLower(r))
	case unicode.IsMark(r) && unicode.Is(unicode.Inherited, r): // an accent
	case unicode.Is(unicode.Nd, r):
		b.WriteRune(digit(r))
	case r > 0xffff && unicode.IsSymbol(r): // an emoji, which databases leave out
	case unicode.IsPunct(r) || unicode.IsSymbol(r) || unicode.Is(unicode.Lm, r):
		b.WriteRune(atMost1)
	default:
		writeLetter(b, fold(r))
	}
}

// writeLetter writes a letter that is not of ASCII. A code page has another for it that may be two, such as ss.
func writeLetter(b *strings.Builder, r rune) {
	const greek, latin = "αγδεθπστφω", "agdetpstfo"
	switch i := strings.IndexRune(greek, r); {
	case i >= 0:
		b.WriteByte(latin[i/2])
	case r >= utf8.RuneSelf && unicode.Is(unicode.Latin, r):
		b.WriteString(string([]rune{atMost1, atMost1}))
	default:
		b.WriteRune(r)
	}
}

// fold is one letter for all that some language takes for the same but for case.
func fold(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return unicode.ToLower(unicode.ToUpper(least)) // ı is the small I of Turkish
}

// digit is the ASCII digit of the same value. Digits of a script stand together, from zero.
func digit(r rune) rune {
	for _, block := range unicode.Nd.R16 {
		if rune(block.Lo) <= r && r <= rune(block.Hi) {
			return '0' + (r-rune(block.Lo))%10
		}
	}
	for _, block := range unicode.Nd.R32 {
		if rune(block.Lo) <= r && r <= rune(block.Hi) {
			return '0' + (r-rune(block.Lo))%10
		}
	}
	return r
}

// unclear reports whether a character is one of which servers make different things, or nothing: a control character, one
// that nobody sees, a blank that is none of ASCII, one without a meaning, and a byte that is no character.
func unclear(r rune) bool {
	switch {
	case r < utf8.RuneSelf:
		return r < ' ' || r == 0x7f
	case r == utf8.RuneError || r == 0xfffc || r == 0x2800, unicode.IsSpace(r):
		return true
	}
	return unicode.In(r, unicode.C, unicode.Z, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) ||
		!unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S)
}

// Unclear names the first character of an escaped text, in any of its decodings, of which servers make different things or
// nothing, such as U+200B. It is empty if there is none.
func Unclear(escaped string) string {
	for _, text := range decodings(escaped) {
		for i, r := range text {
			if r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD") {
				return fmt.Sprintf("byte 0x%02X", text[i])
			}
			if unclear(r) {
				return fmt.Sprintf("U+%04X", r)
			}
		}
	}
	return ""
}

// Any joins skeletons with any text between each two.
func Any(pieces ...string) string { return strings.Join(pieces, string(rune(anything))) }

// Meets reports whether two skeletons may be the same text.
func Meets(a, b string) bool {
	if !strings.ContainsAny(a, marks) && !strings.ContainsAny(b, marks) {
		return a == b
	}
	pattern := []rune(a)
	at := make([]bool, len(pattern)+1) // at[i]: what was read so far may be pattern[:i]
	at[0] = true
	through(pattern, at)
	for _, c := range b {
		next := step(pattern, at, c)
		through(pattern, next)
		if at = next; !slices.Contains(at, true) {
			return false
		}
	}
	return at[len(pattern)]
}

const marks = string(rune(anything)) + string(rune(atMost1))

// step reads one character or mark.
func step(pattern []rune, at []bool, c rune) []bool {
	next := make([]bool, len(at))
	for i, here := range at {
		if !here {
			continue
		}
		if c == anything {
			for j := i; j < len(next); j++ {
				next[j] = true
			}
			return next
		}
		next[i] = next[i] || c == atMost1
		if i < len(pattern) {
			next[i] = next[i] || pattern[i] == anything
			next[i+1] = next[i+1] || c == atMost1 || pattern[i] == atMost1 || pattern[i] == c
		}
	}
	return next
}

// through passes the marks that may be nothing.
func through(pattern []rune, at []bool) {
	for i, c := range pattern {
		at[i+1] = at[i+1] || at[i] && (c == anything || c == atMost1)
	}
}
