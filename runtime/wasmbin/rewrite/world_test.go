package rewrite_test

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin/rewrite"
)

// both are the options used by the runtime, on its machine.
var both = rewrite.Options{Meter: true, Snapshot: true, Simplify: true, TailIndirect: goruntime.GOARCH == "amd64"}

// features are those of the engine that runs rewritten modules.
const features = api.CoreFeaturesV2 | experimental.CoreFeaturesTailCall

const maxDepth = 1 << 16

var errDepth, errFuel = errors.New("too deep"), errors.New("out of fuel")

// host is the host of rewritten modules.
type host struct {
	wazero.Runtime
	slice   int64 // granted by a refill
	refills int64 // remaining; negative is unlimited
	granted int64
}

// newHost returns a runtime with the refill function.
func newHost(ctx context.Context, c wazero.RuntimeConfig) (*host, error) {
	h := &host{Runtime: wazero.NewRuntimeWithConfig(ctx, c), slice: 100_000, refills: -1}
	_, err := h.NewHostModuleBuilder(rewrite.Module).NewFunctionBuilder().
		WithGoModuleFunction(api.GoModuleFunc(h.refill), nil, []api.ValueType{api.ValueTypeI64}).
		Export(rewrite.RefillImport).Instantiate(ctx)
	return h, err
}

func (h *host) refill(_ context.Context, m api.Module, stack []uint64) {
	if int64(m.ExportedGlobal(rewrite.DepthGlobal).Get()) < 0 {
		panic(errDepth)
	}
	if h.refills == 0 {
		panic(errFuel)
	}
	h.refills--
	left := int64(m.ExportedGlobal(rewrite.FuelGlobal).Get())
	h.granted += h.slice - left
	stack[0] = uint64(h.slice)
}

// spent returns the fuel spent by a module so far.
func (h *host) spent(m api.Module) int64 {
	return h.granted - int64(m.ExportedGlobal(rewrite.FuelGlobal).Get())
}

// reset prepares a module for the next call after a trap.
func reset(m api.Module) {
	if g, ok := m.ExportedGlobal(rewrite.DepthGlobal).(api.MutableGlobal); ok {
		g.Set(maxDepth)
	}
}

// guest is a module instantiated by this host.
type guest struct {
	api.Module
	info *rewrite.Info
}

// rewriteWasm checks and rewrites a module.
func rewriteWasm(wasm []byte, o rewrite.Options) ([]byte, *rewrite.Info, error) {
	b, err := wasmbin.Read(wasm)
	if err != nil {
		return nil, nil, err
	}
	m, err := wasmbin.Check(b, wasmbin.Limits{Body: 1 << 30, BrTable: 1 << 20})
	if err != nil {
		return nil, nil, err
	}
	return rewrite.Rewrite(m, o)
}

// load rewrites a module and instantiates it like the engine: data, then start.
func (h *host) load(ctx context.Context, wasm []byte, c wazero.ModuleConfig) (*guest, error) {
	out, info, err := rewriteWasm(wasm, both)
	if err != nil {
		return nil, err
	}
	compiled, err := h.CompileModule(ctx, out)
	if err != nil {
		return nil, err
	}
	m, err := h.InstantiateModule(ctx, compiled, c.WithStartFunctions())
	if err != nil {
		return nil, err
	}
	g := &guest{m, info}
	if err = h.fill(m, info); err == nil && info.Start != "" {
		_, err = m.ExportedFunction(info.Start).Call(ctx)
	}
	if err != nil {
		_ = m.Close(ctx)
	}
	return g, err
}

// fill copies the data segments.
func (h *host) fill(m api.Module, info *rewrite.Info) error {
	for _, d := range info.Data {
		if d.From != nil {
			d.Offset = uint32(h.Module(d.From.Module).ExportedGlobal(d.From.Name).Get())
		}
		if !m.Memory().Write(d.Offset, d.Bytes) {
			return fmt.Errorf("data at %d is out of bounds", d.Offset)
		}
	}
	return nil
}
