package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/internal/sanitize"
	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/abi/native"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// start is the main function of a program.
const start = "_start"

// Recognises reports whether a module uses this ABI: a program with a tool file in it that has tools.
func Recognises(b *wasmbin.Binary) bool {
	raw, ok := b.CustomSection(Section)
	return ok && IsProgram(b) && ServerOf(raw) == nil
}

// IsProgram reports whether a module is a WASI program, with or without a tool file.
func IsProgram(b *wasmbin.Binary) bool { return b.HasExport(start) }

// Launcher is implemented by a runtime.Gate that can run a program.
type Launcher interface {
	// Launch sets the command line and the standard streams of the program, before the guest runs. The operator's
	// variables win over those of the command line; a nil stdin is at its end. Standard error also goes to the log.
	Launch(l runtime.CommandLine, stdin io.Reader, stdout, stderr io.Writer)
	// Input returns a file as a standard input, which its first read opens as the program would. A file that cannot be
	// read ends the call.
	Input(path string) io.Reader
	// InputResource is Input for a resource of a plugin, by its URI.
	InputResource(ctx context.Context, uri string) io.Reader
	// ReadResult reads a file that the program wrote in this call, as the program would, of at most limit bytes. setting
	// names that limit in the error.
	ReadResult(path string, limit int, setting string) ([]byte, error)
}

// dialect serves the programs of a module, from its tool file.
type dialect struct {
	program *Program
	err     error // of the tool file
}

var (
	_ runtime.Binder = (*dialect)(nil)
	_ runtime.Ender  = (*dialect)(nil)
)

// New returns the command dialect.
func New() runtime.Dialect { return &dialect{err: errors.New("the module has no tool file")} }

// Of returns the dialect for one program, whose module needs no tool file.
func Of(p *Program) runtime.Dialect { return &dialect{program: p} }

// Name returns the dialect's name.
func (*dialect) Name() string { return "command" }

// Ends implements runtime.Ender: a program ends with its call.
func (*dialect) Ends() {}

// Bind reads the tool file of a module.
func (d *dialect) Bind(m *runtime.Module) runtime.Dialect {
	raw, ok := m.CustomSection(Section)
	if !ok {
		return d
	}
	p, err := Parse(raw)
	if err == nil {
		p.continues, p.traces = m.Resumable(), &traces{}
		p.stack, p.initializes = m.Clocked()
	}
	return &dialect{p, err}
}

// Manifest returns the manifest that the tool file in a module makes.
func (*dialect) Manifest(b *wasmbin.Binary) (json.RawMessage, error) {
	raw, _ := b.CustomSection(Section)
	p, err := Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("the tool file cannot be used: %w", err)
	}
	return p.Manifest(), nil
}

// Serve runs the program for tools/call, and describes it without running it.
func (d *dialect) Serve(ctx context.Context, in *runtime.Instance, req runtime.Request) (json.RawMessage, error) {
	if d.err != nil {
		return nil, endOf(runtime.KindGuest, "the tool file cannot be used: %v", d.err)
	}
	switch req.Method {
	case "plugin/describe":
		return d.program.Manifest(), nil
	case "tools/call":
		return d.program.call(ctx, in, req.Params)
	case leadMethod:
		return d.program.lead(ctx, in, req.Params)
	}
	return nil, &runtime.GuestError{Code: jsonrpc.CodeMethodNotFound, Message: "a program serves no " + req.Method}
}

// call runs the program once.
func (p *Program) call(ctx context.Context, in *runtime.Instance, params json.RawMessage) (json.RawMessage, error) {
	name, _ := jsonraw.String(jsonraw.Get(params, "name"))
	t := p.tools[name]
	if t == nil {
		return nil, &runtime.GuestError{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("the tool file has no tool %q", clip(name))}
	}
	gate, ok := runtime.GateFrom(ctx).(Launcher)
	if !ok {
		return nil, errors.New("the gate cannot run programs")
	}
	if err := in.Check(start, nil, nil); err != nil {
		return nil, err
	}
	limit := bound{in.Limits().Output, in.OutputSetting()}
	out := &capture{limit: limit}
	said := newTeller(ctx, t.stderr)
	_, begun := in.Noted().(*initialized)
	args, err := p.launch(ctx, gate, t, jsonraw.Get(params, "arguments"), out, said, begun)
	if err != nil {
		return nil, err
	}
	defer native.Attach(in)()
	end, err := run(ctx, in, args)
	said.flush()
	if err != nil {
		return nil, err
	}
	if err := t.failure(end, out.content, said); err != nil {
		return nil, err
	}
	content := out.content
	if t.output.file != "" {
		if content, err = gate.ReadResult(t.output.file, limit.bytes, limit.setting); err != nil {
			return nil, endOf(runtime.KindGuest, "the program ended well, and its result %s cannot be read: %v", t.output.file, err)
		}
	}
	return t.result(content, limit)
}

// launch hands the command line and the streams to the gate, and returns the arguments. If the program has begun, the
// rest of a line of its trace follows on standard error.
func (p *Program) launch(ctx context.Context, gate Launcher, t *tool, arguments json.RawMessage, stdout, stderr io.Writer, begun bool) ([]string, error) {
	command, given, err := p.line(t, arguments)
	if err != nil {
		return nil, err
	}
	stdin, err := t.input(ctx, gate, given)
	if err == nil {
		command.Traced = begun
		gate.Launch(command, stdin, stdout, stderr)
	}
	return command.Args, err
}

// input returns the standard input of a call; nil is at its end.
func (t *tool) input(ctx context.Context, gate Launcher, g *given) (io.Reader, error) {
	switch {
	case t.stdin == nil:
		return nil, nil
	case t.stdinOf == "":
		content, err := g.content(t.stdin)
		return reader(content), err
	}
	names, err := g.textsOf(t.stdin)
	switch {
	case err != nil || len(names) == 0:
		return nil, err
	case t.stdinOf == ofResource:
		return gate.InputResource(ctx, names[0]), nil
	}
	return gate.Input(names[0]), nil
}

// line returns the command line of a call, and the arguments that it was made of.
func (p *Program) line(t *tool, arguments json.RawMessage) (command runtime.CommandLine, g *given, err error) {
	l := &line{given: t.read(arguments)}
	if err := l.add("", p.name); err != nil {
		return command, nil, err
	}
	if err := l.entries(t.args); err != nil {
		return command, nil, err
	}
	command, err = l.with(t.env)
	return command, l.given, err
}

// with returns the command line with the variables of a call. No stream is a terminal, so nothing is coloured or paged.
func (l *line) with(variables []variable) (command runtime.CommandLine, err error) {
	var env []string
	secrets := map[string]string{}
	for _, v := range variables {
		if v.secret != "" {
			secrets[v.name] = v.secret
			continue
		}
		text := v.text
		if v.value != nil {
			texts, err := l.given.textsOf(v.value)
			if err != nil {
				return command, err
			}
			if len(texts) == 0 {
				continue
			}
			text = texts[0]
		}
		if l.size += len(v.name) + len(text) + 2; l.size > maxLine {
			return command, endOf(runtime.KindLimit, "the command line is over %d bytes: pass large values by the standard input of the tool", maxLine)
		}
		env = append(env, v.name+"="+text)
	}
	for _, usual := range []string{"NO_COLOR=1", "TERM=dumb"} {
		name, _, _ := strings.Cut(usual, "=")
		if !slices.ContainsFunc(env, func(own string) bool { return strings.HasPrefix(own, name+"=") }) {
			env = append(env, usual)
		}
	}
	return runtime.CommandLine{Args: l.args, Env: env, Secrets: secrets}, nil
}

// statusBits are the bits of an exit code that a parent process sees.
const statusBits = 0xff

// exit is the end of a program that ran.
type exit struct {
	code    uint32 // as a parent process sees it: 255 for exit(-1)
	refused string // the memory that the program was refused, as the end of a message
}

// run runs the program, from where it waits for its input, or from its main function, if it started before. A main
// function that returns exits with zero.
func run(ctx context.Context, in *runtime.Instance, args []string) (e exit, err error) {
	switch at := in.Noted().(type) {
	case waiting:
		err = in.Resume(ctx)
	case *initialized:
		at.give(in.Memory(), args)
		err = in.ResumeClock(ctx)
	default:
		_, err = in.Call(ctx, start)
	}
	var end *runtime.EndError
	if errors.As(err, &end) && end.Kind == runtime.KindExit {
		return exit{end.Code & statusBits, end.Refused}, nil
	}
	return exit{}, err
}

// failure returns the error that an exit code means, nil if it means success. The end of standard error comes with
// every failure; a program that explained nothing there is quoted from its standard output.
func (t *tool) failure(e exit, out []byte, said *teller) error {
	o := t.outcomeOf(e.code)
	if o.is == isOK {
		return nil
	}
	end := endOf(runtime.KindExit, "the program exited with code %d", e.code)
	if o.message != "" {
		end.Message = fmt.Sprintf("%s (exit code %d)", o.message, e.code)
	}
	end.Message += e.refused
	if last := lastLines(out); !said.wrote && last != "" {
		separator := ": "
		if strings.Contains(last, "\n") {
			separator = ":\n"
		}
		end.Message += separator + last
	}
	if said.dials {
		end.Message += "; " + NoNetwork
	}
	if o.is == isRetry {
		end.Kind = runtime.KindUnavailable
	}
	end.Code = e.code
	return end
}

// maxQuote limits the output in an error, in bytes. It is the findings of many a linter, whose tool file has no exit.
const maxQuote = 4 << 10

// lastLines returns the end of an output, from the beginning of a line, without invisible characters.
func lastLines(out []byte) string {
	out = bytes.TrimRight(out, " \t\r\n")
	cut := len(out) > maxQuote
	if cut {
		out = out[len(out)-maxQuote:]
		if at := bytes.IndexByte(out, '\n'); at >= 0 {
			out = out[at+1:]
		}
	}
	text, _ := sanitize.Text(strings.ToValidUTF8(string(out), "\uFFFD"))
	if text = strings.TrimSpace(text); cut {
		text = "…\n" + text
	}
	return text
}

func endOf(kind runtime.Kind, format string, args ...any) *runtime.EndError {
	return &runtime.EndError{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// bound is the limit of an output.
type bound struct {
	bytes   int
	setting string // that sets it
}

func (b bound) exceeded() *runtime.EndError {
	return endOf(runtime.KindLimit, "the program's output is over the limit of %d bytes (%s)", b.bytes, b.setting)
}
