package main

import (
	"unicode/utf8"

	"golang.org/x/net/html/charset"
)

// decode is the text of a body: in the charset that the server says, else the one that the page says,
// else UTF-8, or windows-1252 if it cannot be that.
func decode(body []byte, label string, isHTML bool) string {
	if label == "" && !isHTML && utf8.Valid(body) {
		return string(body)
	}
	contentType := "text/plain"
	if label != "" {
		contentType += "; charset=" + label
	}
	encoding, name, _ := charset.DetermineEncoding(body, contentType)
	if name == "utf-8" {
		return string(body)
	}
	text, err := encoding.NewDecoder().Bytes(body)
	if err != nil {
		return string(body)
	}
	return string(text)
}
