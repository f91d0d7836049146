// Package notation parses and formats the maps, lists and texts in configuration lines, independent of the file
// format:
//
//	{within: ["https://docs.example.com/**"], ask: true}
//
// A Node is such a value with its line number. Parse reads the short form of one, and FormatMap, FormatList and
// FormatWord write it. An Error names the line.
package notation

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

// Error describes an invalid line and its correction.
type Error struct {
	File    string // empty if unknown
	Line    int    // 0 if the line is not from a file
	Message string
}

// Error returns the message, prefixed by file and line if known.
func (e *Error) Error() string {
	switch {
	case e.Line == 0:
		return e.Message
	case e.File == "":
		return fmt.Sprintf("line %d: %s", e.Line, e.Message)
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
}

// Errorf returns an *Error for a line.
func Errorf(line int, format string, args ...any) error {
	return &Error{Line: line, Message: fmt.Sprintf(format, args...)}
}
