package main

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding/charmap"
)

// decode is the text of a body: in the charset of a byte order mark, else the one that the server says, else the one that
// an HTML page says of itself, else UTF-8, or windows-1252 if it cannot be that.
func decode(body []byte, label string, isHTML bool) string {
	body = whole(body)
	contentType := "text/plain"
	if label != "" {
		contentType += "; charset=" + label
	}
	encoding, name, certain := charset.DetermineEncoding(body, contentType)
	if !certain && utf8.Valid(body) && !(isHTML && names(body)) {
		name = "utf-8"
	}
	if name == "utf-8" {
		return string(trimMark(body))
	}
	if !certain && !isHTML {
		encoding = charmap.Windows1252
	}
	text, err := encoding.NewDecoder().Bytes(body)
	if err != nil {
		return string(body)
	}
	return string(text)
}

// names tells whether a page names its charset. The library says so of every charset but its own fallback; a head that is
// UTF-8 for sure has no fallback.
func names(body []byte) bool {
	head := []byte(strings.Map(func(r rune) rune {
		if r >= utf8.RuneSelf {
			return 'x'
		}
		return r
	}, string(body[:min(len(body), 1000)])))
	_, name, _ := charset.DetermineEncoding(append(head, "é."...), "text/html")
	return name != "utf-8"
}

// whole is a body without a character at its end that was cut.
func whole(body []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(body); i++ {
		tail := body[len(body)-i:]
		if utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) && utf8.Valid(body[:len(body)-i]) {
				return body[:len(body)-i]
			}
			break
		}
	}
	return body
}

// trimMark takes a byte order mark off, which is no text.
func trimMark(body []byte) []byte {
	if len(body) >= 3 && string(body[:3]) == "\xef\xbb\xbf" {
		return body[3:]
	}
	return body
}
