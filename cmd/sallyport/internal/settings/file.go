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

	"github.com/sallyport-mcp/sallyport/internal/strictyaml"
)

// limits bound the configuration file: its size is ten times that of a thousand plugins with ten grants each, and it
// needs six nested values itself.
var limits = strictyaml.Limits{Bytes: 4 << 20, Depth: 32}

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

// inFile adds the file name to err.
func inFile(path string, err error) error {
	var placed *FileError
	var problem *strictyaml.Error
	switch {
	case err == nil || errors.As(err, &placed):
		return err
	case errors.As(err, &problem):
		return &FileError{File: path, Line: problem.Line, Err: errors.New(problem.Problem)}
	}
	return &FileError{File: path, Err: err}
}

// readFile returns the root mapping of a configuration file, nil for an empty one.
func readFile(path string) (*strictyaml.Node, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, &FileError{File: path, Err: reason(err)}
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, int64(limits.Bytes)+1))
	if err != nil {
		return nil, err
	}
	if strings.EqualFold(filepath.Ext(path), ".json") && len(data) <= limits.Bytes {
		if err := checkJSON(data); err != nil {
			return nil, inFile(path, err)
		}
	}
	root, err := strictyaml.Parse(data, limits)
	return root, inFile(path, err)
}

// checkJSON returns syntax errors in terms of JSON. The file is parsed as YAML, of which JSON is a subset, and a
// missing bracket would be reported as an error of a "flow mapping".
func checkJSON(data []byte) error {
	var syntax *json.SyntaxError
	if err := json.Unmarshal(data, new(json.RawMessage)); errors.As(err, &syntax) {
		line := 1 + bytes.Count(data[:min(int(syntax.Offset), len(data))], []byte("\n"))
		return strictyaml.Errorf(line, "not JSON: %v", err)
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
