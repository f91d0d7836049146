package main

import (
	"bytes"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sallyport-mcp/sallyport/protocol/clean"
)

// What plugins, files and clients say ends up on a terminal and in the log. There nothing of it may
// move the cursor, turn the direction of writing or begin a line that looks like the program's own.

// printable is text on one line, in which what cannot be seen is written as an escape.
func printable(s string) string { return clean.Visible(s) }

// hidden are the characters that are no letters, signs or plain spaces.
func hidden(r rune) bool { return !unicode.IsPrint(r) }

// printableLines is printable for text of several lines: those after the first stand two spaces in.
func printableLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = printable(line)
	}
	return strings.Join(lines, "\n  ")
}

// printableJSON is the same JSON with the hidden characters of its strings as escapes. Line ends and
// tabs between values stay.
func printableJSON(raw []byte) []byte {
	odd := func(r rune) bool { return hidden(r) && r != '\n' && r != '\t' && r != '\r' }
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

// counted is a number of things in words: "1 tool", "2 tools".
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// spanText writes a time without the parts of it that are nothing: 5m, 1h30m.
func spanText(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}
