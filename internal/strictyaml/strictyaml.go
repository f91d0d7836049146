// Package strictyaml reads YAML whose meaning is visible: one document with keys and values at its root, and no anchors,
// aliases, tags or duplicate keys. Every error has its line.
//
//	root, err := strictyaml.Parse(data, strictyaml.Limits{Bytes: 4 << 20, Depth: 32})
//	err = root.Each("the file", func(key, value *strictyaml.Node) error {
//		if !slices.Contains(known, key.Text) {
//			return key.Errorf("unknown key %q%s", key.Text, strictyaml.Hint(key.Text, known))
//		}
//		…
//	})
//
// FrontMatter reads the YAML at the head of a text file. Keys are distinct by their text and by their value: 1 and 01
// are the same key.
package strictyaml

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Error is a problem at a line of the file.
type Error struct {
	Line    int // from 1; 0 is the file as a whole
	Problem string
}

// Error returns the line, if there is one, and the problem.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Problem
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Problem)
}

// Errorf returns an *Error at a line.
func Errorf(line int, format string, args ...any) error {
	return &Error{Line: line, Problem: fmt.Sprintf(format, args...)}
}

// Limits bound a document.
type Limits struct {
	Bytes int
	Depth int // of nested values
}

// Parse reads one document and returns its root, a Mapping, or nil if the document is empty. Errors are of type *Error.
func Parse(data []byte, l Limits) (*Node, error) {
	if len(data) > l.Bytes {
		return nil, Errorf(0, "larger than %s", size(l.Bytes))
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, syntaxError(data, err)
	}
	switch err := dec.Decode(&more); {
	case err == nil:
		return nil, Errorf(0, "holds more than one document")
	case !errors.Is(err, io.EOF):
		return nil, syntaxError(data, err)
	}
	root, err := converter{maxDepth: l.Depth}.node(doc.Content[0], 0)
	switch {
	case err != nil:
		return nil, err
	case root.Kind == Null:
		return nil, nil
	case root.Kind != Mapping:
		return nil, root.Errorf("want keys and values at the top level")
	}
	return root, nil
}

func size(bytes int) string {
	if bytes >= 1<<20 {
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d KiB", bytes>>10)
}

// fromParser matches the errors of the library's parser.
var fromParser = regexp.MustCompile(`^did not find expected (<|node|key|'-'|',')|^found (duplicate|incompatible|undefined)`)

// syntaxError converts "yaml: line 3: …" to an error at that line, and says what the writer most likely did.
func syntaxError(data []byte, err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	var line int
	if n, _ := fmt.Sscanf(text, "line %d:", &line); n == 0 {
		return Errorf(0, "%s", text)
	}
	_, text, _ = strings.Cut(text, ": ")
	if fromParser.MatchString(text) {
		line++ // the library counts lines from 0 in errors of its parser, and from 1 in those of its scanner
	}
	if tabbed(data, line) {
		text = "a tab begins this line: YAML wants blanks"
	} else if strings.HasPrefix(text, "mapping values are not allowed") {
		text += `: put a text with ": " in it into quotes, or correct the blanks that begin the line`
	}
	return Errorf(line, "%s", text)
}

// tabbed reports whether a tab is in the indentation of a line; lines count from 1.
func tabbed(data []byte, line int) bool {
	lines := bytes.SplitN(data, []byte("\n"), line+1)
	if len(lines) < line {
		return false
	}
	text := lines[line-1]
	return bytes.ContainsRune(text[:len(text)-len(bytes.TrimLeft(text, " \t"))], '\t')
}

// converter converts nodes of the library.
type converter struct{ maxDepth int }

// node converts a node. It refuses the features that obscure its meaning.
func (c converter) node(n *yaml.Node, depth int) (*Node, error) {
	out := &Node{Kind: kindOf(n), Text: n.Value, Line: n.Line, Column: n.Column, Flow: n.Style&yaml.FlowStyle != 0}
	switch {
	case depth > c.maxDepth:
		return nil, out.Errorf("nested deeper than %d", c.maxDepth)
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return nil, out.Errorf("anchors and aliases are not read here; write the value out")
	case n.Style&yaml.TaggedStyle != 0:
		return nil, out.Errorf("tags are not read here; remove %s", n.Tag)
	}
	var err error
	switch n.Kind {
	case yaml.MappingNode:
		out.Members, err = c.members(n, depth)
	case yaml.SequenceNode:
		out.Items, err = c.items(n, depth)
	}
	return out, err
}

func (c converter) items(n *yaml.Node, depth int) ([]*Node, error) {
	items := make([]*Node, 0, len(n.Content))
	for _, item := range n.Content {
		converted, err := c.node(item, depth+1)
		if err != nil {
			return nil, err
		}
		items = append(items, converted)
	}
	return items, nil
}

// members converts the content of a mapping, whose keys must be distinct scalars.
func (c converter) members(n *yaml.Node, depth int) ([]Member, error) {
	members := make([]Member, 0, len(n.Content)/2)
	seen := map[any]*yaml.Node{} // by text and by value
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if k.Kind != yaml.ScalarNode || k.Tag == "!!merge" {
			return nil, Errorf(k.Line, "a key must be plain text")
		}
		switch first := cmp.Or(seen[k.Value], seen[keyOf(k)]); {
		case first == nil:
		case first.Value == k.Value:
			return nil, Errorf(k.Line, "key %q is already on line %d", k.Value, first.Line)
		default:
			return nil, Errorf(k.Line, "key %q is the same as key %q on line %d", k.Value, first.Value, first.Line)
		}
		seen[k.Value], seen[keyOf(k)] = k, k
		key, err := c.node(k, depth+1)
		if err != nil {
			return nil, err
		}
		value, err := c.node(n.Content[i+1], depth+1)
		if err != nil {
			return nil, err
		}
		members = append(members, Member{Key: key, Value: value})
	}
	return members, nil
}

// keyOf returns the value of a key, as the library's maps have it.
func keyOf(k *yaml.Node) any {
	var value any
	if err := k.Decode(&value); err != nil || value != value { // NaN differs from itself
		return k.Value
	}
	return value
}

func kindOf(n *yaml.Node) Kind {
	switch n.Kind {
	case yaml.MappingNode:
		return Mapping
	case yaml.SequenceNode:
		return Sequence
	}
	switch n.ShortTag() {
	case "!!null":
		return Null
	case "!!bool":
		return Bool
	case "!!int", "!!float":
		if json.Valid([]byte(n.Value)) {
			return Number
		}
	}
	return String
}
