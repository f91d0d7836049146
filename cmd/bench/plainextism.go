package main

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/sallyport-mcp/sallyport/runtime/abi/extism"
)

// plainExtism is an Extism guest in one kept instance of plain wazero: its own code, and as little kernel as an echo needs,
// without limits. No host of the guest on this engine can be much faster.
type plainExtism struct {
	runtime wazero.Runtime
	run     api.Function
	memory  []byte // that the kernel shares: the input, and blocks behind it
	input   uint64 // its length
	top     uint64 // end of the last block
	output  []byte
}

func newPlainExtism(ctx context.Context, wasm []byte) (*plainExtism, error) {
	p := &plainExtism{runtime: wazero.NewRuntime(ctx), memory: make([]byte, 1<<20)}
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, p.runtime); err != nil {
		return nil, err
	}
	compiled, err := p.runtime.CompileModule(ctx, wasm)
	if err != nil {
		return nil, err
	}
	kernel := p.runtime.NewHostModuleBuilder(extism.Module)
	for _, f := range compiled.ImportedFunctions() {
		if module, name, _ := f.Import(); module == extism.Module {
			kernel.NewFunctionBuilder().WithGoFunction(p.kernel(name), f.ParamTypes(), f.ResultTypes()).Export(name)
		}
	}
	if _, err := kernel.Instantiate(ctx); err != nil {
		return nil, err
	}
	m, err := p.runtime.InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize"))
	if err != nil {
		return nil, err
	}
	p.run = m.ExportedFunction("call")
	return p, nil
}

// kernel returns a function of the kernel; those that an echo does not need return zero.
func (p *plainExtism) kernel(name string) api.GoFunc {
	order := binary.LittleEndian
	f := map[string]func(s []uint64){
		"alloc":          func(s []uint64) { s[0], p.top = p.top, p.top+s[0] },
		"input_length":   func(s []uint64) { s[0] = p.input },
		"input_load_u8":  func(s []uint64) { s[0] = uint64(p.memory[s[0]]) },
		"input_load_u64": func(s []uint64) { s[0] = order.Uint64(p.memory[s[0]:]) },
		"load_u8":        func(s []uint64) { s[0] = uint64(p.memory[s[0]]) },
		"load_u64":       func(s []uint64) { s[0] = order.Uint64(p.memory[s[0]:]) },
		"store_u8":       func(s []uint64) { p.memory[s[0]] = byte(s[1]) },
		"store_u64":      func(s []uint64) { order.PutUint64(p.memory[s[0]:], s[1]) },
		"output_set":     func(s []uint64) { p.output = p.memory[s[0]:][:s[1]] },
	}[name]
	if f == nil {
		f = func(s []uint64) { clear(s) }
	}
	return func(_ context.Context, stack []uint64) { f(stack) }
}

// call serves the params of a tools/call.
func (p *plainExtism) call(ctx context.Context, params []byte) error {
	n := copy(p.memory, `{"params":`)
	n += copy(p.memory[n:], params)
	n += copy(p.memory[n:], "}")
	p.input, p.top, p.output = uint64(n), uint64(n), nil
	if err := p.run.CallWithStack(ctx, make([]uint64, 1)); err != nil {
		return err
	}
	if len(p.output) == 0 {
		return errors.New("no output")
	}
	return nil
}
