// Package logging provides an slog handler that writes with hclog, and a log file with rotation that processes share.
package logging

import (
	"context"
	"io"
	"log/slog"

	"github.com/hashicorp/go-hclog"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
)

// New returns a logger that writes to w with hclog, as text or JSON.
func New(w io.Writer, level string, asJSON bool) *slog.Logger {
	sink := hclog.New(&hclog.LoggerOptions{
		Name:       "sallyport",
		Output:     w,
		Level:      hclog.LevelFromString(level),
		JSONFormat: asJSON,
	})
	return slog.New(&hclogHandler{sink: sink})
}

// hclogHandler is an slog.Handler that writes to an hclog.Logger.
type hclogHandler struct {
	sink  hclog.Logger
	group string // prefix of the keys, with its dot
}

func hclogLevel(l slog.Level) hclog.Level {
	switch {
	case l < slog.LevelDebug:
		return hclog.Trace
	case l < slog.LevelInfo:
		return hclog.Debug
	case l < slog.LevelWarn:
		return hclog.Info
	case l < slog.LevelError:
		return hclog.Warn
	}
	return hclog.Error
}

// Enabled implements slog.Handler.
func (h *hclogHandler) Enabled(_ context.Context, l slog.Level) bool {
	return hclogLevel(l) >= h.sink.GetLevel()
}

// Handle implements slog.Handler.
func (h *hclogHandler) Handle(_ context.Context, r slog.Record) error {
	args := make([]any, 0, 2*r.NumAttrs())
	r.Attrs(func(a slog.Attr) bool {
		args = h.append(args, h.group, a)
		return true
	})
	h.sink.Log(hclogLevel(r.Level), ui.Line(r.Message), args...)
	return nil
}

// append adds the key and value of a; members of a group get dotted keys.
func (h *hclogHandler) append(args []any, prefix string, a slog.Attr) []any {
	v := a.Value.Resolve()
	if v.Kind() != slog.KindGroup {
		return append(args, ui.Line(prefix+a.Key), calm(v.Any()))
	}
	if a.Key != "" {
		prefix += a.Key + "."
	}
	for _, m := range v.Group() {
		args = h.append(args, prefix, m)
	}
	return args
}

// calm escapes control characters in a value; line ends stay.
func calm(v any) any {
	switch v := v.(type) {
	case string:
		return ui.Lines(v)
	case error:
		return ui.Lines(v.Error())
	}
	return v
}

// WithAttrs implements slog.Handler.
func (h *hclogHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	var args []any
	for _, a := range attrs {
		args = h.append(args, h.group, a)
	}
	return &hclogHandler{sink: h.sink.With(args...), group: h.group}
}

// WithGroup implements slog.Handler.
func (h *hclogHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return &hclogHandler{sink: h.sink, group: h.group + name + "."}
}
