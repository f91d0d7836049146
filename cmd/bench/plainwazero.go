package main

import (
	"context"
	"errors"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/sallyport-mcp/sallyport/runtime"
)

// plainHost is plain wazero: it makes an instance for each call, starts it and closes it. It implements only the
// functions that an echo needs, without limits.
type plainHost struct {
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
	request  []byte // of the current call
	answer   []byte
}

func newPlainHost(ctx context.Context, wasm []byte) (*plainHost, error) {
	p := &plainHost{runtime: wazero.NewRuntime(ctx)}
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, p.runtime); err != nil {
		return nil, err
	}
	i32, i64 := api.ValueTypeI32, api.ValueTypeI64
	none := api.GoModuleFunc(func(_ context.Context, _ api.Module, stack []uint64) { stack[0] = 0 })
	b := p.runtime.NewHostModuleBuilder("sallyport")
	for _, f := range []struct {
		name    string
		f       api.GoModuleFunc
		params  []api.ValueType
		results []api.ValueType
	}{
		{"read", p.read, []api.ValueType{i32, i32, i32}, []api.ValueType{i32}},
		{"write", p.write, []api.ValueType{i32, i32, i32}, []api.ValueType{i32}},
		{"call", none, []api.ValueType{i32, i32}, []api.ValueType{i64}},
		{"close", none, []api.ValueType{i32}, []api.ValueType{i32}},
	} {
		b.NewFunctionBuilder().WithGoModuleFunction(f.f, f.params, f.results).Export(f.name)
	}
	_, err := b.Instantiate(ctx)
	if err == nil {
		p.compiled, err = p.runtime.CompileModule(ctx, wasm)
	}
	return p, err
}

func (p *plainHost) read(_ context.Context, m api.Module, stack []uint64) {
	to, _ := m.Memory().Read(uint32(stack[1]), uint32(stack[2]))
	n := copy(to, p.request)
	p.request = p.request[n:]
	stack[0] = uint64(n)
}

func (p *plainHost) write(_ context.Context, m api.Module, stack []uint64) {
	from, _ := m.Memory().Read(uint32(stack[1]), uint32(stack[2]))
	p.answer = append(p.answer, from...)
	stack[0] = uint64(len(from))
}

// call serves one request.
func (p *plainHost) call(ctx context.Context, r runtime.Request) error {
	p.request = []byte(`{"method":"` + r.Method + `","params":` + string(r.Params) + `}`)
	p.answer = p.answer[:0]
	m, err := p.runtime.InstantiateModule(ctx, p.compiled, wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize"))
	if err != nil {
		return err
	}
	_, err = m.ExportedFunction("mcp_handle").Call(ctx, uint64(len(p.request)))
	if err == nil && len(p.answer) == 0 {
		err = errors.New("no answer")
	}
	return errors.Join(err, m.Close(ctx))
}

func (p *plainHost) close(ctx context.Context) error { return p.runtime.Close(ctx) }
