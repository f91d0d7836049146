package script

import (
	"fmt"
	"io"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// The steps that parse the text of a script, as the arguments of a Runner.
const (
	stepRead   = "read"   // with the path of the script; its text is the input
	stepExpand = "expand" // the container is the input
)

// Runner runs Step in a process of its own and returns its output.
type Runner func(args []string, input []byte) ([]byte, error)

// runner is set once, before the first script is read.
var runner Runner

// Isolate makes Read and Expand parse in a process of their own. The parser of the bundler uses stack in proportion to
// its input, and a program of Go ends when its stack is exhausted: the text of a script must not end the host. A program
// calls Isolate before it reads the first script.
func Isolate(r Runner) { runner = r }

// Step runs one step in this process: it is the body of the process that a Runner starts.
func Step(args []string, stdin io.Reader) ([]byte, error) {
	input, err := io.ReadAll(stdin)
	if err != nil {
		return nil, err
	}
	return step(args, input)
}

// Reads returns the only folder that a step reads; "" for none.
func Reads(args []string) (folder string, err error) {
	if len(args) == 2 && args[0] == stepRead {
		return folderOf(args[1])
	}
	return "", nil
}

func step(args []string, input []byte) ([]byte, error) {
	switch {
	case len(args) == 2 && args[0] == stepRead:
		return containerOf(args[1], input)
	case len(args) == 1 && args[0] == stepExpand:
		return expand(input)
	}
	return nil, fmt.Errorf("unknown step %q", args)
}

// isolated runs a step in a process of its own if the program has asked for it, else here.
func isolated(input []byte, args ...string) ([]byte, error) {
	if runner != nil {
		return runner(args, input)
	}
	return step(args, input)
}

// containerOf returns the container of a script.
func containerOf(path string, text []byte) ([]byte, error) {
	s, err := collect(path, text)
	if err != nil {
		return nil, err
	}
	return s.container()
}

// expand returns the module of a container.
func expand(container []byte) ([]byte, error) {
	b, err := wasmbin.Read(container)
	if err != nil {
		return nil, err
	}
	raw, _ := b.CustomSection(Section)
	s, err := decode(raw)
	if err != nil {
		return nil, err
	}
	bundle, err := s.bundle()
	if err != nil {
		return nil, err
	}
	return bundle.module()
}
