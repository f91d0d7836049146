package sallyport

import (
	"encoding/json"
	"errors"
	"io/fs"

	"github.com/sallyport-mcp/sallyport/pdk/go/internal/jsontext"
)

// Error is an MCP error. A handler returns it if the request itself is invalid, rather than for a failure of the
// requested action.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// JSON-RPC error codes for plugins. Custom codes must be outside of −32768 to −32000.
const (
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
)

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// NotFound returns the error for a resource that does not exist.
func NotFound(uri string) error { return notFound(uri) }

func notFound(uri string) *Error {
	var data jsontext.Object
	data.Text("uri", uri)
	return &Error{Code: CodeInvalidParams, Message: "resource not found", Data: data.Bytes()}
}

// asError converts the error of a resource, prompt or completion to an MCP error.
func asError(c *Call, err error) *Error {
	if e, ok := asType[*Error](err); ok {
		return e
	}
	if c.method == "resources/read" && errors.Is(err, fs.ErrNotExist) {
		return notFound(c.params.URI)
	}
	return &Error{Code: CodeInternal, Message: err.Error(), Data: kindData(err)}
}

// kindData returns error data with the kind of a refused host request, for the client.
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

// requires returns the client capability that was missing for a host request, or nil if that is not the error.
func requires(err error) json.RawMessage {
	if a, ok := asType[*AskError](err); ok {
		return a.Requires
	}
	return nil
}

// asType returns the first error of type E in err's tree, as errors.AsType of Go 1.26 does. errors.As would add 50 KB, and
// encoding/json panics in a module of TinyGo 0.39 that has it.
func asType[E error](err error) (E, bool) {
	if e, ok := err.(E); ok {
		return e, true
	}
	var e E
	if x, ok := err.(interface{ As(any) bool }); ok && x.As(&e) {
		return e, true
	}
	switch x := err.(type) {
	case interface{ Unwrap() error }:
		return asType[E](x.Unwrap())
	case interface{ Unwrap() []error }:
		for _, one := range x.Unwrap() {
			if e, ok := asType[E](one); ok {
				return e, true
			}
		}
	}
	return e, false
}
