package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// frontLimits bound front matter: a description and some dozen arguments.
var frontLimits = Limits{Bytes: 64 << 10, Depth: 16}

// Front is a text file with front matter.
type Front struct {
	Values jsonraw.Object // in the order of the file
	Body   string
	Line   int // the first line of Body, in the file
}

// FrontMatter splits a text file into its YAML, between two lines of three dashes, and its body.
//
//	---
//	name: review
//	---
//	Please review {{file}}.
//
// The error is an *Error if it is about a line.
func FrontMatter(raw []byte) (*Front, error) {
	if !utf8.Valid(raw) {
		return nil, errors.New("the file is not UTF-8")
	}
	raw = bytes.ReplaceAll(bytes.TrimPrefix(raw, []byte("\ufeff")), []byte("\r\n"), []byte("\n"))
	rest, ok := bytes.CutPrefix(raw, []byte("---\n"))
	if !ok {
		return nil, &Error{1, "the file does not begin with a line of three dashes"}
	}
	head, body, ok := cut(rest)
	if !ok {
		return nil, &Error{1, "there is no second line of three dashes"}
	}
	if len(head) > frontLimits.Bytes {
		return nil, fmt.Errorf("the text between the dashes is over %s", size(frontLimits.Bytes))
	}
	root, err := Parse(append([]byte{'\n'}, head...), frontLimits) // behind the line of dashes
	if err != nil {
		return nil, err
	}
	values := jsonraw.Object{}
	if root != nil {
		values = root.object()
	}
	return &Front{Values: values, Body: string(body), Line: bytes.Count(head, []byte{'\n'}) + 3}, nil
}

// cut splits at the second line of dashes.
func cut(rest []byte) (head, body []byte, ok bool) {
	rest = append([]byte{'\n'}, rest...) // so that an empty front matter is no special case
	head, body, ok = bytes.Cut(rest, []byte("\n---\n"))
	if !ok {
		head, ok = bytes.CutSuffix(rest, []byte("\n---"))
	}
	return bytes.TrimPrefix(append(head, '\n'), []byte{'\n'}), body, ok
}
