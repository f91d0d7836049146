package runtime

import (
	"context"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// Instance is a module with a memory of its own, made for one call. A dialect gets it in Serve and
// uses it there, on that goroutine, until Serve returns; it must not be kept, and nothing can close
// it meanwhile. When Serve is entered the module's start-up code has run.
type Instance struct {
	module *Module
	limits Limits
	mod    api.Module
	memory *growth
	busy   bool // the guest is running
}

// HasExport tells whether the module exports a function of this name.
func (in *Instance) HasExport(name string) bool { return in.module.HasExport(name) }

// Limits returns the limits of the call, without zero fields. Answers are bounded by the dialect.
func (in *Instance) Limits() Limits { return in.limits }

// Memory returns the instance's memory; a module without one has a memory of no bytes.
func (in *Instance) Memory() Memory { return memoryOf(in.mod) }

// Call runs an exported function and returns its result, or zero if it has none. ctx must be the one
// given to Serve or made from it. The error is an *EndError, or what a host function gave to Abort
// if that is a *GuestError; after an error the guest cannot be called again.
func (in *Instance) Call(ctx context.Context, export string, params ...uint64) (uint64, error) {
	if err := in.callable(export, len(params)); err != nil {
		return 0, err
	}
	in.busy = true
	results, err := in.mod.ExportedFunction(export).Call(ctx, params...)
	if err != nil {
		return 0, ended(ctx, err, in.memory) // and stay busy: what a broken guest holds is not to be trusted
	}
	in.busy = false
	if len(results) == 0 {
		return 0, nil
	}
	return results[0], nil
}

func (in *Instance) callable(export string, params int) error {
	x, ok := in.module.binary[export]
	switch {
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

// initializer is the export that a module without a main function (a reactor) is started by.
const initializer = "_initialize"

// instantiate makes an instance and runs its start-up code. The instance must be closed.
func (m *Module) instantiate(ctx context.Context, l Limits) (*Instance, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, l.Start, errStart)
	defer cancel()
	if m.minimum > l.Memory {
		return nil, &EndError{Kind: KindLimit, Message: fmt.Sprintf("the module starts with %s of memory and its limit is %s",
			bytesText(m.minimum), bytesText(l.Memory))}
	}
	in := &Instance{module: m, limits: l, memory: &growth{limit: l.Memory}}
	var err error
	in.mod, err = m.engine.runtime.InstantiateModule(
		experimental.WithMemoryAllocator(ctx, in.memory), m.compiled,
		wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		return nil, ended(ctx, err, in.memory)
	}
	if !m.HasExport(initializer) {
		return in, nil
	}
	if _, err := in.Call(ctx, initializer); err != nil {
		in.close()
		return nil, err
	}
	return in, nil
}

// close gives the instance back. No call is in it: the pool closes it after Serve has returned.
func (in *Instance) close() {
	// The error could only come from files, which the engine opens none of.
	_ = in.mod.Close(context.Background())
}
