package strictyaml

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// Kind is the type of a node.
type Kind uint8

// The kinds of nodes. A date, and a number that JSON has no form for, is a String.
const (
	Null Kind = iota
	Bool
	Number
	String
	Sequence
	Mapping
)

// Node is a value or a key, with its place in the file.
type Node struct {
	Kind    Kind
	Text    string   // of a scalar, without quotes
	Items   []*Node  // of a Sequence
	Members []Member // of a Mapping, in the order of the file

	Line, Column int  // from 1
	Flow         bool // written with brackets or braces
}

// Member is a key of a Mapping and its value.
type Member struct{ Key, Value *Node }

// IsScalar reports whether a node is neither a Sequence nor a Mapping.
func (n *Node) IsScalar() bool { return n.Kind < Sequence }

// Errorf returns an *Error at the line of a node.
func (n *Node) Errorf(format string, args ...any) error { return Errorf(n.Line, format, args...) }

// Member returns the key and the value of a name in a Mapping, nil if absent.
func (n *Node) Member(name string) (key, value *Node) {
	for _, m := range n.Members {
		if m.Key.Text == name {
			return m.Key, m.Value
		}
	}
	return nil, nil
}

// Each calls f for each key and value of a Mapping, until it returns an error. Null and a nil node are empty. name
// stands for the node in errors.
func (n *Node) Each(name string, f func(key, value *Node) error) error {
	if n == nil || n.Kind == Null {
		return nil
	}
	if n.Kind != Mapping {
		return n.Errorf("%s: want keys and values", name)
	}
	for _, m := range n.Members {
		if err := f(m.Key, m.Value); err != nil {
			return err
		}
	}
	return nil
}

// Scalar returns the text of a scalar other than Null. name stands for the node in errors.
func (n *Node) Scalar(name string) (string, error) {
	if !n.IsScalar() || n.Kind == Null {
		return "", n.Errorf("%s: want one value", name)
	}
	return n.Text, nil
}

// Texts returns the scalars of a Sequence, or a scalar as a list of one. name stands for the node in errors.
func (n *Node) Texts(name string) ([]string, error) {
	switch {
	case n.Kind == Null || n.Kind == Mapping:
		return nil, n.Errorf("%s: want a list", name)
	case n.IsScalar():
		return []string{n.Text}, nil
	}
	texts := make([]string, 0, len(n.Items))
	for _, item := range n.Items {
		text, err := item.Scalar(name)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// JSON returns a value as JSON, with the members of a Mapping in the order of the file.
func (n *Node) JSON() json.RawMessage {
	switch n.Kind {
	case Null:
		return json.RawMessage("null")
	case Bool:
		return strconv.AppendBool(nil, strings.EqualFold(n.Text, "true"))
	case Number:
		return json.RawMessage(n.Text)
	case Sequence:
		items := make([]json.RawMessage, 0, len(n.Items))
		for _, item := range n.Items {
			items = append(items, item.JSON())
		}
		return jsonraw.Array(items)
	case Mapping:
		return n.object().Append(nil)
	}
	return jsonraw.AppendString(nil, n.Text)
}

// object returns a Mapping as members of a JSON object.
func (n *Node) object() jsonraw.Object {
	o := make(jsonraw.Object, 0, len(n.Members))
	for _, m := range n.Members {
		o = append(o, jsonraw.Member{Key: m.Key.Text, Value: m.Value.JSON()})
	}
	return o
}

// Hint completes a message about an unknown key: "; did you mean source?", or the known keys if none is similar.
func Hint(unknown string, known []string) string {
	near := slices.MinFunc(known, func(a, b string) int { return distance(unknown, a) - distance(unknown, b) })
	if most := min(2, len(unknown)/2); distance(unknown, near) <= most {
		return "; did you mean " + near + "?"
	}
	return "; known are " + strings.Join(known, ", ")
}

// distance returns the number of bytes to insert, remove or replace to make b of a; letters of either case are the same.
func distance(a, b string) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}
