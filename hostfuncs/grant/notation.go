package grant

import "fmt"

// Kind is the type of a Node.
type Kind uint8

// The kinds of a Node.
const (
	Scalar Kind = iota
	List
	Map
)

// Node is one value of a configuration file with its line number, independent of the file format.
type Node struct {
	Line  int    // from 1
	Key   string // its key in the enclosing map; empty in a list
	Kind  Kind
	Value string // text of a Scalar
	Null  bool   // the Scalar is null
	Nodes []Node // elements of a List or members of a Map, in order
}

// ParseError describes an invalid line and its correction.
type ParseError struct {
	File    string // empty if unknown
	Line    int    // 0 if the line is not from a file
	Message string
}

// Error returns the message, prefixed by file and line if known.
func (e *ParseError) Error() string {
	switch {
	case e.Line == 0:
		return e.Message
	case e.File == "":
		return fmt.Sprintf("line %d: %s", e.Line, e.Message)
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
}

// failf returns a *ParseError for a line.
func failf(line int, format string, args ...any) error {
	return &ParseError{Line: line, Message: fmt.Sprintf(format, args...)}
}
