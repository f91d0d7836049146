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

// width is what a terminal shows of a line.
const width = 80

// Indent writes a text in lines that fit a terminal, each a little to the right.
func Indent(w io.Writer, text string) {
	const margin = "    "
	line := ""
	for _, word := range strings.Fields(Line(text)) {
		if line != "" && utf8.RuneCountInString(margin+line+" "+word) > width {
			fmt.Fprintln(w, margin+line)
			line = ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	fmt.Fprintln(w, margin+line)
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
