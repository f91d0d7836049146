package jsonraw

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// String decodes a JSON string. It returns false if raw is not a string. Unpaired surrogates become U+FFFD.
func String(raw []byte) (string, bool) {
	raw = trim(raw)
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	if end, p := scanString(raw, 0); p != fine || end != len(raw) {
		return "", false
	}
	return string(decoded(raw[1 : len(raw)-1])), true
}

// decoded decodes the escapes of valid text between quotes. Without escapes it returns text itself.
func decoded(text []byte) []byte {
	i := bytes.IndexByte(text, '\\')
	if i < 0 {
		return text
	}
	out := make([]byte, 0, len(text))
	for i >= 0 {
		out = append(out, text[:i]...)
		r, n := escape(text[i:])
		out = utf8.AppendRune(out, r)
		text = text[i+n:]
		i = bytes.IndexByte(text, '\\')
	}
	return append(out, text...)
}

// escape decodes the valid escape, or surrogate pair of escapes, at the start of b.
func escape(b []byte) (r rune, n int) {
	switch b[1] {
	case 'u':
		r, _ = hex4(b[2:])
		if !utf16.IsSurrogate(r) {
			return r, 6
		}
		if len(b) >= 12 && b[6] == '\\' && b[7] == 'u' {
			low, _ := hex4(b[8:])
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				return r, 12
			}
		}
		return utf8.RuneError, 6
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	}
	return rune(b[1]), 2
}

// textIs reports whether valid text between quotes decodes to s. It does not allocate.
func textIs(text []byte, s string) bool {
	if bytes.IndexByte(text, '\\') < 0 {
		return string(text) == s
	}
	for len(text) > 0 {
		if text[0] != '\\' {
			if s == "" || s[0] != text[0] {
				return false
			}
			text, s = text[1:], s[1:]
			continue
		}
		want, n := escape(text)
		got, size := utf8.DecodeRuneInString(s)
		if size == 0 || got != want || (got == utf8.RuneError && size == 1) {
			return false
		}
		text, s = text[n:], s[size:]
	}
	return s == ""
}

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string. Invalid UTF-8 becomes U+FFFD. Only mandatory characters are escaped, so
// HTML stays readable.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if c < ' ' || c == '"' || c == '\\' {
				dst = append(dst, s[start:i]...)
				dst = appendEscape(dst, c)
				start = i + 1
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			dst = append(dst, s[start:i]...)
			dst = append(dst, "\uFFFD"...)
			start = i + 1
		}
		i += n
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}
