package main

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding/charmap"
)

// decode returns the text of a body. Its charset is that of a byte order mark, else of the server's label, else of a
// declaration in an HTML page, else UTF-8, or windows-1252 if it is not valid UTF-8.
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

// names reports whether a page declares a charset other than UTF-8. The head is made valid UTF-8, for which the library
// returns that charset unless the page declares a different one.
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

// whole returns a body without a truncated character at its end.
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

// trimMark removes a byte order mark.
func trimMark(body []byte) []byte {
	if len(body) >= 3 && string(body[:3]) == "\xef\xbb\xbf" {
		return body[3:]
	}
	return body
}
