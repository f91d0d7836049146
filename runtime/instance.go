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

// Instance is a module with its own memory. A dialect uses it on the goroutine of Serve until Serve returns, and must
// not keep it; it is not closed meanwhile. The module's start-up code has run before Serve is called.
type Instance struct {
	module  *code
	terms   *terms    // of the call, or of that which made it
	from    *template // the template it was copied from, or nil
	mod     api.Module
	memory  *image.Memory
	view    Memory // of memory, for host functions
	tank    tank
	globals []global
	refs    *refs // nil if the module changes no references
	funcs   map[string]*function

	call  *callContext // the call being served, nil between calls
	phase phase        // of the guest in this call
	since time.Time    // start of the idle time
	tag   *tag         // for its shelf
	note  any          // of Note
	kept  bool         // under StateSession and StatePlugin
}

// phase is the progress of the guest in a call.
type phase uint8

const (
	ready   phase = iota // it can be called
	running              // it runs, or ran when it failed: its state is undefined
	exited               // it ended by an exit, within a host function, and can only be made clean
)

// function is an exported function with a stack for its parameters and results. It is cached because a lookup costs
// more than many a call.
type function struct {
	api.Function
	stack []uint64
}

// HasExport reports whether the module exports a function of this name.
func (in *Instance) HasExport(name string) bool {
	_, ok := in.module.Exports[name]
	return ok
}

// Limits returns the limits of the call, without zero fields. The dialect enforces Output.
func (in *Instance) Limits() Limits { return in.terms.Limits }

// OutputSetting returns the key that sets the Output of Limits, for errors.
func (in *Instance) OutputSetting() string { return Setting("output", in.terms.own.Output != 0) }

// under sets the terms of a call. used reports whether earlier calls left the instance as it is: its memory then only
// grows no more if it is over the limit.
func (in *Instance) under(t *terms, used bool) error {
	in.terms = t
	in.memory.Bound(t.Memory)
	if size := in.size(); size > t.Memory && !used {
		return &EndError{Kind: KindLimit, Message: fmt.Sprintf("the guest has %s of memory once it has started, and %s is %s", bytesText(size), t.memorySetting(), bytesText(t.Memory))}
	}
	return nil
}

// Memory returns the instance's memory; a module without one has an empty memory. Views of it are invalid after Serve
// returns.
func (in *Instance) Memory() Memory {
	if in.call == nil {
		return noMemory{}
	}
	return in.view
}

// Attach sets a value for the host functions of the dialect, which read it with Attached. It is cleared after Serve
// returns.
func (in *Instance) Attach(v any) {
	if in.call != nil {
		in.call.attached = v
	}
}

// Call runs an exported function and returns its result, or zero if it has none. ctx must be the one given to Serve or
// derived from it. The error is an *EndError, or a *GuestError that a host function passed to Abort. After an error
// the guest cannot be called again.
func (in *Instance) Call(ctx context.Context, export string, params ...uint64) (uint64, error) {
	if err := in.callable(ctx, export, len(params)); err != nil {
		return 0, err
	}
	return in.run(ctx, export, params...)
}

// run calls an exported function without checking its existence and parameter count.
func (in *Instance) run(ctx context.Context, export string, params ...uint64) (uint64, error) {
	f := in.function(export)
	copy(f.stack, params)
	in.phase = running
	switch err := f.CallWithStack(ctx, f.stack); {
	case err == nil:
	case errors.Is(err, ErrSuspended):
		in.phase = ready
		return 0, ErrSuspended
	default:
		if isExit(err) {
			in.phase = exited
		}
		return 0, ended(ctx, err, in.memory)
	}
	in.phase = ready
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
		// A v128 takes two slots.
		f.stack = make([]uint64, 2*max(len(d.ParamTypes()), len(d.ResultTypes()), 1))
		in.funcs[export] = f
	}
	return f
}

func (in *Instance) callable(ctx context.Context, export string, params int) error {
	x, ok := in.module.Exports[export]
	switch {
	case in.call == nil || callOf(ctx) != in.call:
		return hostFault(fmt.Errorf("call of %q outside of the call that the instance serves", export))
	case in.phase != ready:
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

// Check verifies the exact type of an exported function. The error is an *EndError.
func (in *Instance) Check(export string, params, results []ValueType) error {
	x, ok := in.module.Exports[export]
	if !ok {
		return guestFault("the module does not export the function %q", export)
	}
	if string(x.Params) != string(params) || string(x.Results) != string(results) {
		return guestFault("the exported function %q has the type %s instead of %s", export,
			signature(x.Params, x.Results), signature(params, results))
	}
	return nil
}

// instantiate returns an instance that owns the given memory. None of its code has run.
func (m *code) instantiate(ctx context.Context, t *terms, memory *image.Memory) (*Instance, error) {
	memory.Bound(t.Memory)
	mod, err := m.engine.runtime.InstantiateModule(
		experimental.WithMemoryAllocator(ctx, allocator{memory}), m.loaded(),
		wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		memory.Free()
		return nil, ended(ctx, err, nil)
	}
	in := &Instance{module: m, terms: t, mod: mod, memory: memory, view: memoryOf(mod), tag: new(tag), funcs: make(map[string]*function)}
	if err := in.find(); err != nil {
		in.close()
		return nil, hostFault(err)
	}
	return in, nil
}

// find looks up the exports that the rewriter added.
func (in *Instance) find() error {
	var ok bool
	if in.tank.fuel, ok = in.mod.ExportedGlobal(rewrite.FuelGlobal).(api.MutableGlobal); !ok {
		return errors.New("the module has no counter of fuel")
	}
	if in.tank.depth, ok = in.mod.ExportedGlobal(rewrite.DepthGlobal).(api.MutableGlobal); !ok {
		return errors.New("the module has no counter of depth")
	}
	var references []api.MutableGlobal
	for _, g := range in.module.Info.Globals {
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
	if !in.module.Info.References() {
		return nil
	}
	var err error
	in.refs, err = reach(in.mod, references)
	return err
}

// begin binds the instance to a call.
func (in *Instance) begin(c *callContext) {
	in.call, c.in, c.attached = c, in, nil
	in.tank.fill(in.terms.Fuel)
}

// end unbinds the instance, and returns the phase in which the guest was left. One that is ready can serve again.
func (in *Instance) end() phase {
	in.call.in, in.call.attached, in.call = nil, nil, nil
	return in.phase
}

// close releases the instance. No call may be in progress.
func (in *Instance) close() {
	// An error could only come from files, and the engine opens none.
	_ = in.mod.Close(context.Background())
	in.memory.Free() // a module without a memory did not take it
}

// size returns the length of its memory in bytes.
func (in *Instance) size() uint64 {
	if in.memory == nil {
		return 0
	}
	return uint64(len(in.memory.Bytes()))
}
