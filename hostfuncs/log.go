package hostfuncs

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"sync"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Limits of the logs of one call: a plugin that logs in a loop must not fill a disk.
const (
	maxLogged  = 1 << 20  // bytes of messages, and of each standard stream
	maxMessage = 64 << 10 // bytes of one message
	maxLogLine = 4 << 10  // bytes of one line in the host's log
	tailSize   = 8 << 10  // bytes of standard error kept for the error of a call
)

// level converts an MCP log level to slog.
func level(name string) (slog.Level, bool) {
	switch name {
	case "debug":
		return slog.LevelDebug, true
	case "info", "notice":
		return slog.LevelInfo, true
	case "warning":
		return slog.LevelWarn, true
	case "error", "critical", "alert", "emergency":
		return slog.LevelError, true
	}
	return 0, false
}

// message serves notifications/message {level, logger?, data}: it goes to the host's log and the client. Every plugin
// may log. Messages beyond the call's limit are dropped.
func (g *Gate) message(ctx context.Context, params json.RawMessage, _ runtime.Streams) (json.RawMessage, error) {
	name, _ := jsonraw.String(jsonraw.Get(params, "level"))
	l, ok := level(name)
	data := jsonraw.Get(params, "data")
	if !ok {
		return nil, askErrorf(runtime.KindInvalid, "level %q is not one of debug, info, notice, warning, error, critical, "+
			"alert, emergency", cut(name, maxMethod))
	}
	if data == nil {
		return nil, askErrorf(runtime.KindInvalid, "a message needs data")
	}
	if len(params) > maxMessage {
		return nil, askErrorf(runtime.KindLimit, "a message is longer than %d bytes", maxMessage)
	}
	if !g.mayLog(len(params)) {
		return json.RawMessage("{}"), nil
	}
	err := g.pass(ctx, effect{family: "log", act: "log", do: func(ctx context.Context, _ grant.Decision) error {
		g.logMessage(ctx, l, params, data)
		return nil
	}})
	return json.RawMessage("{}"), err
}

// mayLog counts bytes of messages, and warns once at the limit.
func (g *Gate) mayLog(n int) bool {
	g.mu.Lock()
	before := g.logged
	g.logged = min(before+n, maxLogged+1)
	after := g.logged
	g.mu.Unlock()
	if before <= maxLogged && after > maxLogged {
		g.log(slog.LevelWarn, "the call logs too much, the rest is dropped", "bytes", maxLogged)
	}
	return after <= maxLogged
}

func (g *Gate) logMessage(ctx context.Context, l slog.Level, params, data json.RawMessage) {
	params, data = g.Redact(params), g.Redact(data)
	text, ok := jsonraw.String(data)
	if !ok {
		text = string(data)
	}
	var attrs []any
	name := g.policy.plugin.Name
	if logger, ok := jsonraw.String(jsonraw.Get(params, "logger")); ok && logger != "" {
		logger = printable(cut(logger, maxMethod))
		attrs, name = []any{"logger", logger}, name+"/"+logger
	}
	g.log(l, printable(cut(text, maxLogLine)), attrs...)
	if o, err := jsonraw.ParseObject(params); err == nil && g.call.Client != nil {
		o.Set("logger", jsonraw.AppendString(nil, name)) // so that no plugin logs as the host or a different plugin
		g.call.Client.Message(ctx, o.Append(nil))
	}
}

// log writes a line with the plugin's name and the call's ID.
func (g *Gate) log(l slog.Level, msg string, attrs ...any) {
	g.policy.host.logger.Log(context.Background(), l, msg, append([]any{"plugin", g.policy.plugin.Name, "call", g.call.ID}, attrs...)...)
}

// output is one standard stream of a guest: each line goes to the host's log, and the end is kept. It accepts all
// input, so that a guest cannot block on it.
type output struct {
	gate *Gate
	name string // stdout or stderr

	mu      sync.Mutex
	tail    []byte // the end of all output
	line    []byte // the start of an incomplete line
	written int    // bytes logged
}

// Write takes guest output. It never fails.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tail = appendTail(o.tail, p)
	for rest := p; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		if room := maxLogLine - len(o.line); room > 0 {
			o.line = append(o.line, line[:min(room, len(line))]...)
		}
		if ended {
			o.emit()
		}
		rest = after
	}
	return len(p), nil
}

// appendTail keeps the last tailSize bytes.
func appendTail(tail, p []byte) []byte {
	if len(p) >= tailSize {
		return append(tail[:0], p[len(p)-tailSize:]...)
	}
	if over := len(tail) + len(p) - tailSize; over > 0 {
		tail = tail[:copy(tail, tail[over:])]
	}
	return append(tail, p...)
}

// emit logs a complete line.
func (o *output) emit() {
	line := o.line
	o.line = o.line[:0]
	if len(line) == 0 || o.written > maxLogged {
		return
	}
	if o.written += len(line) + 1; o.written > maxLogged {
		o.gate.log(slog.LevelWarn, "the call writes too much, the rest is dropped", "stream", o.name, "bytes", maxLogged)
		return
	}
	text := o.gate.redact(string(bytes.TrimSuffix(line, []byte("\r"))))
	o.gate.log(slog.LevelInfo, printable(text), "stream", o.name)
}

func (o *output) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.emit()
}

// Tail returns the end of the output.
func (o *output) Tail() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	return bytes.Clone(o.tail)
}
