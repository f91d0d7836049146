package hostfuncs

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// process is the command line and the streams of the program that a call runs.
type process struct {
	args, env      []string
	stdin          io.Reader
	stdout, stderr io.Writer
	polls          bool // the standard streams are non-blocking
}

// Launch sets the command line and the streams of a program, before the guest runs. An empty name in args is that of
// the plugin. The operator's variables win over env; a nil stdin is at its end. Standard error also goes to the log.
func (g *Gate) Launch(args, env []string, stdin io.Reader, stdout, stderr io.Writer) {
	g.program = &process{args: slices.Clone(args), env: env, stdin: stdin, stdout: stdout, stderr: stderr}
}

// LaunchServer sets the standard streams of a program that serves MCP on them, before the guest runs. Standard error
// goes to the log. The streams of a guest that polls are non-blocking.
func (g *Gate) LaunchServer(stdin io.ReadCloser, stdout io.Writer, polls bool) {
	g.program = &process{args: []string{""}, env: []string{"NO_COLOR=1", "TERM=dumb"}, stdin: stdin, stdout: stdout, stderr: io.Discard, polls: polls}
}

// run sets the options of a guest that is a program. A nil process changes nothing.
func (p *process) run(o *wasi.Options) {
	if p == nil {
		return
	}
	if len(p.args) > 0 && p.args[0] == "" {
		p.args[0] = o.Args[0]
	}
	o.Args = p.args
	o.Env = slices.Clone(o.Env)
	for _, variable := range p.env {
		name, _, _ := strings.Cut(variable, "=")
		if !slices.ContainsFunc(o.Env, func(own string) bool { return strings.HasPrefix(own, name+"=") }) {
			o.Env = append(o.Env, variable)
		}
	}
	o.Nonblock = p.polls
	o.Stdin, o.Stdout, o.Stderr = p.stdin, p.stdout, io.MultiWriter(o.Stderr, p.stderr)
}

// readChunk is the size of a read of a whole file, in bytes.
const readChunk = 64 << 10

// ReadFile reads a file of the guest as the guest would, of at most limit bytes.
func (g *Gate) ReadFile(path string, limit int) ([]byte, error) {
	f, e := g.WASI().Tree().Open(path, wasi.OpenOptions{Read: true})
	if e != wasi.ESUCCESS {
		return nil, e
	}
	defer f.Close()
	var content []byte
	for {
		chunk := make([]byte, readChunk)
		n, e := f.ReadAt(chunk, int64(len(content)))
		if e != wasi.ESUCCESS {
			return nil, e
		}
		if n == 0 {
			return content, nil
		}
		if content = append(content, chunk[:n]...); len(content) > limit {
			return nil, fmt.Errorf("it is over the limit of %d bytes (limits.output)", limit)
		}
	}
}
