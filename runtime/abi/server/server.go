package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/abi/command"
	"github.com/sallyport-mcp/sallyport/runtime/abi/native"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// start is the main function of a program.
const start = "_start"

// ErrNoServer is the cause of the end of a program that did not complete the handshake.
var ErrNoServer = errors.New("the program is no MCP server")

// Recognises reports whether a module may be a server: a WASI program with no tool file in it, or one that says so.
func Recognises(b *wasmbin.Binary) bool {
	raw, described := b.CustomSection(command.Section)
	return (!described || command.ServerOf(raw) != nil) && b.HasExport(start) && !b.HasExport("mcp_handle") && !b.ImportsModule("extism:host/env")
}

// Launcher is implemented by a runtime.Gate that can run a server.
type Launcher interface {
	// LaunchServer sets the command line and the standard streams of a server, before the guest runs. Standard error
	// goes to the log.
	LaunchServer(l runtime.CommandLine, c runtime.Conversation) runtime.Input
}

// dialect serves the calls of a module that is a server.
type dialect struct {
	polls    bool // the guest waits for input in poll_oneoff
	command  runtime.CommandLine
	manifest json.RawMessage // of the tool file, without lists; nil if there is none
	err      error           // of the tool file
}

// alone is the command line of a server without a tool file.
func alone() runtime.CommandLine {
	return runtime.CommandLine{Args: []string{""}, Env: []string{"NO_COLOR=1", "TERM=dumb"}}
}

var (
	_ runtime.Binder    = (*dialect)(nil)
	_ runtime.Ender     = ending{}
	_ runtime.Greeter   = (*resuming)(nil)
	_ runtime.Rehearser = (*resuming)(nil)
)

// New returns the dialect of servers.
func New() runtime.Dialect { return &dialect{command: alone()} }

// Name returns the dialect's name.
func (*dialect) Name() string { return "server" }

// ending is the dialect of a server that cannot be resumed: it ends with its call.
type ending struct{ *dialect }

// Ends implements runtime.Ender.
func (ending) Ends() {}

// Bind reads the tool file in a module, if there is one, and finds out how the module waits. Programs of Go run on while
// a goroutine waits for input only if the input is non-blocking; those of C do not expect such an input.
func (*dialect) Bind(m *runtime.Module) runtime.Dialect {
	producers, _ := m.CustomSection(wasmbin.ProducersSection)
	d := &dialect{polls: bytes.Contains(producers, []byte("Go cmd/compile")), command: alone()}
	d.read(m)
	if d.polls && m.Resumable() {
		_, clocked := m.Clocked()
		return &resuming{dialect: d, clocked: clocked}
	}
	return ending{d}
}

// read reads the tool file of a module.
func (d *dialect) read(m *runtime.Module) {
	raw, ok := m.CustomSection(command.Section)
	if !ok {
		return
	}
	p, err := command.Parse(raw)
	if err != nil {
		d.err = err
		return
	}
	d.manifest = p.Manifest()
	d.command, _ = p.Server()
}

// Serve starts the server for one request, with a handshake before it.
func (d *dialect) Serve(ctx context.Context, in *runtime.Instance, req runtime.Request) (json.RawMessage, error) {
	if d.err != nil {
		return nil, endOf(runtime.KindGuest, "the tool file cannot be used: %v", d.err)
	}
	if err := in.Check(start, nil, nil); err != nil {
		return nil, err
	}
	c := newConversation(ctx, in)
	if err := d.open(c); err != nil {
		return nil, err
	}
	defer native.Attach(in)()
	c.greet(d.clientFor(c, req))
	_, err := in.Call(ctx, start)
	return c.outcome(err, d.manifest == nil)
}

// clientFor returns the client that makes a request.
func (d *dialect) clientFor(c *conversation, req runtime.Request) client {
	if req.Method == "plugin/describe" {
		return &lister{conversation: c, described: d.manifest, done: func(manifest jsonraw.Object) { c.finish(manifest.Append(nil)) }}
	}
	return &single{conversation: c, method: req.Method, params: ownParams(req.Params)}
}

// open connects the conversation to the guest of the call.
func (d *dialect) open(c *conversation) error {
	gate, ok := runtime.GateFrom(c.ctx).(Launcher)
	if !ok {
		return errors.New("the gate cannot run servers")
	}
	c.gate = runtime.GateFrom(c.ctx)
	o := runtime.Conversation{Stdout: c, Stderr: &c.dials, Unread: maxUnread, Polls: d.polls, Waits: c.waits}
	if c.greets {
		o.Reads = c.readings.note
	}
	c.input = gate.LaunchServer(d.command, o)
	return nil
}

// outcome returns the result of the call, after the guest has run. unsure is set if it may be no server at all.
func (c *conversation) outcome(err error, unsure bool) (json.RawMessage, error) {
	switch {
	case c.over:
		return c.result, c.failed
	case errors.Is(err, runtime.ErrSuspended): // the call was cancelled while the guest waited
		return nil, c.ctx.Err()
	}
	return nil, c.ended(err, unsure)
}

// ended explains the end of a guest that did not answer. Without a tool file it may be no server at all.
func (c *conversation) ended(err error, unsure bool) error {
	var end *runtime.EndError
	switch {
	case err == nil:
		end = endOf(runtime.KindExit, "the server ended before it answered %s", c.method)
	case !errors.As(err, &end):
		return err // an error of the server, or of the host
	case end.Kind == runtime.KindExit:
		end = &runtime.EndError{Kind: end.Kind, Code: end.Code, Stack: end.Stack,
			Message: fmt.Sprintf("the server exited with code %d before it answered %s%s", end.Code, c.method, end.Refused)}
	}
	if c.dials {
		end.Message += "; " + command.NoNetwork
	}
	if unsure && c.greeting == nil {
		end.Err = errors.Join(ErrNoServer, end.Err)
	}
	return end
}

// ownParams returns the params of a request without the members of the caller's _meta. A progress token is there if the
// caller gave one, so that the server does not report what nobody asked for, and a _meta if the caller gave one: a server
// may expect what its own client sends.
func ownParams(params json.RawMessage) json.RawMessage {
	o, err := jsonraw.ParseObject(params)
	if err != nil {
		o = nil
	}
	switch meta := o.Get("_meta"); {
	case jsonraw.Get(meta, "progressToken") != nil:
		o.Set("_meta", json.RawMessage(`{"progressToken":`+progressToken+`}`))
	case jsonraw.IsObject(meta):
		o.Set("_meta", json.RawMessage(`{}`))
	default:
		o.Delete("_meta")
	}
	return o.Append(nil)
}

func endOf(kind runtime.Kind, format string, args ...any) *runtime.EndError {
	return &runtime.EndError{Kind: kind, Message: fmt.Sprintf(format, args...)}
}
