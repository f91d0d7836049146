package command

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strconv"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// reader returns the standard input of a program; nil content is an input at its end.
func reader(content []byte) io.Reader {
	if content == nil {
		return nil
	}
	return bytes.NewReader(content)
}

// capture keeps the standard output of a program, and ends the program at the limit.
type capture struct {
	content []byte
	limit   bound
}

// Write implements io.Writer for a host function.
func (c *capture) Write(p []byte) (int, error) {
	if len(c.content)+len(p) > c.limit.bytes {
		c.content = nil
		runtime.Abort(c.limit.exceeded())
	}
	c.content = append(c.content, p...)
	return len(p), nil
}

const (
	// maxTold limits the lines of standard error that one call sends as progress.
	maxTold = 1000
	// maxToldLine limits one of them, in bytes; the rest of a longer one is dropped.
	maxToldLine = 1 << 10
)

// NoNetwork explains a connection that a program could not open.
const NoNetwork = "a program has no network but HTTP, which sallyport build --go builds into a Go program"

// Dials reports whether a text reports a connection that Go could not open.
func Dials(text []byte) bool {
	return bytes.Contains(text, []byte("dial tcp")) || bytes.Contains(text, []byte("dial udp"))
}

// teller sends each line of standard error as progress.
type teller struct {
	ctx   context.Context
	on    bool
	wrote bool // the program wrote anything
	dials bool // it reports a connection that Go could not open
	line  []byte
	told  int
}

func newTeller(ctx context.Context, mode string) *teller {
	return &teller{ctx: ctx, on: mode == "progress"}
}

// Write implements io.Writer for a host function.
func (t *teller) Write(p []byte) (int, error) {
	t.wrote = t.wrote || len(bytes.TrimSpace(p)) > 0
	t.dials = t.dials || Dials(p)
	if !t.on {
		return len(p), nil
	}
	for rest := p; len(rest) > 0; {
		end := bytes.IndexAny(rest, "\r\n") // a progress bar ends its lines with \r
		part := rest
		if end >= 0 {
			part = rest[:end]
		}
		t.line = append(t.line, part[:min(len(part), maxToldLine-len(t.line))]...)
		if end < 0 {
			break
		}
		t.flush()
		rest = rest[end+1:]
	}
	return len(p), nil
}

// flush sends the line that was begun.
func (t *teller) flush() {
	text := strings.TrimSpace(strings.ToValidUTF8(string(t.line), "\uFFFD"))
	t.line = t.line[:0]
	gate := runtime.GateFrom(t.ctx)
	if text == "" || gate == nil || t.told >= maxTold {
		return
	}
	t.told++
	params := jsonraw.Object{
		{Key: "progress", Value: strconv.AppendInt(nil, int64(t.told), 10)},
		{Key: "message", Value: json.RawMessage(jsonraw.AppendString(nil, text))},
	}.Append(nil)
	_, _ = gate.Ask(t.ctx, "notifications/progress", params, nil) // a caller without a token gets none
}
