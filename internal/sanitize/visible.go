package sanitize

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible returns text on one line with invisible characters escaped, for logs, terminals and errors that quote
// foreign text.
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

// unseen reports whether r needs an escape: non-printable characters, and printable ones without ink such as
// fillers, the empty braille cell, and variation selectors except U+FE0F.
func unseen(r rune) bool {
	return !unicode.IsPrint(r) || hidden(r) && r != 0xfe0f
}

// Cut shortens text to at most n bytes at a character boundary and appends "…".
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
