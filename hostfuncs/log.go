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

// logMessage serves notifications/message {level, logger?, data}: it goes to the host's log and the client. Every plugin
// may log. Messages beyond the call's limit are dropped.
func logMessage(ctx context.Context, g *Gate, params json.RawMessage, _ runtime.Streams) (json.RawMessage, error) {
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
	err := g.pass(ctx, effect{family: "log", act: "log", leaves: true, do: func(ctx context.Context, _ grant.Decision) error {
		ok, crossed := g.session.takeLog(len(params))
		if crossed {
			g.policy.log(g.call.ID, slog.LevelWarn, "the call logs too much, the rest is dropped", "bytes", maxLogged)
		}
		if ok {
			g.record.count("log", "", 1, 0, 0)
			forwardMessage(ctx, &g.session, g.policy, l, g.Redact(params), g.Redact(data))
		}
		return nil
	}})
	return json.RawMessage("{}"), err
}

// forwardMessage writes a message to the host's log and to the client.
func forwardMessage(ctx context.Context, s *session, p *Policy, l slog.Level, params, data json.RawMessage) {
	text, ok := jsonraw.String(data)
	if !ok {
		text = string(data)
	}
	var attrs []any
	name := p.plugin.Name
	if logger, ok := jsonraw.String(jsonraw.Get(params, "logger")); ok && logger != "" {
		logger = printable(cut(logger, maxMethod))
		attrs, name = []any{"logger", logger}, name+"/"+logger
	}
	p.log(s.call.ID, l, printable(cut(text, maxLogLine)), attrs...)
	if o, err := jsonraw.ParseObject(params); err == nil && s.call.Client != nil {
		o.Set("logger", jsonraw.AppendString(nil, name)) // so that no plugin logs as the host or a different plugin
		s.call.Client.Message(ctx, o.Append(nil))
	}
}

// log writes a line with the plugin's name and the ID of a call.
func (p *Policy) log(call string, l slog.Level, msg string, attrs ...any) {
	p.host.options.Logger.Log(context.Background(), l, msg, append([]any{"plugin", p.plugin.Name, "call", call}, attrs...)...)
}

// output is one standard stream of a guest: each line goes to the host's log, and the end is kept. It accepts all
// input, so that a guest cannot block on it.
type output struct {
	rules *rules // of its call
	name  string // stdout or stderr

	mu      sync.Mutex
	tail    []byte // the end of all output
	line    []byte // the start of an incomplete line
	written int    // bytes logged
}

// outputs are both standard streams of a guest.
type outputs struct{ stdout, stderr output }

func (g *Gate) newOutputs() *outputs {
	return &outputs{output{rules: &g.rules, name: "stdout"}, output{rules: &g.rules, name: "stderr"}}
}

// flush logs the lines that have not ended.
func (o *outputs) flush() {
	o.stderr.flush()
	o.stdout.flush()
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
		o.rules.policy.log(o.rules.call.ID, slog.LevelWarn, "the call writes too much, the rest is dropped", "stream", o.name, "bytes", maxLogged)
		return
	}
	text := o.rules.redact(string(bytes.TrimSuffix(line, []byte("\r"))))
	level := slog.LevelInfo
	if o.rules.policy.plugin.alone { // nobody made the calls of a rehearsal
		level = slog.LevelDebug
	}
	o.rules.policy.log(o.rules.call.ID, level, printable(text), "stream", o.name)
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

func logFamily() family {
	return family{name: "log", methods: map[string]method{"notifications/message": logMessage}, replay: replaySilent, stays: true}
}
