package command

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/abi/native"
)

// leadMethod is the method of the request that runs a program to its input, before any call.
const leadMethod = "program/start"

// starter is implemented by a runtime.Gate that can run a program whose input is not there yet.
type starter interface {
	LaunchServer(l runtime.CommandLine, c runtime.Conversation) runtime.Input
}

// waiting is the note of an instance whose program waits for its first input.
type waiting struct{}

var _ runtime.Leader = (*dialect)(nil)

// Lead returns the tool of a call that begins where the program waits for its input (start: once).
func (d *dialect) Lead(req runtime.Request) string {
	if d.err != nil || d.program == nil || req.Method != "tools/call" {
		return ""
	}
	name, _ := jsonraw.String(jsonraw.Get(req.Params, "name"))
	t := d.program.tools[name]
	if t == nil || !t.once {
		return ""
	}
	if !t.constant() {
		if l, _, err := d.program.line(t, jsonraw.Get(req.Params, "arguments")); err != nil || !fits(l.Args) {
			return ""
		}
	}
	return name
}

// LeadIn returns the request that runs the program of a tool to its input.
func (*dialect) LeadIn(tool string) runtime.Request {
	return runtime.Request{Method: leadMethod, Params: jsonraw.Object{{Key: "name", Value: jsonraw.AppendString(nil, tool)}}.Append(nil)}
}

// readStart parses start: once. The line of such a tool is the same for each caller.
func (t *tool) readStart(at place, o jsonraw.Object, _ *schema) error {
	raw, at := o.Get("start"), at.key("start")
	if raw == nil {
		return nil
	}
	if word, _ := jsonraw.String(raw); word != "once" {
		return at.fail("start is once: the program starts once, up to its first read of standard input or to its main function, and each call goes on from there")
	}
	t.once = true
	for _, v := range t.env {
		if v.value != nil {
			return at.fail("a program that starts once has the same variables in each call: pass values by stdin or args, and texts in env")
		}
	}
	return nil
}

// constant reports whether the calls of a tool differ in nothing but their standard input.
func (t *tool) constant() bool {
	for _, e := range t.args {
		if !e.constant() {
			return false
		}
	}
	return t.stdin != nil
}

// constant reports whether an entry is the same in each call.
func (e *entry) constant() bool {
	for _, one := range e.group {
		if !one.constant() {
			return false
		}
	}
	return e.value == nil && e.when == nil
}

// The reasons why a program has no common start.
var (
	errNotGo      = errors.New("it is no program of Go 1.25 or 1.26, which alone can go on in a copy")
	errSpeaks     = runtime.AskErrorf(runtime.KindDenied, "it writes before it reads its input")
	errTimer      = runtime.AskErrorf(runtime.KindDenied, "it waits for a timer before it reads its input")
	errReadsNever = errors.New("it ends without a read of its input")
)

// lead runs the program of a tool until it waits for its input. What it does before is a part of each call.
func (p *Program) lead(ctx context.Context, in *runtime.Instance, params json.RawMessage) (json.RawMessage, error) {
	name, _ := jsonraw.String(jsonraw.Get(params, "name"))
	t, gate := p.tools[name], runtime.GateFrom(ctx)
	launcher, ok := gate.(starter)
	switch {
	case !ok:
		return nil, errors.New("the gate cannot run programs")
	case t == nil || !p.continues:
		return nil, refused(errNotGo)
	}
	if !t.constant() {
		return p.initialize(ctx, in, t)
	}
	command, _, err := p.line(t, nil)
	if err != nil {
		return nil, err
	}
	launcher.LaunchServer(command, runtime.Conversation{Stdout: silent{}, Stderr: silent{}, Unread: 1, Polls: true, Waits: suspend})
	defer native.Attach(in)()
	if err := in.Check(start, nil, nil); err != nil {
		return nil, err
	}
	switch _, err := in.Call(ctx, start); {
	case errors.Is(err, runtime.ErrSuspended):
		in.Note(waiting{})
		return json.RawMessage("null"), nil
	case err != nil:
		return nil, err
	}
	return nil, refused(errReadsNever)
}

func refused(err error) error { return endOf(runtime.KindGuest, "%v", err) }

// suspend ends the start where the program waits for its input and for nothing else.
func suspend(next time.Duration) {
	if next < math.MaxInt64 {
		runtime.Abort(errTimer)
	}
	runtime.Suspend()
}

// silent ends a start that writes: its output would be a part of no call.
type silent struct{}

// Write does not return.
func (silent) Write([]byte) (int, error) {
	runtime.Abort(errSpeaks)
	return 0, nil
}
