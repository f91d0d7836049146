package ui

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sallyport-mcp/sallyport/internal/sanitize"
)

// Line returns text as one line, with invisible characters escaped.
func Line(s string) string { return sanitize.Visible(s) }

// Lines is Line for text of several lines, with those after the first indented by two spaces.
func Lines(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = Line(line)
	}
	return strings.Join(lines, "\n  ")
}

// JSON returns the same JSON with the invisible characters of its strings escaped. Line ends and tabs between values
// stay.
func JSON(raw []byte) []byte {
	odd := func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' && r != '\t' && r != '\r' }
	if !bytes.ContainsFunc(raw, odd) {
		return raw
	}
	out := make([]byte, 0, len(raw)+64)
	for _, r := range string(raw) {
		switch {
		case !odd(r):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			r -= 0x10000
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}
