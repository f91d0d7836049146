package native

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// Module is the import module name of the host functions.
const Module = "sallyport"

const (
	// handler is the one function that a guest must export.
	handler = "mcp_handle"
	// warmer is the export of a guest's own warm-up.
	warmer = "mcp_warm"
)

// Recognises reports whether a module uses this ABI: it exports mcp_handle.
func Recognises(b *wasmbin.Binary) bool { return b.HasExport(handler) }

// dialect is stateless.
type dialect struct{}

var (
	_ runtime.Warmer     = dialect{}
	_ runtime.SelfWarmer = dialect{}
)

// New returns the native dialect.
func New() runtime.Dialect { return dialect{} }

// Name returns the dialect's name.
func (dialect) Name() string { return "native" }

// WarmUp returns a request for the plugin's description.
func (dialect) WarmUp() runtime.Request { return runtime.Request{Method: "plugin/describe"} }

// WarmExport returns mcp_warm.
func (dialect) WarmExport() string { return warmer }

// Serve writes the request to stream 0, calls the guest, and returns the result that it wrote to stream 1.
func (dialect) Serve(ctx context.Context, in *runtime.Instance, req runtime.Request) (json.RawMessage, error) {
	if err := in.Check(handler, []runtime.ValueType{runtime.I32}, []runtime.ValueType{runtime.I32}); err != nil {
		return nil, err
	}
	request := newRequest(req)
	size := request.size()
	if size > math.MaxInt32 {
		return nil, &runtime.EndError{Kind: runtime.KindLimit, Message: "the request is too large for a guest"}
	}
	c := newCall(request, in.Limits().Output)
	defer c.closeAll()
	in.Attach(c)
	code, err := in.Call(ctx, handler, uint64(size))
	if err != nil {
		return nil, err
	}
	if code := uint32(code); code != 0 {
		return nil, &runtime.EndError{Kind: runtime.KindGuest, Code: code,
			Message: fmt.Sprintf("the guest ended the call with error %d", code)}
	}
	return c.answer()
}

// request is what is left to read of a request, in parts: params may be large, and are not copied.
type request [3][]byte

func newRequest(req runtime.Request) request {
	const method, params = `{"method":`, `,"params":`
	head := append(make([]byte, 0, len(method)+len(req.Method)+2+len(params)), method...)
	head = jsonraw.AppendString(head, req.Method)
	if req.Params != nil {
		head = append(head, params...)
	}
	return request{head, req.Params, requestEnd}
}

var requestEnd = []byte("}")

func (r *request) size() int { return len(r[0]) + len(r[1]) + len(r[2]) }

// read fills p, unless the end comes first, and returns the number of bytes.
func (r *request) read(p []byte) (n int) {
	for i, part := range r {
		copied := copy(p[n:], part)
		r[i] = part[copied:]
		n += copied
	}
	return n
}
