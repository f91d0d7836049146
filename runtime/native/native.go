package native

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// Module is the name that a guest imports the host's functions from.
const Module = "sallyport"

// handler is the one function that a guest exports.
const handler = "mcp_handle"

// Recognises tells whether a module speaks this dialect: it exports mcp_handle.
func Recognises(b *wasmbin.Binary) bool { return b.HasExport(handler) }

// dialect has no state of its own.
type dialect struct{}

var _ runtime.Warmer = dialect{}

// New returns the native dialect.
func New() runtime.Dialect { return dialect{} }

// Name is the dialect's name.
func (dialect) Name() string { return "native" }

// WarmUp asks what the guest offers.
func (dialect) WarmUp() runtime.Request { return runtime.Request{Method: "plugin/describe"} }

// Serve writes the request to stream 0, lets the guest handle it, and returns the result that it
// wrote to stream 1.
func (dialect) Serve(ctx context.Context, in *runtime.Instance, req runtime.Request) (json.RawMessage, error) {
	if err := in.Check(handler, []runtime.ValueType{runtime.I32}, []runtime.ValueType{runtime.I32}); err != nil {
		return nil, err
	}
	request := appendRequest(make([]byte, 0, len(req.Method)+len(req.Params)+envelope), req)
	if len(request) > math.MaxInt32 {
		return nil, &runtime.EndError{Kind: runtime.KindLimit, Message: "the request is too large for a guest"}
	}
	c := newCall(request, in.Limits().Output)
	defer c.closeAll()
	in.Attach(c)
	code, err := in.Call(ctx, handler, uint64(len(request)))
	if err != nil {
		return nil, err
	}
	if code := uint32(code); code != 0 {
		return nil, &runtime.EndError{Kind: runtime.KindGuest, Code: code,
			Message: fmt.Sprintf("the guest ended the call with error %d", code)}
	}
	return c.answer()
}

// envelope is about how many bytes of a request are neither its method nor its params.
const envelope = 32

func appendRequest(dst []byte, req runtime.Request) []byte {
	dst = append(dst, `{"method":`...)
	dst = rawjson.AppendString(dst, req.Method)
	if req.Params != nil {
		dst = append(dst, `,"params":`...)
		dst = append(dst, req.Params...)
	}
	return append(dst, '}')
}
