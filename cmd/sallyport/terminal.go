package main

import (
	"io"
	"time"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/voice"
)

func hint(err error, format string, args ...any) error { return voice.Hint(err, format, args...) }
func printable(s string) string                        { return voice.Line(s) }
func printableLines(s string) string                   { return voice.Lines(s) }
func printableJSON(raw []byte) []byte                  { return voice.JSON(raw) }
func printJSON(w io.Writer, v any) error               { return voice.WriteJSON(w, v) }
func indented(w io.Writer, text string)                { voice.Indent(w, text) }
func counted(n int, thing string) string               { return voice.Count(n, thing) }
func count(n int, thing string) string                 { return voice.Count(n, thing) }
func spanText(d time.Duration) string                  { return voice.Span(d) }
