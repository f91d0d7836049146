package runtime

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/sallyport-mcp/sallyport/runtime/image"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin/rewrite"
)

// Instance is a module with a memory of its own. A dialect gets it in Serve and uses it there, on that
// goroutine, until Serve returns; it must not be kept, and nothing can close it meanwhile. When Serve
// is entered the module's start-up code has run.
type Instance struct {
	module  *Module
	limits  Limits
	from    *template // what it is a copy of, nil if of nothing
	mod     api.Module
	memory  *image.Memory
	view    Memory // of it, for host functions
	tank    tank
	globals []global
	refs    *refs // nil if the module changes none
	funcs   map[string]*function

	call  *callContext // the call it serves, nil between calls
	busy  bool         // the guest is running, or was when it broke
	since time.Time    // when it began to be idle
}

// function is an exported function, with room for its parameters and results. Looking one up costs more than
// many a call.
type function struct {
	api.Function
	stack []uint64
}

// HasExport tells whether the module exports a function of this name.
func (in *Instance) HasExport(name string) bool { return in.module.HasExport(name) }

// Limits returns the limits of the call, without zero fields. Answers are bounded by the dialect.
func (in *Instance) Limits() Limits { return in.limits }

// Memory returns the instance's memory; a module without one has a memory of no bytes. Views of it are gone
// when Serve returns.
func (in *Instance) Memory() Memory {
	if in.call == nil {
		return noMemory{}
	}
	return in.view
}

// Attach keeps a value for the host functions of the dialect, which get it from Attached. It is gone when Serve
// returns.
func (in *Instance) Attach(v any) {
	if in.call != nil {
		in.call.attached = v
	}
}

// Call runs an exported function and returns its result, or zero if it has none. ctx must be the one
// given to Serve or made from it. The error is an *EndError, or what a host function gave to Abort
// if that is a *GuestError; after an error the guest cannot be called again.
func (in *Instance) Call(ctx context.Context, export string, params ...uint64) (uint64, error) {
	if err := in.callable(ctx, export, len(params)); err != nil {
		return 0, err
	}
	return in.run(ctx, export, params...)
}

// run calls a function that is there and takes so many parameters.
func (in *Instance) run(ctx context.Context, export string, params ...uint64) (uint64, error) {
	f := in.function(export)
	copy(f.stack, params)
	in.busy = true
	if err := f.CallWithStack(ctx, f.stack); err != nil {
		return 0, ended(ctx, err, in.memory) // and stay busy: what a broken guest holds is not to be trusted
	}
	in.busy = false
	if len(f.Definition().ResultTypes()) == 0 {
		return 0, nil
	}
	return f.stack[0], nil
}

func (in *Instance) function(export string) *function {
	f := in.funcs[export]
	if f == nil {
		f = &function{Function: in.mod.ExportedFunction(export)}
		d := f.Definition()
		// A v128 takes two places.
		f.stack = make([]uint64, 2*max(len(d.ParamTypes()), len(d.ResultTypes()), 1))
		in.funcs[export] = f
	}
	return f
}

func (in *Instance) callable(ctx context.Context, export string, params int) error {
	x, ok := in.module.binary[export]
	switch {
	case in.call == nil || callOf(ctx) != in.call:
		return hostFault(fmt.Errorf("call of %q outside of the call that the instance serves", export))
	case in.busy:
		return hostFault(fmt.Errorf("call of %q while the guest runs or after its end", export))
	case !ok:
		return guestFault("the module does not export the function %q", export)
	case len(x.Params) != params:
		return guestFault("the exported function %q has the type %s, which takes %d parameters instead of %d",
			export, signature(x.Params, x.Results), len(x.Params), params)
	case len(x.Results) > 1:
		return guestFault("the exported function %q has the type %s, which gives more than one result",
			export, signature(x.Params, x.Results))
	}
	return nil
}

// Check tells whether an exported function has exactly this type; the error is an *EndError.
func (in *Instance) Check(export string, params, results []ValueType) error {
	x, ok := in.module.binary[export]
	if !ok {
		return guestFault("the module does not export the function %q", export)
	}
	if string(x.Params) != string(params) || string(x.Results) != string(results) {
		return guestFault("the exported function %q has the type %s instead of %s", export,
			signature(x.Params, x.Results), signature(params, results))
	}
	return nil
}

// instantiate makes an instance whose memory is the one given, which it owns from now on. None of its code has run.
func (m *Module) instantiate(ctx context.Context, l Limits, memory *image.Memory) (*Instance, error) {
	mod, err := m.engine.runtime.InstantiateModule(
		experimental.WithMemoryAllocator(ctx, allocator{memory}), m.compiled,
		wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		memory.Free()
		return nil, ended(ctx, err, nil)
	}
	in := &Instance{module: m, limits: l, mod: mod, memory: memory, view: memoryOf(mod), funcs: make(map[string]*function)}
	if err := in.find(); err != nil {
		in.close()
		return nil, hostFault(err)
	}
	return in, nil
}

// find looks up what the rewriter added.
func (in *Instance) find() error {
	var ok bool
	if in.tank.fuel, ok = in.mod.ExportedGlobal(rewrite.FuelGlobal).(api.MutableGlobal); !ok {
		return errors.New("the module has no counter of fuel")
	}
	if in.tank.depth, ok = in.mod.ExportedGlobal(rewrite.DepthGlobal).(api.MutableGlobal); !ok {
		return errors.New("the module has no counter of depth")
	}
	var references []api.MutableGlobal
	for _, g := range in.module.info.Globals {
		found, err := in.findGlobal(g)
		if err != nil {
			return err
		}
		if g.Reference() {
			references = append(references, found.MutableGlobal)
			continue
		}
		in.globals = append(in.globals, found)
	}
	if !in.module.info.References() {
		return nil
	}
	var err error
	in.refs, err = reach(in.mod, references)
	return err
}

// begin binds the instance to a call.
func (in *Instance) begin(c *callContext) {
	in.call, c.in, c.attached = c, in, nil
	in.tank.fill(in.limits.Fuel)
}

// end unbinds it. It tells whether the guest ended as it should, so that the instance can serve again.
func (in *Instance) end() (intact bool) {
	in.call.in, in.call.attached, in.call = nil, nil, nil
	return !in.busy
}

// close gives the instance back. No call is in it.
func (in *Instance) close() {
	// The error could only come from files, which the engine opens none of.
	_ = in.mod.Close(context.Background())
	in.memory.Free() // which a module without a memory never took
}

// size is how many bytes of memory it has.
func (in *Instance) size() uint64 {
	if in.memory == nil {
		return 0
	}
	return uint64(len(in.memory.Bytes()))
}
