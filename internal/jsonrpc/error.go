package jsonrpc

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/sanitize"
)

// Error codes of JSON-RPC 2.0 (§5.1) and of MCP, which reserves −32020 to −32099.
const (
	CodeParse              = -32700 // not JSON
	CodeInvalidRequest     = -32600 // JSON, but not a message
	CodeMethodNotFound     = -32601 // unknown method
	CodeInvalidParams      = -32602 // params not valid for the method
	CodeInternal           = -32603 // host error
	CodeHeaderMismatch     = -32020 // an HTTP header contradicts the body
	CodeMissingCapability  = -32021 // the client did not declare a required capability
	CodeUnsupportedVersion = -32022 // unsupported protocol version
)

// Error is the error member of a response. It implements error.
type Error struct {
	Code    int
	Message string
	Data    json.RawMessage // nil means absent
	Extra   jsonraw.Object  // unknown members
	Foreign bool            // produced by the callee and passed on; not encoded
}

// Error returns the message and the code.
func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// InvalidParams returns an error for invalid params.
func InvalidParams(format string, args ...any) *Error {
	return &Error{Code: CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

// maxClip is the maximum length of client text quoted in an error, in bytes.
const maxClip = 200

// Clip shortens text that is quoted in an answer to its sender.
func Clip(s string) string { return sanitize.Cut(s, maxClip) }

// Append appends the error as a JSON object.
func (e *Error) Append(dst []byte) []byte {
	dst = append(dst, `{"code":`...)
	dst = strconv.AppendInt(dst, int64(e.Code), 10)
	dst = append(dst, `,"message":`...)
	dst = jsonraw.AppendString(dst, e.Message)
	dst = appendRaw(dst, "data", e.Data)
	dst = appendExtra(dst, e.Extra)
	return append(dst, '}')
}

// parseError parses the error member of a response. The second result is the problem, "" if there is none.
func parseError(raw json.RawMessage) (*Error, string) {
	o, err := jsonraw.ParseObject(raw)
	if err != nil {
		return nil, "error must be an object without duplicate members"
	}
	e := &Error{Data: o.Get("data")}
	code, ok := parseCode(o.Get("code"))
	if !ok {
		return nil, "error.code must be an integer"
	}
	if e.Message, ok = jsonraw.String(o.Get("message")); !ok {
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
