package jsonrpc

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/sallyport-mcp/sallyport/protocol/clean"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

// Error codes of JSON-RPC 2.0 (§5.1) and of MCP, which holds −32020 to −32099.
const (
	CodeParse              = -32700 // the text is not JSON
	CodeInvalidRequest     = -32600 // it is JSON, but no message
	CodeMethodNotFound     = -32601 // nobody answers this method
	CodeInvalidParams      = -32602 // the method does not take these params
	CodeInternal           = -32603 // our fault
	CodeHeaderMismatch     = -32020 // an HTTP header contradicts the body
	CodeMissingCapability  = -32021 // the client did not declare what the answer needs
	CodeUnsupportedVersion = -32022 // a protocol version that is not served
)

// Error is the error member of a response. As a Go error it is its message.
type Error struct {
	Code    int
	Message string
	Data    json.RawMessage // nil means absent
	Extra   rawjson.Object  // members that JSON-RPC does not know
	Foreign bool            // the answer of the one who was asked, which a server passes on; it is not on the wire
}

// Error is the message and the code.
func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// InvalidParams is the error for params that a method does not take.
func InvalidParams(format string, args ...any) *Error {
	return &Error{Code: CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

// maxClip is how much of a client's own text an error repeats, in bytes.
const maxClip = 200

// Clip bounds a text that goes back to where it came from.
func Clip(s string) string { return clean.Cut(s, maxClip) }

// Append appends the error as a JSON object.
func (e *Error) Append(dst []byte) []byte {
	dst = append(dst, `{"code":`...)
	dst = strconv.AppendInt(dst, int64(e.Code), 10)
	dst = append(dst, `,"message":`...)
	dst = rawjson.AppendString(dst, e.Message)
	dst = appendRaw(dst, "data", e.Data)
	dst = appendExtra(dst, e.Extra)
	return append(dst, '}')
}

// parseError reads the error member of a response. The second result says what is wrong.
func parseError(raw json.RawMessage) (*Error, string) {
	o, err := rawjson.ParseObject(raw)
	if err != nil {
		return nil, "error must be an object without duplicate members"
	}
	e := &Error{Data: o.Get("data")}
	code, ok := parseCode(o.Get("code"))
	if !ok {
		return nil, "error.code must be an integer"
	}
	if e.Message, ok = rawjson.String(o.Get("message")); !ok {
		return nil, "error.message must be a string"
	}
	e.Code = code
	for _, known := range []string{"code", "message", "data"} {
		o.Delete(known)
	}
	if len(o) > 0 {
		e.Extra = o
	}
	return e, ""
}

func parseCode(raw json.RawMessage) (int, bool) {
	code, err := strconv.ParseInt(string(raw), 10, 32)
	return int(code), err == nil
}
