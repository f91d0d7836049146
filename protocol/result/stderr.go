package result

import (
	"errors"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/sanitize"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
)

const (
	// maxWords is the maximum size of a guest's standard error in a failure, in bytes. The log has all of it.
	maxWords = 1 << 10
	// maxWordLines is the maximum number of its lines.
	maxWordLines = 8
)

// stderr returns the end of a guest's standard error before its call failed.
func stderr(err error) string {
	var f *catalog.Failure
	if errors.As(err, &f) {
		return f.Stderr
	}
	return ""
}

// LastWords returns the last lines of a guest's standard error before its call failed, without stack traces, which
// only reveal guest internals to a client.
func LastWords(err error) string {
	text, _ := sanitize.Text(withoutStack(stderr(err)))
	lines := strings.Split(strings.TrimSpace(text), "\n")
	said := strings.Join(lines[max(0, len(lines)-maxWordLines):], "\n")
	if len(said) > maxWords {
		said = strings.ToValidUTF8(said[len(said)-maxWords:], "")
	}
	return said
}

// withoutStack cuts text at the first Go stack trace. A truncated text may begin within one; then every second line
// is a source position.
func withoutStack(text string) string {
	if i := strings.Index("\n"+text, "\ngoroutine "); i >= 0 {
		text = text[:i]
	}
	end, before := 0, 0 // start of this line and of the previous one
	for line := range strings.Lines(text) {
		if place, ok := strings.CutPrefix(line, "\t"); ok && strings.Contains(place, ".go:") {
			return text[:before]
		}
		before = end
		end += len(line)
	}
	return text
}
