package extism

import (
	"context"
	"encoding/json"
	"sync/atomic"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// Recognises reports whether a module uses this ABI: it has an import from the kernel.
func Recognises(b *wasmbin.Binary) bool { return b.ImportsModule(Module) }

// HostFuncs returns all imports of Extism plugins, except for WASI.
func HostFuncs() []runtime.HostFunc {
	funcs := append(kernelFuncs(), envFuncs()...)
	funcs = append(funcs, httpFuncs()...)
	funcs = append(funcs, userFuncs()...)
	return append(funcs, abortFunc())
}

// dialect keeps no state of a call, except for pooled memory.
type dialect struct {
	arenas arenas
	varies atomic.Bool // the lists of a kept instance have changed
}

// server serves a request by the exports of one version.
type server func(context.Context, *session, runtime.Request) (json.RawMessage, error)

// New returns the Extism dialect.
func New() runtime.Dialect { return &dialect{} }

// Name returns the dialect's name.
func (*dialect) Name() string { return "extism" }

// codeMethodNotFound is the JSON-RPC code for a method that the plugin does not serve.
const codeMethodNotFound = -32601

// warmer is the export of a guest's own warm-up, as in the native ABI.
const warmer = "mcp_warm"

var (
	_ runtime.Starter    = (*dialect)(nil)
	_ runtime.Warmer     = (*dialect)(nil)
	_ runtime.SelfWarmer = (*dialect)(nil)
	_ runtime.Rehearser  = (*dialect)(nil)
)

// Start runs the initialization of the guest's language runtime.
func (*dialect) Start(ctx context.Context, in *runtime.Instance) error {
	return newSession(in).start(ctx)
}

// WarmUp returns a request for the plugin's description.
func (*dialect) WarmUp() runtime.Request { return runtime.Request{Method: "plugin/describe"} }

// WarmExport returns mcp_warm.
func (*dialect) WarmExport() string { return warmer }

// maxRehearsals bounds the tools of a rehearsal.
const maxRehearsals = 32

// Rehearsals returns a call of each tool with arguments made from its schema.
func (*dialect) Rehearsals(described json.RawMessage) []runtime.Request {
	tools, err := jsonraw.Elements(jsonraw.Get(described, "tools"))
	if err != nil {
		return nil
	}
	return runtime.ToolCalls(tools[:min(len(tools), maxRehearsals)])
}

// Serve passes one request to the exports that serve it.
func (d *dialect) Serve(ctx context.Context, in *runtime.Instance, req runtime.Request) (json.RawMessage, error) {
	s := &session{in: in, call: &call{arena: d.arenas.get(in.Limits().Memory)}}
	defer d.arenas.put(s.call.arena)
	serve := server(serveV2)
	if in.HasExport("call") && in.HasExport("describe") {
		serve = serveV1
	}
	if req.Method != "plugin/describe" {
		d.relisting(s)
	}
	result, err := serve(ctx, s, req)
	if err == nil {
		d.relist(ctx, s, serve)
	}
	return result, err
}

func noMethod(method string) error {
	return &runtime.GuestError{Code: codeMethodNotFound, Message: "the plugin does not serve " + method}
}

// object calls an export and parses its output as a JSON object.
func (s *session) object(ctx context.Context, export string, input ...[]byte) (out []byte, o jsonraw.Object, err error) {
	if out, err = s.invoke(ctx, export, input...); err != nil {
		return nil, nil, err
	}
	if len(out) == 0 {
		return nil, nil, guestFault("the guest's %q gave no output", export)
	}
	if o, err = jsonraw.ParseObject(out); err != nil {
		return nil, nil, guestFault("the output of the guest's %q is not a JSON object: %v", export, err)
	}
	return out, o, nil
}

// orEmpty returns params, or {} if they are null.
func orEmpty(params json.RawMessage) json.RawMessage {
	if jsonraw.IsNull(params) {
		return json.RawMessage("{}")
	}
	return params
}
