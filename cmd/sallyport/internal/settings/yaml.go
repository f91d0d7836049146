package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxFile is the limit of the configuration file in bytes, ten times the size of a thousand plugins with ten grants
// each.
const maxFile = 4 << 20

// maxNesting is the limit of nested values; the configuration itself needs six.
const maxNesting = 32

// A FileError is an error in a configuration file at a line.
type FileError struct {
	File string
	Line int // from 1; 0 is the file as a whole
	Err  error
}

// Error returns the file, the line if there is one, and the cause.
func (e *FileError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
}

// Unwrap returns the cause.
func (e *FileError) Unwrap() error { return e.Err }

func at(line int, format string, args ...any) error {
	return &FileError{Line: line, Err: fmt.Errorf(format, args...)}
}

// readFile returns the root mapping of a configuration file, nil for an empty one.
func readFile(path string) (*yaml.Node, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, &FileError{File: path, Err: reason(err)}
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, &FileError{File: path, Err: fmt.Errorf("larger than %d MiB", maxFile>>20)}
	}
	if strings.EqualFold(filepath.Ext(path), ".json") {
		if err := checkJSON(data); err != nil {
			return nil, inFile(path, err)
		}
	}
	n, err := parse(data)
	return n, inFile(path, err)
}

// checkJSON returns syntax errors in terms of JSON. The file is parsed as YAML, of which JSON is a subset, and a
// missing bracket would be reported as an error of a "flow mapping".
func checkJSON(data []byte) error {
	var syntax *json.SyntaxError
	if err := json.Unmarshal(data, new(json.RawMessage)); errors.As(err, &syntax) {
		return at(1+bytes.Count(data[:min(int(syntax.Offset), len(data))], []byte("\n")), "not JSON: %w", err)
	}
	return nil
}

// reason strips the file name from a system error; FileError adds it.
func reason(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// inFile adds the file name to err.
func inFile(path string, err error) error {
	var fe *FileError
	if errors.As(err, &fe) && fe.File == "" {
		return &FileError{File: path, Line: fe.Line, Err: fe.Err}
	}
	if err != nil && fe == nil {
		return &FileError{File: path, Err: err}
	}
	return err
}

// parse reads one YAML document with a mapping as its root.
func parse(data []byte) (*yaml.Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, syntaxError(data, err)
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, errors.New("holds more than one document")
	}
	root := doc.Content[0]
	if isNull(root) {
		return nil, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, at(root.Line, "want keys and values at the top level")
	}
	return root, plain(root, 0)
}

// syntaxError converts "yaml: line 3: …" to an error at that line, and names a tab as its cause.
func syntaxError(data []byte, err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	var line int
	if n, _ := fmt.Sscanf(text, "line %d:", &line); n == 1 {
		_, text, _ = strings.Cut(text, ": ")
		if tabbed(data, line) {
			text = "a tab begins this line: YAML wants blanks"
		}
		return at(line, "%s", text)
	}
	return errors.New(text)
}

// tabbed reports whether a tab is in the indentation of a line; lines count from 1.
func tabbed(data []byte, line int) bool {
	lines := strings.SplitN(string(data), "\n", line+1)
	if len(lines) < line {
		return false
	}
	text := lines[line-1]
	return strings.Contains(text[:len(text)-len(strings.TrimLeft(text, " \t"))], "\t")
}

// plain returns an error for YAML features that obscure the meaning: aliases, tags, duplicate keys and deep nesting.
func plain(n *yaml.Node, depth int) error {
	switch {
	case depth > maxNesting:
		return at(n.Line, "nested deeper than %d", maxNesting)
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return at(n.Line, "anchors and aliases are not read here; write the value out")
	case n.Style&yaml.TaggedStyle != 0:
		return at(n.Line, "tags are not read here; remove %s", n.Tag)
	}
	if n.Kind == yaml.MappingNode {
		if err := distinct(n); err != nil {
			return err
		}
	}
	for _, c := range n.Content {
		if err := plain(c, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// distinct returns an error for a mapping with duplicate or non-scalar keys.
func distinct(n *yaml.Node) error {
	seen := map[string]int{}
	for i := 0; i < len(n.Content); i += 2 {
		k := n.Content[i]
		if k.Kind != yaml.ScalarNode || k.Tag == "!!merge" {
			return at(k.Line, "a key must be plain text")
		}
		if first, twice := seen[k.Value]; twice {
			return at(k.Line, "key %q is already on line %d", k.Value, first)
		}
		seen[k.Value] = k.Line
	}
	return nil
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// fields calls f for each key and value of a mapping; null is empty.
func fields(n *yaml.Node, what string, f func(key, value *yaml.Node) error) error {
	if isNull(n) {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		return at(n.Line, "%s: want keys and values", what)
	}
	for i := 0; i < len(n.Content); i += 2 {
		if err := f(n.Content[i], n.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// scalar returns the text of a scalar.
func scalar(n *yaml.Node, what string) (string, error) {
	if n.Kind != yaml.ScalarNode || isNull(n) {
		return "", at(n.Line, "%s: want one value", what)
	}
	return n.Value, nil
}

// texts returns the items of a list, or a scalar as a list of one.
func texts(n *yaml.Node, what string) ([]string, error) {
	if n.Kind == yaml.ScalarNode && !isNull(n) {
		return []string{n.Value}, nil
	}
	if n.Kind != yaml.SequenceNode {
		return nil, at(n.Line, "%s: want a list", what)
	}
	out := make([]string, 0, len(n.Content))
	for _, c := range n.Content {
		s, err := scalar(c, what)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}
