package ui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
)

// Count formats a number with its noun: "1 tool", "2 tools".
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Span formats a duration without zero parts: 5m, 1h30m.
func Span(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

const (
	maxWidth = 80 // columns of a line, also in a file
	minWidth = 24 // no narrower terminal can be read
)

// width returns the columns of a line: those of the controlling terminal, if it is narrow. A longer line would wrap to the
// left edge, where plugin text could be taken for the program's own.
var width = sync.OnceValue(func() int {
	t, err := OpenTerminal()
	if err != nil {
		return maxWidth
	}
	defer t.Close()
	columns, _, err := term.GetSize(int(t.out.Fd()))
	if err != nil || columns <= 0 {
		return maxWidth
	}
	return min(max(columns, minWidth), maxWidth)
})

// Indent writes a text as indented lines that fit a terminal.
func Indent(w io.Writer, text string) {
	const margin = "    "
	fmt.Fprintln(w, strings.Join(Marked(margin, strings.Join(strings.Fields(Line(text)), " ")), "\n"))
}

// Fit wraps the lines of a text to the width of a terminal, with continuation lines indented.
func Fit(text string) string {
	const margin = "      "
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if first, rest := cut(line, width()); rest != "" {
			lines[i] = first + "\n" + strings.Join(Marked(margin, rest), "\n")
		}
	}
	return strings.Join(lines, "\n")
}

// Marked wraps a one-line text to the width of a terminal and puts a mark in front of each line.
func Marked(mark, text string) (lines []string) {
	for {
		var line string
		line, text = cut(text, width()-utf8.RuneCountInString(mark))
		if lines = append(lines, mark+line); text == "" {
			return lines
		}
	}
}

// cut splits a text at the last blank within so many columns, or at that column if there is no blank.
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

// columnsOf returns an upper bound of a character's width: two columns from Hangul on, which includes East Asian
// characters and emoji, else one.
func columnsOf(r rune) int {
	const firstWide = 0x1100 // the first code point of Hangul
	if r >= firstWide {
		return 2
	}
	return 1
}

// WriteJSON writes v as indented JSON without HTML escapes, so that URLs stay readable.
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

// Caller formats a principal for a person: "stdio:UID" becomes the user of the system that started the program.
func Caller(principal string) string {
	if uid, local := strings.CutPrefix(principal, "stdio:"); local {
		return "callers on stdio (uid " + uid + ")"
	}
	return principal
}

// Until formats an expiry time; the zero time is "always".
func Until(at time.Time) string {
	if at.IsZero() {
		return "always"
	}
	return "until " + at.Local().Format("2006-01-02 15:04")
}
