package native

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// codeAsk is the JSON-RPC code of every error returned to a guest request. The reason is in data.kind.
const codeAsk = -32000

const (
	// maxAsk bounds the text of one guest request or round, in bytes. Bodies go through streams.
	maxAsk = 1 << 20
	// maxRound bounds the requests of one round: each has its own effect.
	maxRound = 64
)

// ask implements call(ptr, len i32) -> i64: it performs the request in the len bytes at ptr, and returns the stream
// that holds the response.
//
//	result:  63 ─── 32  31 ───── 0
//	          stream     size of the response in bytes, 0xFFFFFFFF if unknown
//
// Errors of the request are in the response. -EFAULT: the bytes are out of bounds. -EMFILE: too many open streams, the
// request was not performed. -ECANCEL: the call is over. -ENOSYS: no request is being served.
func ask(ctx context.Context, mem runtime.Memory, stack []uint64) {
	ptr, size := uint32(stack[0]), uint32(stack[1])
	c := callFrom(ctx)
	if c == nil {
		stack[0] = longFailure(ENOSYS)
		return
	}
	p, ok := mem.Read(ptr, size)
	if !ok {
		stack[0] = longFailure(EFAULT)
		return
	}
	if !c.hold() {
		stack[0] = longFailure(EMFILE)
		return
	}
	reply := c.reply(ctx, p)
	c.unhold()
	if ctx.Err() != nil {
		stack[0] = longFailure(ECANCEL)
		return
	}
	if c.full(len(reply)) {
		reply = appendAskError(nil, limitError("open answers hold at most %d bytes: close those that were read", maxAnswers))
	}
	id, ok := c.add(&stream{source: io.NopCloser(bytes.NewReader(reply)), answer: len(reply)})
	if !ok {
		stack[0] = longFailure(EMFILE)
		return
	}
	stack[0] = uint64(id)<<32 | uint64(len(reply))
}

// longFailure returns -errno as an i64.
func longFailure(e Errno) uint64 { return uint64(-int64(e)) }

// reply performs one request, or a round of them, and returns the text of the response. It copies the request from the
// guest's memory, since the gate may keep it longer than this call.
func (c *call) reply(ctx context.Context, request []byte) []byte {
	if len(request) > maxAsk {
		return appendAskError(nil, limitError("a request has %d bytes, at most %d are allowed", len(request), maxAsk))
	}
	request = bytes.Clone(bytes.TrimLeft(request, " \t\r\n"))
	if len(request) == 0 || request[0] != '[' {
		return appendAnswer(ctx, nil, c.perform(ctx, []json.RawMessage{request})[0], runtime.MaxReply)
	}
	round, err := jsonraw.Elements(request)
	if err != nil {
		return appendAskError(nil, invalidError("the request is not JSON: %v", err))
	}
	if len(round) > maxRound {
		return appendAskError(nil, limitError("a round has %d requests, at most %d are allowed", len(round), maxRound))
	}
	dst := []byte{'['}
	for i, a := range c.perform(ctx, round) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendAnswer(ctx, dst, a, runtime.MaxReply-len(dst))
	}
	return append(dst, ']')
}

// perform handles this dialect's own methods and passes the others to the gate, as one round.
func (c *call) perform(ctx context.Context, requests []json.RawMessage) []runtime.Answer {
	answers := make([]runtime.Answer, len(requests))
	var round []runtime.Question
	var places []int
	for i, raw := range requests {
		q, refused := parseAsk(raw)
		switch {
		case refused != nil:
			answers[i].Err = refused
		case q.Method == "stream/open":
			answers[i].Result, answers[i].Err = c.openStream(q.Params)
		case c.program && !isForPrograms(q.Method):
			answers[i].Err = &runtime.AskError{Kind: runtime.KindUnsupported,
				Message: fmt.Sprintf("a program may call http/fetch and stream/open, not %.100q", q.Method)}
		default:
			round, places = append(round, q), append(places, i)
		}
	}
	for i, a := range c.consult(ctx, round) {
		answers[places[i]] = a
	}
	return answers
}

// consult asks the gate. A gate without Rounds gets one request after the other.
func (c *call) consult(ctx context.Context, round []runtime.Question) []runtime.Answer {
	if len(round) == 0 {
		return nil
	}
	g := runtime.GateFrom(ctx)
	if r, ok := g.(runtime.Rounds); ok {
		return r.AskRound(ctx, round, c)
	}
	answers := make([]runtime.Answer, len(round))
	for i, q := range round {
		if g == nil {
			answers[i].Err = &runtime.AskError{Kind: runtime.KindUnsupported, Message: "nothing can be asked here"}
			continue
		}
		answers[i].Result, answers[i].Err = g.Ask(ctx, q.Method, q.Params, c)
	}
	return answers
}

// appendAnswer appends one response of at most max bytes. An error that must not be shown to the guest ends it.
func appendAnswer(ctx context.Context, dst []byte, a runtime.Answer, max int) []byte {
	var refused *runtime.AskError
	result := a.Result
	switch {
	case errors.As(a.Err, &refused):
		return appendAskError(dst, refused)
	case a.Err != nil && ctx.Err() != nil: // the guest is about to be ended for that
		return appendAskError(dst, &runtime.AskError{Kind: runtime.KindTimeout, Message: "the call is over"})
	case a.Err != nil:
		runtime.Abort(a.Err)
	case len(result) > max:
		return appendAskError(dst, limitError("the answer has %d bytes, at most %d are allowed", len(result), max))
	case len(result) == 0:
		result = json.RawMessage("{}")
	}
	dst = append(dst, `{"result":`...)
	dst = append(dst, result...)
	return append(dst, '}')
}

// parseAsk parses {"method", "params", "key"}. Other members are ignored.
func parseAsk(request []byte) (q runtime.Question, err *runtime.AskError) {
	o, bad := jsonraw.ParseObject(request)
	if bad != nil {
		return q, invalidError("the request is not a JSON object: %v", bad)
	}
	method, ok := jsonraw.String(o.Get("method"))
	if !ok || method == "" {
		return q, invalidError("the request has no method")
	}
	q.Method = method
	q.Key, _ = jsonraw.String(o.Get("key"))
	params := o.Get("params")
	if jsonraw.IsNull(params) {
		return q, nil
	}
	if params[0] != '{' {
		return q, invalidError("the params of %q are not an object", method)
	}
	q.Params = params
	return q, nil
}

// streamMember is the JSON member that holds a stream ID.
const streamMember = "dev.sallyport/stream"

// openStream opens a stream for the guest to write, of at most params.limit bytes.
func (c *call) openStream(params json.RawMessage) (json.RawMessage, error) {
	limit := maxSpool
	if raw := jsonraw.Get(params, "limit"); !jsonraw.IsNull(raw) {
		n, err := strconv.ParseInt(string(raw), 10, 64)
		if err != nil || n < 0 {
			return nil, invalidError("the limit of a stream is a number of bytes")
		}
		if n > maxSpool {
			return nil, limitError("a stream holds at most %d bytes", maxSpool)
		}
		limit = int(n)
	}
	id, ok := c.add(&stream{limit: limit})
	if !ok {
		return nil, tooManyStreams()
	}
	return fmt.Appendf(nil, `{%q:%d}`, streamMember, id), nil
}

func invalidError(format string, args ...any) *runtime.AskError {
	return &runtime.AskError{Kind: runtime.KindInvalid, Message: fmt.Sprintf(format, args...)}
}

func limitError(format string, args ...any) *runtime.AskError {
	return &runtime.AskError{Kind: runtime.KindLimit, Message: fmt.Sprintf(format, args...)}
}

// appendAskError appends {"error":{"code","message","data":{"kind","hint","retryAfterMs","requiredCapabilities"}}}.
func appendAskError(dst []byte, e *runtime.AskError) []byte {
	dst = append(dst, `{"error":{"code":`...)
	dst = strconv.AppendInt(dst, codeAsk, 10)
	dst = append(dst, `,"message":`...)
	dst = jsonraw.AppendString(dst, e.Message)
	dst = append(dst, `,"data":{"kind":`...)
	dst = jsonraw.AppendString(dst, string(e.Kind))
	if e.Hint != "" {
		dst = append(dst, `,"hint":`...)
		dst = jsonraw.AppendString(dst, e.Hint)
	}
	if e.RetryAfterMs > 0 {
		dst = append(dst, `,"retryAfterMs":`...)
		dst = strconv.AppendInt(dst, e.RetryAfterMs, 10)
	}
	if e.Requires != nil {
		dst = append(dst, `,"requiredCapabilities":`...)
		dst = append(dst, e.Requires...)
	}
	return append(dst, "}}}"...)
}
