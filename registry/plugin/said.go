package plugin

import (
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/sanitize"
)

// maxSaid limits a line of a guest in an error, in bytes.
const maxSaid = 400

// lastLine returns the last line that a guest wrote to standard error before its stack trace, without invisible
// characters. It is "" if only the end of a trace was kept.
func lastLine(stderr []byte) string {
	text, _, _ := strings.Cut("\n"+strings.ToValidUTF8(string(stderr), "\uFFFD"), "\ngoroutine ")
	if strings.Contains(text, "\n\t") && strings.Contains(text, ".go:") {
		return ""
	}
	text, _ = sanitize.Text(strings.TrimSpace(text))
	line := text[strings.LastIndexByte(text, '\n')+1:]
	if len(line) > maxSaid {
		line = strings.ToValidUTF8(line[:maxSaid], "") + "…"
	}
	return line
}
