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

// maxFile bounds the configuration file; a thousand plugins with ten grants each fit ten times.
const maxFile = 4 << 20

// maxNesting bounds how deep values nest; the language itself needs six.
const maxNesting = 32

// A FileError is something wrong in a configuration file, at a line.
type FileError struct {
	File string
	Line int // 1 is the first; 0 is the file as a whole
	Err  error
}

// Error is the file, the line if there is one, and the cause.
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

// readFile returns the mapping that a configuration file holds, nil for an empty one.
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

// checkJSON reports what is wrong in a JSON text in the words of JSON: it would be read as YAML, which it
// is, and a missing bracket be told as one of a "flow mapping".
func checkJSON(data []byte) error {
	var syntax *json.SyntaxError
	if err := json.Unmarshal(data, new(json.RawMessage)); errors.As(err, &syntax) {
		return at(1+bytes.Count(data[:min(int(syntax.Offset), len(data))], []byte("\n")), "not JSON: %w", err)
	}
	return nil
}

// reason is an error of the system without the name of the file, which stands in front of it.
func reason(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// inFile gives err the name of its file.
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

// parse reads one YAML document whose root is a mapping.
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

// syntaxError turns "yaml: line 3: …" into an error at that line; a tab there that is the reason is named.
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

// tabbed tells whether there is a tab among the blanks that begin a line; lines are counted from 1.
func tabbed(data []byte, line int) bool {
	lines := strings.SplitN(string(data), "\n", line+1)
	if len(lines) < line {
		return false
	}
	text := lines[line-1]
	return strings.Contains(text[:len(text)-len(strings.TrimLeft(text, " \t"))], "\t")
}

// plain refuses what makes a YAML text mean other than what it shows.
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

// distinct refuses a mapping that names a key twice, or a key that is no plain text.
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

// fields calls f for each key and value of a mapping; null is an empty one.
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

// scalar returns the text of a single value.
func scalar(n *yaml.Node, what string) (string, error) {
	if n.Kind != yaml.ScalarNode || isNull(n) {
		return "", at(n.Line, "%s: want one value", what)
	}
	return n.Value, nil
}

// texts returns the values of a list, or of a single value as a list of one.
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
