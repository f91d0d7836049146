package urlnorm

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Marks in a skeleton. They are control characters, which no skeleton contains as text.
const (
	anything = '\x00' // any text, possibly empty
	atMost1  = '\x02' // at most one character
)

// Skeleton returns one spelling for all texts that a server may treat as equal: without case, accents and width, with
// the digits and letters that code pages substitute. A character that servers treat differently or drop becomes a
// mark: see Unclear. Meets compares skeletons.
func Skeleton(text string) string { return skeleton(text, "") }

// wildcards are the Windows wildcards. PHP expands them when it opens a file.
const wildcards = `*?<>"`

// skeleton is Skeleton where the characters of wild stand for any text.
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

// marked returns a text with marks for unclear characters and invalid bytes. An invalid byte may absorb the
// characters after it.
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
		case unclear(r) || r == '%': // a % that begins no escape, and may be dropped
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
	case r > 0xffff && unicode.IsSymbol(r): // an emoji, which databases drop
	case unicode.IsPunct(r) || unicode.IsSymbol(r) || unicode.Is(unicode.Lm, r):
		b.WriteRune(atMost1)
	default:
		writeLetter(b, fold(r))
	}
}

// writeLetter writes a non-ASCII letter. A code page may substitute up to two letters for it, such as ss.
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

// fold returns one letter for all letters that are equal in some language when case is ignored.
func fold(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return unicode.ToLower(unicode.ToUpper(least)) // ı is the lower-case I of Turkish
}

// digit returns the ASCII digit of the same value. The digits of a script are contiguous, from zero.
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

// unclear reports whether servers treat a character differently or drop it: a control character, an invisible one, a
// non-ASCII blank, an unassigned one, or an invalid byte.
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

// Unclear names the first character of an escaped text, in any of its decodings, that servers treat differently or
// drop, such as U+200B. It is empty if there is none.
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

// Any joins skeletons with a mark for any text between them.
func Any(pieces ...string) string { return strings.Join(pieces, string(rune(anything))) }

// Meets reports whether two skeletons may be the same text.
func Meets(a, b string) bool {
	if !strings.ContainsAny(a, marks) && !strings.ContainsAny(b, marks) {
		return a == b
	}
	pattern := []rune(a)
	at := make([]bool, len(pattern)+1) // at[i]: the text so far may match pattern[:i]
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

// step consumes one character or mark.
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

// through skips the marks that may be empty.
func through(pattern []rune, at []bool) {
	for i, c := range pattern {
		at[i+1] = at[i+1] || at[i] && (c == anything || c == atMost1)
	}
}
