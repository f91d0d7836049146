package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/helptext"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/host"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/logging"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/userfile"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/shellword"
	"github.com/sallyport-mcp/sallyport/registry"
	"github.com/sallyport-mcp/sallyport/registry/toolfile"
	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/abi/command"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

func newWrap(std stdio) *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use:   "wrap PROGRAM.wasm",
		Short: "write a first tool file for a command-line program",
		Long: `Write a first tool file for a command-line program, PROGRAM.tool.yaml beside it, with the options and sub-commands that
its help names. The program is run with --help, without any grant. Read the file before you serve it.`,
		Args: words(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := loadSettings(c, "")
			if err != nil {
				return err
			}
			return wrap(c.Context(), s, std, args[0], force)
		},
	}
	c.Flags().BoolVar(&force, "force", false, "replace the tool file that is there")
	return c
}

// forWASI is the next step for a program that is no module.
const forWASI = "a program has to be built for WASI: sallyport build --go PACKAGE@VERSION for Go, the target wasm32-wasip1 for Rust and C"

// wrap drafts the tool file of a program from its help.
func wrap(ctx context.Context, s *settings.Settings, std stdio, file string, force bool) error {
	out := toolfile.Beside(file)
	if out == "" {
		return ui.Hint(fmt.Errorf("%s: not a WebAssembly module by its name, which ends in .wasm", ui.Line(file)), forWASI)
	}
	there := ui.Hint(fmt.Errorf("%s: there is a tool file already", ui.Line(out)), "--force replaces it")
	if old, err := userfile.Read(out); err != nil || old != nil && !force {
		return cmp.Or(err, there)
	}
	commands, err := helpOf(ctx, s, std, file)
	if err != nil {
		return fmt.Errorf("%s: %w", ui.Line(file), err)
	}
	stem := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	text := helptext.Draft(stem, commands.summary, commands.list)
	if _, _, err := toolfile.Parse([]byte(text)); err != nil {
		return fmt.Errorf("%s: its help cannot be made into a tool file: %w; docs/programs.md shows how to write one", ui.Line(file), err)
	}
	_, err = userfile.Change(out, func(old []byte) ([]byte, error) {
		if old != nil && !force {
			return nil, there
		}
		return []byte(text), nil
	}, userfile.Options{})
	if err != nil {
		return err
	}
	options, valued := 0, 0
	for _, c := range commands.list {
		options += len(c.Usage.Options)
		valued += len(slices.DeleteFunc(slices.Clone(c.Usage.Options), func(o helptext.Option) bool { return o.Value == "" }))
	}
	fmt.Fprintf(std.out, "wrote %s: %s, %s\n", ui.Line(out), ui.Count(len(commands.list), "tool"), ui.Count(options, "option"))
	if valued == 0 && options > 2 {
		fmt.Fprintln(std.out, `its help names no value of an option, so each is a flag there; write [-n, "{n}"] for one that has a value`)
	}
	fmt.Fprintln(std.out, "the help is written for people: read the file and mend it, then check it:")
	fmt.Fprintf(std.out, "  sallyport inspect %s\n", ui.Line(shellword.Quoted(file)))
	return nil
}

// helped are the commands of a program whose help was read.
type helped struct {
	summary string
	list    []helptext.Command
}

// helpOf runs the program with --help, and each of its sub-commands.
func helpOf(ctx context.Context, s *settings.Settings, std stdio, file string) (_ *helped, err error) {
	wasm, _, err := fileid.Read(file)
	if err != nil {
		return nil, err
	}
	b, err := wasmbin.Read(wasm)
	if err != nil {
		return nil, ui.Hint(err, forWASI)
	}
	if !command.IsProgram(b) || b.HasExport("mcp_handle") {
		return nil, errors.New("this is no command-line program: it exports no _start, or is a plugin already")
	}
	std.detach(s)
	defer std.flush()
	h, err := host.Open(ctx, host.Options{Settings: s, Logger: logging.For(s, std.err), Files: []registry.File{}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeWithin(drain, h.Close)) }()
	module, err := h.Engine.Compile(ctx, wasm)
	if err != nil {
		return nil, err
	}
	defer module.Close()
	stem := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	text, err := firstHelp(ctx, module, stem)
	if err != nil {
		return nil, err
	}
	usage := helptext.Parse(text)
	found := &helped{summary: usage.Summary}
	for _, c := range usage.Commands {
		text, err := helpText(ctx, module, stem, append(c.Words, "--help"))
		if err != nil {
			return nil, err
		}
		c.Usage = helptext.Parse(text, c.Words...)
		found.list = append(found.list, c)
	}
	if len(found.list) == 0 || len(usage.Positionals) > 0 {
		found.list = append([]helptext.Command{{Usage: usage}}, found.list...)
	}
	return found, nil
}

// firstHelp returns the first help text that names an option or a command, or else the first one at all.
func firstHelp(ctx context.Context, m *runtime.Module, program string) (first string, err error) {
	for _, args := range [][]string{{"--help"}, {"-h"}, {"help"}, nil} {
		text, err := helpText(ctx, m, program, args)
		if err != nil {
			return "", err
		}
		if u := helptext.Parse(text); len(u.Options)+len(u.Commands) > 0 {
			return text, nil
		}
		if first == "" {
			first = text
		}
	}
	if strings.TrimSpace(first) == "" {
		return "", errors.New("it prints no help; docs/programs.md shows how to write the tool file")
	}
	return first, nil
}

const (
	// helpTime bounds one run of a program for its help.
	helpTime = 20 * time.Second
	// helpMemory bounds its memory, in bytes.
	helpMemory = 1 << 30
	// helpSize bounds a help text, in bytes.
	helpSize = 256 << 10
)

// helpText runs a program without grants and returns what it wrote.
func helpText(ctx context.Context, m *runtime.Module, program string, args []string) (string, error) {
	texts := make([]json.RawMessage, len(args))
	for i, arg := range args {
		texts[i] = jsonraw.AppendString(nil, strings.NewReplacer("{", "{{", "}", "}}").Replace(arg))
	}
	spec := fmt.Sprintf(`{"tools":[{"name":"help","args":%s,"exit":{"other":"ok"}}]}`, jsonraw.Array(texts))
	p, err := command.Parse([]byte(spec))
	if err != nil {
		return "", err
	}
	pool := runtime.NewPool(m, command.Of(p), &runtime.PoolOptions{
		Limits: runtime.Limits{Deadline: helpTime, Memory: helpMemory, Output: helpSize}, State: runtime.StateFresh,
	})
	defer pool.Close(ctx)
	g := &helpGate{program: program}
	defer g.close()
	_, err = pool.Call(ctx, runtime.Request{Method: "tools/call", Params: json.RawMessage(`{"name":"help"}`)}, g)
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err != nil && g.text.Len() == 0 {
		return "", err
	}
	return g.text.String(), nil
}

// helpGate is the gate of a program that prints its help: it grants nothing.
type helpGate struct {
	program string
	options wasi.Options
	state   *wasi.State
	text    strings.Builder
}

var (
	_ command.Launcher = (*helpGate)(nil)
	_ wasi.Host        = (*helpGate)(nil)
)

// Ask implements runtime.Gate.
func (g *helpGate) Ask(context.Context, string, json.RawMessage, runtime.Streams) (json.RawMessage, error) {
	return nil, &runtime.AskError{Kind: runtime.KindDenied, Message: "nothing is granted to a program that prints its help"}
}

// Launch implements command.Launcher. Help comes on either stream.
func (g *helpGate) Launch(l runtime.CommandLine, stdin io.Reader, _, _ io.Writer) {
	l.Args[0] = g.program
	g.options = wasi.Options{Args: l.Args, Env: append(l.Env, "COLUMNS=120"), Stdin: stdin, Stdout: g, Stderr: g}
}

// Write keeps the beginning of what the program writes.
func (g *helpGate) Write(p []byte) (int, error) {
	g.text.Write(p[:min(len(p), helpSize-g.text.Len())])
	return len(p), nil
}

// Input implements command.Launcher.
func (*helpGate) Input(string) io.Reader { return nil }

// InputResource implements command.Launcher.
func (*helpGate) InputResource(context.Context, string) io.Reader { return nil }

// ReadResult implements command.Launcher.
func (*helpGate) ReadResult(string, int, string) ([]byte, error) { return nil, fs.ErrNotExist }

// WASI implements wasi.Host.
func (g *helpGate) WASI() *wasi.State {
	if g.state == nil {
		g.state = wasi.NewState(g.options)
	}
	return g.state
}

func (g *helpGate) close() {
	if g.state != nil {
		g.state.Close()
	}
}
