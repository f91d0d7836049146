// Package frontmatter splits a text file into its YAML front matter, between two lines of three dashes, and its body.
//
//	---
//	name: review
//	---
//	Please review {{file}}.
//
// The YAML is returned as JSON and limited to it: no anchors, no custom tags, no duplicate keys.
package frontmatter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

const (
	// maxYAML limits the YAML, in bytes: a description and some dozen arguments.
	maxYAML = 64 << 10
	// maxDepth limits its nesting.
	maxDepth = 16
)

// Error is a problem at a line of the file, counted from 1.
type Error struct {
	Line    int
	Problem string
}

// Error returns the line and the problem.
func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Problem) }

// File is a split file.
type File struct {
	Values jsonraw.Object // in the order of the file
	Body   string
	Line   int // the first line of Body, in the file
}

// Split splits a file. The error is an *Error if it is about a line.
func Split(raw []byte) (*File, error) {
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
	if len(head) > maxYAML {
		return nil, fmt.Errorf("the text between the dashes is over %d KiB", maxYAML>>10)
	}
	values, err := parse(head)
	if err != nil {
		return nil, err
	}
	return &File{Values: values, Body: string(body), Line: bytes.Count(head, []byte{'\n'}) + 3}, nil
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

// parse parses the YAML, with a line in front of it so that its line numbers are those of the file.
func parse(head []byte) (jsonraw.Object, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(append([]byte{'\n'}, head...), &doc); err != nil {
		return nil, fmt.Errorf("the text between the dashes is not YAML: %w", err)
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	if doc.Content[0].Kind != yaml.MappingNode {
		return nil, &Error{2, "write key: value lines between the dashes"}
	}
	value, err := encode(doc.Content[0], 0)
	if err != nil {
		return nil, err
	}
	return jsonraw.ParseObject(value)
}

// encode returns a node as JSON.
func encode(n *yaml.Node, depth int) (json.RawMessage, error) {
	fail := func(problem string) error { return &Error{n.Line, problem} }
	switch {
	case depth > maxDepth:
		return nil, fail("this nests too deep")
	case n.Anchor != "" || n.Kind == yaml.AliasNode:
		return nil, fail("anchors and aliases are not read")
	}
	switch n.Kind {
	case yaml.ScalarNode:
		return scalar(n, fail)
	case yaml.SequenceNode:
		out := []byte{'['}
		for i, item := range n.Content {
			if i > 0 {
				out = append(out, ',')
			}
			v, err := encode(item, depth+1)
			if err != nil {
				return nil, err
			}
			out = append(out, v...)
		}
		return append(out, ']'), nil
	case yaml.MappingNode:
		return mapping(n, depth, fail)
	}
	return nil, fail("this is no value")
}

func mapping(n *yaml.Node, depth int, fail func(string) error) (json.RawMessage, error) {
	var o jsonraw.Object
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" {
			return nil, fail("a key must be a word")
		}
		if o.Get(key.Value) != nil {
			return nil, &Error{key.Line, fmt.Sprintf("%q is there twice", key.Value)}
		}
		v, err := encode(n.Content[i+1], depth+1)
		if err != nil {
			return nil, err
		}
		o = append(o, jsonraw.Member{Key: key.Value, Value: v})
	}
	return o.Append(nil), nil
}

// scalar returns numbers only if they are valid JSON; other YAML numbers, and dates, become strings.
func scalar(n *yaml.Node, fail func(string) error) (json.RawMessage, error) {
	switch n.ShortTag() {
	case "!!null":
		return json.RawMessage("null"), nil
	case "!!bool":
		var b bool
		if n.Decode(&b) != nil {
			return nil, fail("this is neither true nor false")
		}
		return strconv.AppendBool(nil, b), nil
	case "!!int", "!!float":
		if json.Valid([]byte(n.Value)) {
			return json.RawMessage(n.Value), nil
		}
	case "!!binary":
		return nil, fail("binary values are not read")
	}
	return jsonraw.AppendString(nil, n.Value), nil
}
