package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/runtime"
)

const (
	// latest is the newest version of the protocol with a handshake.
	latest = "2025-11-25"
	// initialize is the method of the handshake.
	initialize = "initialize"
	// progressToken is the token of the request of a call.
	progressToken = `"sallyport"`
	// maxMessages limits the messages and other lines of a server in one call.
	maxMessages = 10000
	// maxUnread limits the messages that a server was sent and has not read, in bytes.
	maxUnread = 64 << 20
	// envelope is the size of a message around its result, in bytes.
	envelope = 64 << 10
	// maxNote limits a line in an error or in the log, in bytes.
	maxNote = 400
	// codeRefused is the JSON-RPC code of a refused request of the server; the reason is in data.kind.
	codeRefused = -32000
)

// versions are the versions of the protocol with a handshake.
var versions = []string{latest, "2025-06-18", "2025-03-26", "2024-11-05"}

// client is the purpose of a conversation.
type client interface {
	// begin sends the first request after the handshake.
	begin()
	// resumed sends the first request to a server that completed the handshake before.
	resumed()
	// answered takes the response to a request that the client sent. It sends the next one, or finishes.
	answered(result json.RawMessage, failed *jsonrpc.Error)
}

// conversation is the host's side of the protocol in one call. The guest's writes drive it: it is used by the
// goroutine of the call only.
type conversation struct {
	ctx    context.Context
	in     *runtime.Instance
	gate   runtime.Gate
	input  runtime.Input
	client client
	limit  int // of a result, in bytes
	// settles makes the guest run on after the answer, until it waits. Without it the answer ends the guest.
	settles bool
	greets  bool // it prepares all calls, and none is served
	// readings, with greets, are those of the start.
	readings *readings

	line     []byte          // the start of an incomplete line
	received int             // lines
	id       int             // of the last request
	method   string          // of the request without a response; "" if there is none
	greeting json.RawMessage // the result of initialize; nil until the handshake is complete
	stale    []int           // cancelled requests of earlier calls, without a response

	changed map[string]bool // the capabilities whose lists changed, to be read again
	reread  bool            // they were read again in this call
	patient bool            // the guest was given maxSoon in this call

	over   bool
	result json.RawMessage
	failed error // in place of the result
	dials  dials // of standard error
}

func newConversation(ctx context.Context, in *runtime.Instance) *conversation {
	return &conversation{ctx: ctx, in: in, limit: in.Limits().Output}
}

// greet sends the first message of the handshake.
func (c *conversation) greet(client client) {
	c.client = client
	c.request(initialize, json.RawMessage(`{"protocolVersion":"`+latest+`",`+
		`"capabilities":{"roots":{},"sampling":{"tools":{},"context":{}},"elicitation":{"form":{},"url":{}}},`+
		`"clientInfo":{"name":"sallyport","version":"1"}}`))
}

// request sends a request. There is one at a time.
func (c *conversation) request(method string, params json.RawMessage) {
	c.id++
	c.method = method
	m := jsonrpc.Message{ID: c.requestID(), Method: method, Params: params}
	c.send(m.Append(nil))
}

func (c *conversation) requestID() json.RawMessage { return strconv.AppendInt(nil, int64(c.id), 10) }

func (c *conversation) send(message []byte) {
	if !c.input.Send(append(slices.Clip(jsonraw.OneLine(message)), '\n')) {
		runtime.Abort(endOf(runtime.KindLimit, "the server reads none of the messages that it is sent: over %d bytes wait", maxUnread))
	}
}

// finish ends the call with a result.
func (c *conversation) finish(result json.RawMessage) {
	if len(result) > c.limit {
		runtime.Abort(endOf(runtime.KindLimit, "the server's result is over the limit of %d bytes (%s)", c.limit, c.in.OutputSetting()))
	}
	c.conclude(bytes.Clone(result), nil)
}

// fail ends the call with the error that the guest returned.
func (c *conversation) fail(e *jsonrpc.Error) {
	c.conclude(nil, &runtime.GuestError{Code: e.Code, Message: strings.Clone(e.Message), Data: bytes.Clone(e.Data)})
}

// conclude ends the call, and the guest at once or when it waits.
func (c *conversation) conclude(result json.RawMessage, failed error) {
	c.over, c.result, c.failed = true, result, failed
	if !c.settles {
		runtime.Suspend()
	}
	c.in.Allow(settleFuel)
}

// maxSoon is the time in which a server that has answered may go on without a message. Servers collect changes of their
// lists for some milliseconds.
const maxSoon = 20 * time.Millisecond

// waits is called when the guest would wait in poll_oneoff, for a message or the next of its timers. One that has read
// initialize and waits without a timer does so for ever: it is sent nothing else before its answer.
func (c *conversation) waits(next time.Duration) {
	switch {
	case c.greeting == nil && c.method == initialize && next == math.MaxInt64:
		runtime.Abort(endOf(runtime.KindGuest, "the server waits for more input, and has not answered initialize"))
	case c.greeting == nil:
	case c.ctx.Err() != nil:
		runtime.Suspend()
	case !c.over && c.greets && c.method == ping: // it does not answer any
		c.method, c.stale = "", append(c.stale, c.id)
		c.client.answered(nil, &jsonrpc.Error{})
		runtime.Suspend() // the greeter has finished
	case !c.over:
	case c.changed != nil && !c.reread && !c.greets:
		c.reread = true
		reread(c)
	case next < maxSoon && !c.patient && c.settles && !c.greets:
		c.patient = true
	default:
		runtime.Suspend()
	}
}

// Write takes the guest's standard output.
func (c *conversation) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		if len(c.line)+len(line) > c.limit+envelope {
			c.line = nil
			runtime.Abort(endOf(runtime.KindLimit, "a message of the server is over the limit of %d bytes (%s)", c.limit, c.in.OutputSetting()))
		}
		c.line = append(c.line, line...)
		if ended {
			whole := c.line
			c.line = nil // a message may be kept longer than this write
			c.receive(bytes.TrimSpace(whole))
		}
		rest = after
	}
	return len(p), nil
}

// receive takes one line. Text that is no message goes to the log.
func (c *conversation) receive(line []byte) {
	if len(line) == 0 {
		return
	}
	if c.received++; c.received > maxMessages {
		runtime.Abort(endOf(runtime.KindLimit, "the server wrote over %d messages in one call", maxMessages))
	}
	m, err := jsonrpc.Parse(line)
	switch {
	case err != nil:
		c.unreadable(line)
	case m.IsResponse():
		c.response(&m)
	case m.IsRequest():
		c.send(c.serve(&m))
	default:
		c.notified(&m)
	}
}

// unreadable logs a line that is no message, unless it would be the awaited response if it were UTF-8.
func (c *conversation) unreadable(line []byte) {
	m, err := jsonrpc.Parse(bytes.ToValidUTF8(line, []byte("\uFFFD")))
	if err == nil && m.IsResponse() && c.awaits(m.ID) {
		runtime.Abort(endOf(runtime.KindGuest, "the server's response to %s is not valid UTF-8", c.method))
	}
	c.note("info", string(line))
}

// awaits reports whether a request with this id has no response yet.
func (c *conversation) awaits(id json.RawMessage) bool {
	return c.method != "" && bytes.Equal(id, c.requestID())
}

// response takes the response to the request that waits; others are logged.
func (c *conversation) response(m *jsonrpc.Message) {
	method := c.method
	if i := slices.IndexFunc(c.stale, func(id int) bool { return string(m.ID) == strconv.Itoa(id) }); i >= 0 {
		c.stale = slices.Delete(slices.Clone(c.stale), i, i+1)
		return
	}
	if !c.awaits(m.ID) {
		c.note("warning", "the server answered a request that it was not sent, with id "+string(m.ID))
		return
	}
	c.method = ""
	if method == initialize {
		c.initialized(m)
		return
	}
	c.client.answered(m.Result, m.Error)
}

// initialized completes the handshake.
func (c *conversation) initialized(m *jsonrpc.Message) {
	if m.Error != nil {
		c.refuse("it refused initialize with error %d: %s", m.Error.Code, cut(m.Error.Message))
	}
	version, _ := jsonraw.String(jsonraw.Get(m.Result, "protocolVersion"))
	if !slices.Contains(versions, version) {
		c.refuse("it speaks protocol version %q; known are %s", cut(version), strings.Join(versions, ", "))
	}
	c.greeting = bytes.Clone(m.Result)
	c.send(jsonrpc.AppendNotification(nil, "notifications/initialized", nil))
	c.client.begin()
}

// has reports whether the server has announced a capability.
func (c *conversation) has(capability string) bool {
	return jsonraw.Get(c.greeting, "capabilities", capability) != nil
}

// refuse ends a guest that does not complete the handshake.
func (c *conversation) refuse(format string, args ...any) {
	runtime.Abort(endOf(runtime.KindGuest, "the server cannot be used: "+format, args...))
}

// serve performs a request of the server at the gate, and returns the response.
func (c *conversation) serve(m *jsonrpc.Message) []byte {
	switch m.Method {
	case ping:
		return jsonrpc.AppendResult(nil, m.ID, nil)
	case "sampling/createMessage", "elicitation/create", "roots/list":
	default:
		return jsonrpc.AppendError(nil, m.ID, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "this client serves no " + cut(m.Method)})
	}
	if c.greets {
		runtime.Abort(endOf(runtime.KindDenied, "it sends %s before it serves a call", m.Method))
	}
	result, err := c.gate.Ask(c.ctx, m.Method, m.Params, nil)
	var refused *runtime.AskError
	switch {
	case err == nil:
		return jsonrpc.AppendResult(nil, m.ID, result)
	case !errors.As(err, &refused):
		runtime.Abort(err)
	}
	data := jsonraw.Object{{Key: "kind", Value: jsonraw.AppendString(nil, string(refused.Kind))}}
	if refused.Hint != "" {
		data.Set("hint", jsonraw.AppendString(nil, refused.Hint))
	}
	return jsonrpc.AppendError(nil, m.ID, &jsonrpc.Error{Code: codeRefused, Message: refused.Message, Data: data.Append(nil)})
}

// notified passes a notification to the gate. Those with no meaning for a caller are dropped.
func (c *conversation) notified(m *jsonrpc.Message) {
	params := m.Params
	switch m.Method {
	case "notifications/progress":
		o, err := jsonraw.ParseObject(params)
		if err != nil || string(o.Get("progressToken")) != progressToken {
			return
		}
		o.Delete("progressToken") // the gate adds the caller's
		params = o.Append(nil)
	case "notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed":
		if c.noteChange(m.Method, params) {
			return
		}
	case "notifications/message", "notifications/resources/updated":
	default:
		return
	}
	c.tell(m.Method, params)
}

// tell passes a notification to the gate. A refusal has no effect on the server; the end of the call has.
func (c *conversation) tell(method string, params json.RawMessage) {
	if c.greets {
		return
	}
	_, err := c.gate.Ask(c.ctx, method, params, nil)
	var refused *runtime.AskError
	if err != nil && !errors.As(err, &refused) {
		runtime.Abort(err)
	}
}

// note logs a line.
func (c *conversation) note(level, text string) {
	c.tell("notifications/message", jsonraw.Object{
		{Key: "level", Value: jsonraw.AppendString(nil, level)},
		{Key: "logger", Value: json.RawMessage(`"stdout"`)},
		{Key: "data", Value: jsonraw.AppendString(nil, cut(text))},
	}.Append(nil))
}

// cut returns the beginning of a text of the server, as UTF-8.
func cut(text string) string {
	if len(text) <= maxNote {
		return strings.ToValidUTF8(text, "\uFFFD")
	}
	return strings.ToValidUTF8(text[:maxNote], "\uFFFD") + "…"
}
