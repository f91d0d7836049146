package failure

import (
	"errors"
	"strings"

	"github.com/sallyport-mcp/sallyport/protocol/clean"
	"github.com/sallyport-mcp/sallyport/registry/catalogue"
)

const (
	// maxWords bounds, in bytes, what of a guest's standard error comes with a failure; all of it is
	// in the log.
	maxWords = 1 << 10
	// maxWordLines bounds it in lines: an error is said in a few.
	maxWordLines = 8
)

// stderr is the end of what a guest wrote to its standard error before its call failed.
func stderr(err error) string {
	var f *catalogue.Failure
	if errors.As(err, &f) {
		return f.Stderr
	}
	return ""
}

// LastWords are the last lines that a guest wrote to its standard error before its call failed. A stack is left out: it
// tells a client nothing but where the guest's parts lie.
func LastWords(err error) string {
	text, _ := clean.Text(withoutStack(stderr(err)))
	lines := strings.Split(strings.TrimSpace(text), "\n")
	said := strings.Join(lines[max(0, len(lines)-maxWordLines):], "\n")
	if len(said) > maxWords {
		said = strings.ToValidUTF8(said[len(said)-maxWords:], "")
	}
	return said
}

// withoutStack cuts text where Go's stacks begin. What is kept of a long one may begin in its midst: there
// each second line is a place in the source.
func withoutStack(text string) string {
	if i := strings.Index("\n"+text, "\ngoroutine "); i >= 0 {
		text = text[:i]
	}
	end, before := 0, 0 // where this line and the one before it begin
	for line := range strings.Lines(text) {
		if place, ok := strings.CutPrefix(line, "\t"); ok && strings.Contains(place, ".go:") {
			return text[:before]
		}
		before = end
		end += len(line)
	}
	return text
}
