package runtime

import (
	"context"
	"fmt"

	"github.com/tetratelabs/wazero/api"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin/rewrite"
)

// value is the value of a global; the upper half is used by v128 only.
type value [2]uint64

// global is a mutable global of an instance.
type global struct {
	api.MutableGlobal // nil for a v128, since the engine's API drops its upper half
	get, set          *function
}

func (in *Instance) findGlobal(g rewrite.Global) (global, error) {
	if g.Export != "" {
		found, ok := in.mod.ExportedGlobal(g.Export).(api.MutableGlobal)
		if !ok {
			return global{}, fmt.Errorf("the module has no global %q", g.Export)
		}
		return global{MutableGlobal: found}, nil
	}
	if in.mod.ExportedFunction(g.Get) == nil || in.mod.ExportedFunction(g.Set) == nil {
		return global{}, fmt.Errorf("the module has no functions %q and %q", g.Get, g.Set)
	}
	return global{get: in.function(g.Get), set: in.function(g.Set)}, nil
}

func (g global) read(ctx context.Context) (v value, err error) {
	if g.MutableGlobal != nil {
		return value{g.Get()}, nil
	}
	err = g.get.CallWithStack(ctx, g.get.stack)
	return value(g.get.stack[:2]), err
}

func (g global) write(ctx context.Context, v value) error {
	if g.MutableGlobal != nil {
		g.Set(v[0])
		return nil
	}
	copy(g.set.stack, v[:])
	return g.set.CallWithStack(ctx, g.set.stack)
}

// values reads all globals.
func (in *Instance) values(ctx context.Context) ([]value, error) {
	all := make([]value, 0, len(in.globals))
	for _, g := range in.globals {
		v, err := g.read(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

// setValues writes all globals.
func (in *Instance) setValues(ctx context.Context, all []value) error {
	for i, g := range in.globals {
		if err := g.write(ctx, all[i]); err != nil {
			return err
		}
	}
	return nil
}
