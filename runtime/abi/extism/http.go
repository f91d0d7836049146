package extism

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// streamMember is the JSON member that holds a stream ID.
const streamMember = "dev.sallyport/stream"

// httpFuncs returns the kernel's functions for HTTP.
func httpFuncs() []runtime.HostFunc {
	const i32, i64 = runtime.I32, runtime.I64
	return []runtime.HostFunc{
		hostFunc(Module, "http_request", []byte{i64, i64}, i64, httpRequest),
		kernel("http_status_code", nil, i32, func(c *call, stack []uint64) { stack[0] = uint64(uint32(c.status)) }),
		kernel("http_headers", nil, i64, httpHeaders),
	}
}

// httpRequest implements http_request(request, body i64) -> i64: it performs {url, method?, headers?} with the block
// body as request body, 0 for none, and returns a block with the response body, or 0 if that is empty. It frees both
// blocks. A denial ends the guest, since the ABI cannot report it.
func httpRequest(ctx context.Context, c *call, _ runtime.Memory, stack []uint64) {
	c.status = 0
	c.headers = make(map[string]string)
	x := &exchange{}
	defer x.close()
	params, err := c.fetchParams(stack[0], stack[1], x)
	if err == nil {
		stack[0], err = c.fetch(ctx, params, x)
	}
	if err != nil {
		runtime.Abort(err)
	}
}

// webRequest is the guest's request. Member names are matched case-insensitively, as in Extism's Go host.
type webRequest struct {
	URL     string
	Method  string
	Headers map[string]string
}

// fetchParams builds the params of http/fetch from two blocks.
func (c *call) fetchParams(request, body uint64, x *exchange) (json.RawMessage, error) {
	raw := c.text("a request", request, maxAsk)
	c.free(request)
	var r webRequest
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, guestFault("the guest's request is not {url, method, headers}: %v", err)
	}
	if body != 0 {
		x.body = append([]byte{}, c.arena.contents(body)...)
		c.free(body)
	}
	return r.params(body != 0), nil
}

func (r *webRequest) params(body bool) json.RawMessage {
	dst := jsonraw.AppendString([]byte(`{"url":`), r.URL)
	if r.Method != "" {
		dst = jsonraw.AppendString(append(dst, `,"method":`...), r.Method)
	}
	dst = append(dst, `,"headers":{`...)
	for i, name := range slices.Sorted(maps.Keys(r.Headers)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(jsonraw.AppendString(dst, name), ':')
		dst = jsonraw.AppendString(dst, r.Headers[name])
	}
	dst = append(dst, '}')
	if body {
		dst = append(dst, `,"body":{"`+streamMember+`":`...)
		dst = append(strconv.AppendInt(dst, bodyStream, 10), '}')
	}
	return append(dst, '}')
}

// fetch performs the request through the gate, records status and headers, and stores the body in a block.
func (c *call) fetch(ctx context.Context, params json.RawMessage, x *exchange) (uint64, error) {
	answer, err := ask(ctx, "http/fetch", params, x)
	if err != nil {
		return 0, err
	}
	status, _ := strconv.ParseUint(string(jsonraw.Get(answer, "status")), 10, 16)
	c.status = int32(status)
	c.keepHeaders(jsonraw.Get(answer, "headers"))
	id, _ := strconv.ParseUint(string(jsonraw.Get(answer, "body", streamMember)), 10, 32)
	stream := x.stream(id)
	if stream == nil {
		return 0, nil
	}
	// One byte more than fits detects a response that is too long.
	room := c.arena.limit
	body, err := io.ReadAll(io.LimitReader(stream, int64(room)+1))
	switch {
	case err != nil:
		return 0, err
	case uint64(len(body)) > room:
		return 0, noRoom(len(body))
	}
	return c.give(body), nil
}

// keepHeaders records the header fields of a response; repeated ones are joined.
func (c *call) keepHeaders(raw json.RawMessage) {
	fields, err := jsonraw.ParseObject(raw)
	if err != nil {
		return
	}
	for _, f := range fields {
		if value, ok := jsonraw.String(f.Value); ok {
			c.headers[f.Key] = value
			continue
		}
		var values []string
		if json.Unmarshal(f.Value, &values) == nil {
			c.headers[f.Key] = strings.Join(values, ",")
		}
	}
}

// httpHeaders implements http_headers() -> i64: it returns a block with the header fields of the last response, {name:
// value} with names in lower case.
func httpHeaders(c *call, stack []uint64) {
	raw, err := json.Marshal(c.headers)
	if err != nil || c.headers == nil { // a map of strings always can be marshaled
		raw = []byte("{}")
	}
	stack[0] = c.give(raw)
}
