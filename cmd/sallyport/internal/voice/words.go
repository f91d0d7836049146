package voice

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// Count is a number of things in words: "1 tool", "2 tools".
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Span writes a time without the parts of it that are nothing: 5m, 1h30m.
func Span(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// width is what a terminal shows of a line: what is longer goes on at its left edge, where a stranger's words would look
// like the program's own.
const width = 80

// Indent writes a text in lines that fit a terminal, each a little to the right.
func Indent(w io.Writer, text string) {
	const margin = "    "
	fmt.Fprintln(w, strings.Join(Marked(margin, strings.Join(strings.Fields(Line(text)), " ")), "\n"))
}

// Fit is a text whose lines fit a terminal: what a line has too much goes on below, to the right.
func Fit(text string) string {
	const margin = "      "
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if first, rest := cut(line, width); rest != "" {
			lines[i] = first + "\n" + strings.Join(Marked(margin, rest), "\n")
		}
	}
	return strings.Join(lines, "\n")
}

// Marked are the lines of a text of one line, each of which begins with a mark and fits a terminal.
func Marked(mark, text string) (lines []string) {
	for {
		var line string
		line, text = cut(text, width-utf8.RuneCountInString(mark))
		if lines = append(lines, mark+line); text == "" {
			return lines
		}
	}
}

// cut divides a text at the last blank before it has more than so many columns, or there if it has no blank.
func cut(text string, columns int) (first, rest string) {
	used, blank := 0, 0
	for i, r := range text {
		if used += columnsOf(r); used > columns {
			if r == ' ' {
				return text[:i], text[i+1:]
			}
			if blank > 0 {
				return text[:blank], text[blank+1:]
			}
			return text[:i], text[i:]
		}
		if r == ' ' {
			blank = i
		}
	}
	return text, ""
}

// columnsOf is how wide a character may be: those of East Asia, and emoji, take two columns.
func columnsOf(r rune) int {
	const firstWide = 0x1100 // Hangul
	if r >= firstWide {
		return 2
	}
	return 1
}

// WriteJSON writes v as indented JSON, with addresses as they are.
func WriteJSON(w io.Writer, v any) error {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(JSON(out.Bytes()))
	return err
}

// Caller is a principal as a person reads it: a user of the system for one who starts the program, on standard input.
func Caller(principal string) string {
	if uid, local := strings.CutPrefix(principal, "stdio:"); local {
		return "callers on stdio (uid " + uid + ")"
	}
	return principal
}

// Until is how long something holds.
func Until(at time.Time) string {
	if at.IsZero() {
		return "always"
	}
	return "until " + at.Local().Format("2006-01-02 15:04")
}
