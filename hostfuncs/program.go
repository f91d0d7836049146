package hostfuncs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/temp"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// process is the command line and the streams of the program that a call runs.
type process struct {
	args, env      []string
	secrets        map[string]string // the variables with placeholders, and the names of the secrets
	stdin          io.Reader
	stdout, stderr io.Writer
	polls          bool // the standard streams are non-blocking
	waits          func(next time.Duration)
	reads          func(wall bool)
	clock          func() // see runtime.CommandLine
	traced         bool
}

// Launch sets the command line and the streams of a program, before the guest runs. The operator's variables win over
// those of the command line; a nil stdin is at its end. Standard error also goes to the log.
func (g *Gate) Launch(l runtime.CommandLine, stdin io.Reader, stdout, stderr io.Writer) {
	g.program = &process{args: slices.Clone(l.Args), env: slices.Concat(l.Env, g.placeholders(l.Secrets)), secrets: l.Secrets,
		stdin: stdin, stdout: stdout, stderr: stderr, clock: l.Clock, traced: l.Traced}
}

// LaunchServer is Launch for a program that serves MCP on its standard streams, and returns its standard input. Standard
// error also goes to the log.
func (g *Gate) LaunchServer(l runtime.CommandLine, c runtime.Conversation) runtime.Input {
	in := serverInput{wasi.NewPipe(c.Unread)}
	stderr := c.Stderr
	if stderr == nil {
		stderr = io.Discard
	}
	g.Launch(l, in.Pipe, c.Stdout, stderr)
	g.program.polls, g.program.waits, g.program.reads = c.Polls, c.Waits, c.Reads
	return in
}

// serverInput is the standard input of a server.
type serverInput struct{ *wasi.Pipe }

// Send implements runtime.Input.
func (in serverInput) Send(b []byte) bool {
	n, _, _ := in.TryWrite(b)
	return n == len(b)
}

// Rest implements runtime.Input.
func (in serverInput) Rest() []byte {
	r, _ := in.Readable()
	rest := make([]byte, r.Size)
	n, _, _ := in.TryRead(rest)
	return rest[:n]
}

// undescribed is the text of each secret while a plugin describes itself. It is the same on each host, so that a list
// with it in it stays the one that was approved.
const undescribed = "sallyport-no-secret"

// placeholders returns the variables of a program that stand for secrets. A secret without a line has none. A program
// that describes itself has no lines yet, and gets them all: many a server does not start without its key.
func (g *Gate) placeholders(secrets map[string]string) (env []string) {
	lines := g.policy.calls().plugin.Grants.Secrets()
	for _, variable := range slices.Sorted(maps.Keys(secrets)) {
		switch name := secrets[variable]; {
		case g.call.Method == "plugin/describe":
			env = append(env, variable+"="+undescribed)
		case slices.ContainsFunc(lines, func(s grant.Secret) bool { return s.Name == name }):
			env = append(env, variable+"="+g.policy.vault.Placeholder(name))
		}
	}
	return env
}

// Unset names a variable of the program whose secret no line grants, and the line to add; "" if there is none. A program
// that failed may have missed it.
func (g *Gate) Unset() string {
	if g.program == nil {
		return ""
	}
	given := slices.Concat(g.program.env, g.policy.env)
	for _, variable := range slices.Sorted(maps.Keys(g.program.secrets)) {
		if slices.ContainsFunc(given, func(v string) bool { return strings.HasPrefix(v, variable+"=") }) {
			continue
		}
		name := g.program.secrets[variable]
		return fmt.Sprintf("its variable %s is the secret %s, which no grant allows: %s", variable, name,
			g.policy.host.advice(g.policy.plugin.Name, "secret: "+name+" {to: https://HOST/**}", g.session.here()))
	}
	return ""
}

// holds reports whether the program was given a variable for a secret. A nil process was given none.
func (p *process) holds(secret string) bool {
	return p != nil && slices.Contains(slices.Collect(maps.Values(p.secrets)), secret)
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
	for _, variable := range append(slices.Clone(p.env), "TMPDIR="+temp.Folder) {
		name, _, _ := strings.Cut(variable, "=")
		if !slices.ContainsFunc(o.Env, func(own string) bool { return strings.HasPrefix(own, name+"=") }) {
			o.Env = append(o.Env, variable)
		}
	}
	o.Nonblock, o.Waits, o.Reads = p.polls, p.waits, p.reads
	o.Stdin, o.Stdout, o.Stderr = p.stdin, p.stdout, io.MultiWriter(o.Stderr, p.stderr)
	switch {
	case p.clock != nil: // its trace is not for the log
		o.Stderr = p.stderr
	case p.traced:
		o.Stderr = &behindLine{Writer: o.Stderr}
	}
}

// observe makes each reading of the monotonic clock known. A nil process changes nothing.
func (p *process) observe(o *wasi.Options) {
	if p == nil || p.clock == nil {
		return
	}
	monotonic := o.Monotonic
	o.Monotonic = func() int64 {
		p.clock()
		return monotonic()
	}
}

// behindLine drops the first line of a stream.
type behindLine struct {
	io.Writer
	begun bool // the second line
}

// Write implements io.Writer.
func (b *behindLine) Write(p []byte) (int, error) {
	rest := p
	if !b.begun {
		_, rest, b.begun = bytes.Cut(p, []byte("\n"))
	}
	if len(rest) > 0 {
		if n, err := b.Writer.Write(rest); err != nil {
			return len(p) - len(rest) + n, err
		}
	}
	return len(p), nil
}

// readChunk is the size of a read of a whole file, in bytes.
const readChunk = 64 << 10

// errNotWritten is the error of a result file that an earlier call or another program wrote.
var errNotWritten = errors.New("the file is older than this call, which did not write it")

// ReadResult reads a file that the guest wrote in this call, as the guest would, of at most limit bytes. setting names
// that limit in the error.
func (g *Gate) ReadResult(path string, limit int, setting string) ([]byte, error) {
	f, e := g.WASI().Tree().Open(path, wasi.OpenOptions{Read: true})
	if e != wasi.ESUCCESS {
		return nil, e
	}
	defer f.Close()
	if held := g.writes.files.Load(); !temp.Has(path) && (held == nil || !held.Wrote(path)) {
		return nil, errNotWritten
	}
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
			return nil, fmt.Errorf("it is over the limit of %d bytes (%s)", limit, setting)
		}
	}
}
