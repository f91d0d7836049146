package sallyport

import (
	"encoding/json"
	"errors"
	"io/fs"

	"github.com/sallyport-mcp/sallyport/pdk/go/internal/jsontext"
)

// Error is an MCP error: what a handler returns when the request itself is wrong, rather than what the
// tool was asked to do.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// The codes of JSON-RPC that a plugin may use; its own lie outside −32768 to −32000.
const (
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
)

// Error is the message.
func (e *Error) Error() string { return e.Message }

// NotFound is the error for a resource that is not there.
func NotFound(uri string) error { return notFound(uri) }

func notFound(uri string) *Error {
	var data jsontext.Object
	data.Text("uri", uri)
	return &Error{Code: CodeInvalidParams, Message: "resource not found", Data: data.Bytes()}
}

// asError is the MCP error for what a resource, prompt or completion returned.
func asError(c *Call, err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if c.method == "resources/read" && errors.Is(err, fs.ErrNotExist) {
		return notFound(c.params.URI)
	}
	return &Error{Code: CodeInternal, Message: err.Error(), Data: kindData(err)}
}

// kindData carries the kind of a refused ask on to the client.
func kindData(err error) json.RawMessage {
	kind := KindOf(err)
	if kind == "" {
		return nil
	}
	var data jsontext.Object
	data.Text("kind", string(kind))
	if required := requires(err); required != nil {
		data.Raw("requiredCapabilities", required)
	}
	return data.Bytes()
}

// requires is what the client should have declared for what the host refused; nil if it refused nothing
// for that.
func requires(err error) json.RawMessage {
	if a, ok := errors.AsType[*AskError](err); ok {
		return a.Requires
	}
	return nil
}
