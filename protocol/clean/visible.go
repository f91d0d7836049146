package clean

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible is text on one line, in which what cannot be seen is written as an escape: for logs, terminals and
// errors that repeat what others wrote.
func Visible(s string) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, unseen) {
		return s
	}
	var out strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if unseen(r) || r == utf8.RuneError && n == 1 {
			quoted := strconv.QuoteToASCII(s[:n])
			out.WriteString(quoted[1 : len(quoted)-1])
		} else {
			out.WriteString(s[:n])
		}
		s = s[n:]
	}
	return out.String()
}

// unseen are the characters that are no letters, signs or plain spaces, and those which count as such and leave a blank
// or nothing: fillers, an empty braille cell, and selectors but the one that makes an emoji of a sign.
func unseen(r rune) bool {
	return !unicode.IsPrint(r) || hidden(r) && r != 0xfe0f
}

// Cut shortens text to n bytes, at a character, and marks that it did.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
