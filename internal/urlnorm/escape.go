package urlnorm

import (
	"net/url"
	"strings"
)

// normalize unescapes unreserved characters, keeps the characters that plain allows, and escapes the rest. Existing
// escapes stay, in upper case. It is idempotent.
func normalize(s string, plain func(byte) bool) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]) {
			c = unhex(s[i+1])<<4 | unhex(s[i+2])
			i += 2
			if unreserved(c) {
				b.WriteByte(c)
			} else {
				writeEscape(&b, c)
			}
		} else if unreserved(c) || plain(c) {
			b.WriteByte(c)
		} else {
			writeEscape(&b, c)
		}
	}
	return b.String()
}

// Decode decodes every escape of a normalized text.
func Decode(s string) string {
	d, err := url.PathUnescape(s)
	if err != nil {
		return s // unreachable: normalize leaves no bad escape
	}
	return d
}

func writeEscape(b *strings.Builder, c byte) {
	const digits = "0123456789ABCDEF"
	b.Write([]byte{'%', digits[c>>4], digits[c&15]})
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func unhex(c byte) byte {
	switch {
	case c >= 'a':
		return c - 'a' + 10
	case c >= 'A':
		return c - 'A' + 10
	}
	return c - '0'
}

func unreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

func pathByte(c byte) bool { return strings.IndexByte("/!$&'()*+,;=:@", c) >= 0 }

// queryByte excludes the semicolon, which some servers treat as a separator like &.
func queryByte(c byte) bool { return strings.IndexByte("/?!$&'()*+,=:@", c) >= 0 }

// Path normalizes the escapes of a path, or of a part of one, once.
func Path(s string) string { return normalize(s, pathByte) }

// Query normalizes the escapes of a part of a query, once. A semicolon is escaped.
func Query(s string) string { return normalize(s, queryByte) }
