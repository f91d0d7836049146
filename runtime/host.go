package runtime

import (
	"context"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// exitSignal carries an exit code from a host function through the guest's frames.
type exitSignal struct{ code uint32 }

func (s *exitSignal) Error() string { return fmt.Sprintf("exit code %d", s.code) }

// abortSignal carries an error in the same way.
type abortSignal struct{ err error }

func (s *abortSignal) Error() string { return s.err.Error() }
func (s *abortSignal) Unwrap() error { return s.err }

// Exit ends the guest with an exit code. Only a host function may call it; it does not return.
// The call that the guest was serving ends with KindExit.
func Exit(code uint32) { panic(&exitSignal{code}) }

// Abort ends the guest with an error. Only a host function may call it; it does not return.
// An *EndError or a *GuestError becomes the end of the call as it is, an *AskError lends it kind and
// message, the error of a context means that the call was out of time, and anything else is a
// fault of the host.
func Abort(err error) { panic(&abortSignal{err}) }

// hostKey names a host function.
type hostKey struct{ module, name string }

// register makes the host functions known to the engine, each module once.
func register(ctx context.Context, r wazero.Runtime, funcs []HostFunc) (map[hostKey]HostFunc, error) {
	known := make(map[hostKey]HostFunc, len(funcs))
	builders := make(map[string]wazero.HostModuleBuilder)
	for _, f := range funcs {
		key := hostKey{f.Module, f.Name}
		if _, twice := known[key]; twice {
			return nil, fmt.Errorf("host function %s.%s is registered twice", f.Module, f.Name)
		}
		known[key] = f
		if builders[f.Module] == nil {
			builders[f.Module] = r.NewHostModuleBuilder(f.Module)
		}
		builders[f.Module].NewFunctionBuilder().
			WithGoModuleFunction(bridge(f), valueTypes(f.Params), valueTypes(f.Results)).
			Export(f.Name)
	}
	for name, b := range builders {
		if _, err := b.Instantiate(ctx); err != nil {
			return nil, fmt.Errorf("host module %q: %w", name, err)
		}
	}
	return known, nil
}

// bridge lets the engine call a host function without reflection. A result that the function leaves alone is
// zero, or else what another call left on the engine's stack.
func bridge(f HostFunc) api.GoModuleFunc {
	params := len(f.Params)
	return func(ctx context.Context, m api.Module, stack []uint64) {
		clear(stack[min(params, len(stack)):])
		c := callOf(ctx)
		switch {
		case c == nil || c.in == nil || c.in.mod != m:
			f.Call(ctx, memoryOf(m), stack)
		case f.Quick != nil && c.attached != nil:
			f.Quick(c.attached, stack)
			c.asked(ctx, 1)
		default:
			f.Call(ctx, c.in.view, stack)
			c.asked(ctx, lookEvery/lookEveryCalls)
		}
	}
}

func valueTypes(types []ValueType) []api.ValueType { return append([]api.ValueType{}, types...) }
