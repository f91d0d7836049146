package extism

import (
	"context"
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// Recognises tells whether a module speaks this dialect: it imports something from the kernel.
func Recognises(b *wasmbin.Binary) bool { return b.ImportsModule(Module) }

// HostFuncs returns all that an Extism plugin may import, besides WASI.
func HostFuncs() []runtime.HostFunc {
	funcs := append(kernelFuncs(), envFuncs()...)
	funcs = append(funcs, httpFuncs()...)
	funcs = append(funcs, userFuncs()...)
	return append(funcs, abortFunc())
}

// dialect keeps nothing of a call but memory to use again.
type dialect struct{ arenas arenas }

// New returns the Extism dialect.
func New() runtime.Dialect { return &dialect{} }

// Name is the dialect's name.
func (*dialect) Name() string { return "extism" }

// The code of JSON-RPC for what a plugin does not serve.
const codeMethodNotFound = -32601

var (
	_ runtime.Starter = (*dialect)(nil)
	_ runtime.Warmer  = (*dialect)(nil)
)

// Start runs what the guest's language wants before the first export.
func (*dialect) Start(ctx context.Context, in *runtime.Instance) error {
	return newSession(in).start(ctx)
}

// WarmUp asks for the lists.
func (*dialect) WarmUp() runtime.Request { return runtime.Request{Method: "plugin/describe"} }

// Serve takes one request to the exports that answer it.
func (d *dialect) Serve(ctx context.Context, in *runtime.Instance, req runtime.Request) (json.RawMessage, error) {
	s := &session{in: in, call: &call{arena: d.arenas.get(in.Limits().Memory)}}
	defer d.arenas.put(s.call.arena)
	if in.HasExport("call") && in.HasExport("describe") {
		return serveV1(ctx, s, req)
	}
	return serveV2(ctx, s, req)
}

func noMethod(method string) error {
	return &runtime.GuestError{Code: codeMethodNotFound, Message: "the plugin does not serve " + method}
}

// object calls an export and reads the JSON object that it answers with.
func (s *session) object(ctx context.Context, export string, input ...[]byte) (out []byte, o rawjson.Object, err error) {
	if out, err = s.invoke(ctx, export, input...); err != nil {
		return nil, nil, err
	}
	if len(out) == 0 {
		return nil, nil, guestFault("the guest's %q gave no output", export)
	}
	if o, err = rawjson.ParseObject(out); err != nil {
		return nil, nil, guestFault("the output of the guest's %q is not a JSON object: %v", export, err)
	}
	return out, o, nil
}

// orEmpty is params, or an object without members.
func orEmpty(params json.RawMessage) json.RawMessage {
	if rawjson.IsNull(params) {
		return json.RawMessage("{}")
	}
	return params
}
