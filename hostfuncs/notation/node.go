// Package notation reads and writes the small language of maps, lists and texts that lines of a configuration are
// made of, free of the file's own format:
//
//	{within: ["https://docs.example.com/**"], ask: true}
//
// A Node is such a value with the line it stands on, Parse reads the short form of one, and FormatMap, FormatList
// and FormatWord write it. An Error names the line.
//
// This package is internal to Sallyport: it is not promised to others.
package notation

import "fmt"

// Kind says what a Node is.
type Kind uint8

// The kinds of a Node.
const (
	Scalar Kind = iota
	List
	Map
)

// Node is one value of a configuration file with the line it stands on, free of the file's format.
type Node struct {
	Line  int    // 1 for the first
	Key   string // its name in the map that holds it; empty in a list
	Kind  Kind
	Value string // the text of a Scalar
	Null  bool   // the Scalar is no text but the word for nothing
	Nodes []Node // the elements of a List, the members of a Map, in their order
}

// Error says what is wrong with a line, and what to write instead.
type Error struct {
	File    string // empty if it is not known
	Line    int    // 0 if the line was not in a file
	Message string
}

// Error begins with the file and the line, if there is one.
func (e *Error) Error() string {
	switch {
	case e.Line == 0:
		return e.Message
	case e.File == "":
		return fmt.Sprintf("line %d: %s", e.Line, e.Message)
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
}

// Errorf is the *Error of a line.
func Errorf(line int, format string, args ...any) error {
	return &Error{Line: line, Message: fmt.Sprintf(format, args...)}
}
