package native

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// CodeAsk is the code of every error that the host answers a guest's request with. What went wrong
// is in data.kind.
const CodeAsk = -32000

const (
	// maxAsk bounds the text of what a guest asks in one call of "call". Bodies go through streams.
	maxAsk = 1 << 20
	// maxRound bounds how many requests one round has: each has an effect of its own.
	maxRound = 64
	// maxReply bounds the text of the answer, of a whole round too.
	maxReply = 4 << 20
)

// ask is the host function call(ptr, len i32) -> i64: it asks the host what the len bytes at ptr
// say, and returns the stream that holds the answer.
//
//	result:  63 ─── 32  31 ───── 0
//	          stream     size of the answer in bytes, 0xFFFFFFFF if it is not known
//
// What is wrong with the request is in the answer. -EFAULT: the bytes do not lie within the memory.
// -EMFILE: too many streams are open, and nothing was done. -ECANCEL: the call is over. -ENOSYS: no
// request is being served.
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

// longFailure is -errno as an i64.
func longFailure(e Errno) uint64 { return uint64(-int64(e)) }

// reply performs one request, or a round of them, and returns the text of the answer. The request
// is copied: it lies in the guest's memory and outlives this call in nobody's hands but the gate's.
func (c *call) reply(ctx context.Context, request []byte) []byte {
	if len(request) > maxAsk {
		return appendAskError(nil, limitError("a request has %d bytes, at most %d are allowed", len(request), maxAsk))
	}
	request = bytes.Clone(bytes.TrimLeft(request, " \t\r\n"))
	if len(request) == 0 || request[0] != '[' {
		return c.appendOne(ctx, nil, request, maxReply)
	}
	round, err := rawjson.Elements(request)
	if err != nil {
		return appendAskError(nil, invalidError("the request is not JSON: %v", err))
	}
	if len(round) > maxRound {
		return appendAskError(nil, limitError("a round has %d requests, at most %d are allowed", len(round), maxRound))
	}
	return c.round(ctx, round)
}

// round asks each request of a round in order.
func (c *call) round(ctx context.Context, round []json.RawMessage) []byte {
	dst := []byte{'['}
	for i, one := range round {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = c.appendOne(ctx, dst, one, maxReply-len(dst))
	}
	return append(dst, ']')
}

// appendOne performs one request and appends its answer, of at most max bytes.
func (c *call) appendOne(ctx context.Context, dst, request []byte, max int) []byte {
	method, params, refused := parseAsk(request)
	if refused != nil {
		return appendAskError(dst, refused)
	}
	result, err := c.perform(ctx, method, params)
	switch {
	case errors.As(err, &refused):
		return appendAskError(dst, refused)
	case err != nil && ctx.Err() != nil: // the guest is about to be ended for that
		return appendAskError(dst, &runtime.AskError{Kind: runtime.KindTimeout, Message: "the call is over"})
	case err != nil:
		runtime.Abort(err)
	case len(result) > max:
		return appendAskError(dst, limitError("the answer has %d bytes, at most %d are allowed", len(result), max))
	case len(result) == 0:
		result = json.RawMessage("{}")
	}
	dst = append(dst, `{"result":`...)
	dst = append(dst, result...)
	return append(dst, '}')
}

// parseAsk takes {"method", "params"} apart. Other members are ignored.
func parseAsk(request []byte) (method string, params json.RawMessage, err *runtime.AskError) {
	o, bad := rawjson.ParseObject(request)
	if bad != nil {
		return "", nil, invalidError("the request is not a JSON object: %v", bad)
	}
	method, ok := rawjson.String(o.Get("method"))
	if !ok || method == "" {
		return "", nil, invalidError("the request has no method")
	}
	params = o.Get("params")
	if rawjson.IsNull(params) {
		return method, nil, nil
	}
	if params[0] != '{' {
		return "", nil, invalidError("the params of %q are not an object", method)
	}
	return method, params, nil
}

// perform answers what belongs to this dialect and gives the rest to the gate.
func (c *call) perform(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	if method == "stream/open" {
		return c.openStream(params)
	}
	g := runtime.GateFrom(ctx)
	if g == nil {
		return nil, &runtime.AskError{Kind: runtime.KindUnsupported, Message: "nothing can be asked here"}
	}
	return g.Ask(ctx, method, params, c)
}

// streamMember is how a stream is named in JSON.
const streamMember = "dev.sallyport/stream"

// openStream gives the guest a stream to write, of at most params.limit bytes.
func (c *call) openStream(params json.RawMessage) (json.RawMessage, error) {
	limit := maxSpool
	if raw := rawjson.Get(params, "limit"); !rawjson.IsNull(raw) {
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

// appendAskError writes {"error":{"code","message","data":{"kind","hint","retryAfterMs"}}}.
func appendAskError(dst []byte, e *runtime.AskError) []byte {
	dst = append(dst, `{"error":{"code":`...)
	dst = strconv.AppendInt(dst, CodeAsk, 10)
	dst = append(dst, `,"message":`...)
	dst = rawjson.AppendString(dst, e.Message)
	dst = append(dst, `,"data":{"kind":`...)
	dst = rawjson.AppendString(dst, string(e.Kind))
	if e.Hint != "" {
		dst = append(dst, `,"hint":`...)
		dst = rawjson.AppendString(dst, e.Hint)
	}
	if e.RetryAfterMs > 0 {
		dst = append(dst, `,"retryAfterMs":`...)
		dst = strconv.AppendInt(dst, e.RetryAfterMs, 10)
	}
	return append(dst, "}}}"...)
}
