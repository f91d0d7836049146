package native

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// answer parses the guest's response into the call's result or error.
func (c *call) answer() (json.RawMessage, error) {
	raw := c.response.Bytes()
	if len(raw) == 0 {
		return nil, guestFault("the guest wrote no answer")
	}
	o, err := jsonraw.ParseObject(raw)
	if err != nil {
		return nil, guestFault("the guest's answer is not a JSON object: %v", err)
	}
	result, failed := o.Get("result"), o.Get("error")
	switch {
	case result == nil && failed == nil:
		return nil, guestFault("the guest's answer has neither a result nor an error")
	case result != nil && failed != nil:
		return nil, guestFault("the guest's answer has both a result and an error")
	case failed != nil:
		return nil, guestError(failed)
	case result[0] != '{':
		return nil, guestFault("the guest's result is not an object")
	}
	return c.fillIn(result)
}

// guestError parses {"code", "message", "data"}.
func guestError(raw json.RawMessage) error {
	o, err := jsonraw.ParseObject(raw)
	if err != nil {
		return guestFault("the guest's error is not an object")
	}
	code, err := strconv.ParseInt(string(o.Get("code")), 10, 32)
	if err != nil {
		return guestFault("the guest's error has no code")
	}
	message, ok := jsonraw.String(o.Get("message"))
	if !ok {
		return guestFault("the guest's error has no message")
	}
	return &runtime.GuestError{Code: int(code), Message: message, Data: o.Get("data")}
}

func guestFault(format string, args ...any) error {
	return &runtime.EndError{Kind: runtime.KindGuest, Message: fmt.Sprintf(format, args...)}
}

// fillIn replaces the streams named in a result by their bytes in base64.
func (c *call) fillIn(result json.RawMessage) (json.RawMessage, error) {
	f := filler{c: c, size: len(result)}
	// Each member of the result holds a block or a list of blocks.
	out, err := f.member(result, "content", f.blocks) // tools/call
	if err == nil {
		out, err = f.member(out, "contents", f.blocks) // resources/read
	}
	if err == nil {
		out, err = f.member(out, "messages", f.messages) // prompts/get
	}
	return out, err
}

// filler replaces {"dev.sallyport/stream": n} in the data or blob members of content.
type filler struct {
	c    *call
	size int // of the growing result
}

type edit func(json.RawMessage) (json.RawMessage, error)

// member edits one member of an object; other values stay unchanged.
func (f *filler) member(raw json.RawMessage, key string, e edit) (json.RawMessage, error) {
	value := jsonraw.Get(raw, key)
	if value == nil {
		return raw, nil
	}
	edited, err := e(value)
	if err != nil || string(edited) == string(value) {
		return raw, err
	}
	o, err := jsonraw.ParseObject(raw)
	if err != nil {
		return nil, guestFault("the guest's result: %v", err)
	}
	o.Set(key, edited)
	return o.Append(nil), nil
}

// each edits the elements of an array; other values stay unchanged.
func each(raw json.RawMessage, e edit) (json.RawMessage, error) {
	if raw[0] != '[' {
		return raw, nil
	}
	elements, err := jsonraw.Elements(raw)
	if err != nil {
		return nil, guestFault("the guest's result: %v", err)
	}
	changed := false
	for i, one := range elements {
		edited, err := e(one)
		if err != nil {
			return nil, err
		}
		changed = changed || string(edited) != string(one)
		elements[i] = edited
	}
	if !changed {
		return raw, nil
	}
	out := []byte{'['}
	for i, one := range elements {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, one...)
	}
	return append(out, ']'), nil
}

func (f *filler) blocks(raw json.RawMessage) (json.RawMessage, error) { return each(raw, f.block) }

func (f *filler) messages(raw json.RawMessage) (json.RawMessage, error) {
	return each(raw, func(m json.RawMessage) (json.RawMessage, error) { return f.member(m, "content", f.block) })
}

// block edits a content block, or the contents of a resource.
func (f *filler) block(raw json.RawMessage) (json.RawMessage, error) {
	out, err := f.member(raw, "data", f.stream)
	if err == nil {
		out, err = f.member(out, "blob", f.stream)
	}
	if err == nil {
		out, err = f.member(out, "resource", f.resource)
	}
	return out, err
}

func (f *filler) resource(raw json.RawMessage) (json.RawMessage, error) {
	return f.member(raw, "blob", f.stream)
}

// stream replaces a stream reference by the stream's contents.
func (f *filler) stream(raw json.RawMessage) (json.RawMessage, error) {
	if raw[0] != '{' {
		return raw, nil
	}
	id, err := strconv.ParseUint(string(jsonraw.Get(raw, streamMember)), 10, 32)
	if err != nil {
		return nil, guestFault("the guest's content holds an object instead of bytes or a stream")
	}
	data, err := f.c.take(uint32(id))
	if err != nil {
		return nil, guestFault("the guest's content names a stream: %v", err)
	}
	f.size += base64.StdEncoding.EncodedLen(len(data))
	if f.size > f.c.limit {
		return nil, overOutput(f.c.limit)
	}
	out := append(make([]byte, 0, base64.StdEncoding.EncodedLen(len(data))+2), '"')
	return append(base64.StdEncoding.AppendEncode(out, data), '"'), nil
}
