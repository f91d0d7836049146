package runtime

import (
	"context"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// exitSignal carries an exit code from a host function through the guest's frames.
type exitSignal struct{ code uint32 }

func (s *exitSignal) Error() string { return fmt.Sprintf("exit code %d", s.code) }

// isExit reports whether a guest's function ended by Exit.
func isExit(err error) bool {
	var exit *exitSignal
	return errors.As(err, &exit)
}

// abortSignal carries an error from a host function through the guest's frames.
type abortSignal struct{ err error }

func (s *abortSignal) Error() string { return s.err.Error() }
func (s *abortSignal) Unwrap() error { return s.err }

// Exit ends the guest with an exit code; its call ends with KindExit. Only a host function may call it; it does not
// return.
func Exit(code uint32) { panic(&exitSignal{code}) }

// Abort ends the guest with an error. Only a host function may call it; it does not return. An *EndError or a
// *GuestError becomes the end of the call unchanged, an *AskError supplies kind and message, a context error means
// deadline or cancellation, and any other error is a fault of the host.
func Abort(err error) { panic(&abortSignal{err}) }

// hostKey identifies a host function.
type hostKey struct{ module, name string }

// register adds the host functions to the engine, each module once.
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

// bridge adapts a host function to the engine without reflection. It clears the results, since the engine's stack may
// hold values of an earlier call.
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
