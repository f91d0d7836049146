package unwind_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin/unwind"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

func lower(wasm []byte) (*wasmbin.Checked, error) {
	b, err := wasmbin.Read(wasm)
	if err != nil {
		return nil, err
	}
	m, err := wasmbin.Check(b, wasmbin.Limits{})
	if err != nil {
		return nil, err
	}
	return unwind.Lower(m)
}

const features = api.CoreFeaturesV2 | experimental.CoreFeaturesTailCall

// engines are the engine's interpreter, with exceptions of its own, and its compiler without them.
type engines struct{ interpreter, plain wazero.Runtime }

func newEngines(t testing.TB) engines {
	ctx := context.Background()
	config := wazero.NewRuntimeConfig().WithCoreFeatures(features)
	e := engines{
		wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(features|experimental.CoreFeaturesExceptionHandling)),
		wazero.NewRuntimeWithConfig(ctx, config),
	}
	t.Cleanup(func() { _, _ = e.interpreter.Close(ctx), e.plain.Close(ctx) })
	return e
}

// outcome runs a program with some arguments.
func outcome(t testing.TB, r wazero.Runtime, wasm []byte) string {
	t.Helper()
	ctx := context.Background()
	var out strings.Builder
	for arg := range uint64(5) {
		m, err := r.Instantiate(ctx, wasm)
		if err != nil {
			t.Fatalf("%v\n%x", err, wasm)
		}
		results, err := m.ExportedFunction("run").Call(ctx, arg)
		fmt.Fprintf(&out, "%v, thrown: %v, trace %x; ", results, err != nil, m.ExportedGlobal("trace").Get())
		_ = m.Close(ctx)
	}
	return out.String()
}

// TestLower_computesAsTheInterpreterDoes compares generated programs with the exceptions of the engine's interpreter; its
// compiler is wrong in some. The garbage collector is off meanwhile: the engine keeps only the last exception alive.
func TestLower_computesAsTheInterpreterDoes(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	e := newEngines(t)
	thrown, answered := 0, 0
	for seed := range uint64(120) {
		wasm := generate(seed, seed%2 == 0)
		m, err := lower(wasm)
		if err != nil {
			t.Fatalf("program %d: %v\n%x", seed, err, wasm)
		}
		got, want := outcome(t, e.plain, m.Wasm()), outcome(t, e.interpreter, wasm)
		if got != want {
			t.Errorf("program %d: got %s, want %s as interpreted\n%x", seed, got, want, wasm)
		}
		thrown += strings.Count(want, "thrown: true")
		answered += strings.Count(want, "thrown: false")
	}
	if thrown < 80 || answered < 80 {
		t.Errorf("got %d runs that throw and %d that answer, want at least 80 of each", thrown, answered)
	}
}

// A local keeps its value when an exception passes. The engine's compiler restores the value from before the block.
func TestLower_keepsLocalsThatChangedBeforeAThrow(t *testing.T) {
	var m w.Module
	m.Tag()
	m.Export("run", m.Func(nil, []byte{w.I32}, []byte{w.I32}, w.I32Const(1), w.LocalSet(0),
		w.BlockVoid, w.TryTable(0x40, w.CatchAll(0)), w.I32Const(5), w.LocalSet(0), w.Throw(0), w.End, w.End, w.LocalGet(0)))
	if got := answer(t, m.Bytes()); got != 5 {
		t.Errorf("got %d, want 5", got)
	}
}

// answer lowers a module and runs it.
func answer(t *testing.T, wasm []byte) uint64 {
	t.Helper()
	c, err := lower(wasm)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	i, err := newEngines(t).plain.Instantiate(ctx, c.Wasm())
	if err != nil {
		t.Fatal(err)
	}
	results, err := i.ExportedFunction("run").Call(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return results[0]
}

func FuzzLower(f *testing.F) {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(2 << 30)
	e := newEngines(f)
	f.Add(uint64(1000), true)
	f.Add(uint64(1001), false)
	f.Fuzz(func(t *testing.T, seed uint64, refs bool) {
		wasm := generate(seed, refs)
		m, err := lower(wasm)
		if err != nil {
			t.Fatalf("%v\n%x", err, wasm)
		}
		if got, want := outcome(t, e.plain, m.Wasm()), outcome(t, e.interpreter, wasm); got != want {
			t.Errorf("got %s, want %s as interpreted\n%x", got, want, wasm)
		}
	})
}

// throwing returns a module whose exported run throws a tag with these values.
func throwing(params ...byte) *w.Module {
	var m w.Module
	m.Tag(params...)
	m.Export("run", m.Func(nil, nil, nil, w.Unreachable, w.Throw(0)))
	return &m
}

func TestLower_refusesTagsItCannotKeep(t *testing.T) {
	referring := func(m *w.Module) *w.Module {
		m.Func(nil, nil, nil, []byte{0xd0, w.ExnRef}, w.ThrowRef)
		return m
	}
	for name, c := range map[string]struct {
		m    *w.Module
		is   error
		want string
	}{
		"a reference":               {throwing(w.FuncRef), wasmbin.ErrUnsupported, "tag 0, which has a value of type 0x70"},
		"many values":               {throwing(w.Repeat(17, []byte{w.I32})...), wasmbin.ErrLimit, "tag 0 has 17 values, at most 16 are allowed"},
		"64 bits with references":   {referring(throwing(w.I64)), wasmbin.ErrUnsupported, "tag 0, whose values have more than 32 bits, in a module with exception references"},
		"two values and references": {referring(throwing(w.I32, w.I32)), wasmbin.ErrUnsupported, "tag 0, whose values have more than 32 bits"},
	} {
		if _, err := lower(c.m.Bytes()); !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q in it", name, err, c.want)
		}
	}
	for name, m := range map[string]*w.Module{
		"16 values": throwing(w.Repeat(8, []byte{w.V128, w.F64})...), "32 bits with references": referring(throwing(w.F32)),
	} {
		if _, err := lower(m.Bytes()); err != nil {
			t.Errorf("%s: got %v, want it lowered", name, err)
		}
	}
}

func TestLower_returnsAModuleWithoutExceptionsUnchanged(t *testing.T) {
	var m w.Module
	m.Export("run", m.Func(nil, nil, nil))
	b, err := wasmbin.Read(m.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	c, err := wasmbin.Check(b, wasmbin.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := unwind.Lower(c); got != c || err != nil {
		t.Errorf("got %p, %v, want %p and no error", got, err, c)
	}
}

// A function that may throw has one counterpart for the host, and no tag is exported.
func TestLower_exportsOneGuardForAFunction(t *testing.T) {
	m := throwing(w.I32)
	m.Export("again", 0)
	m.ExportRaw("tag", 4, 0)
	m.Export("quiet", m.Func(nil, nil, nil))
	c, err := lower(m.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]uint32{}
	for _, e := range c.Exports {
		got[e.Name] = e.Index
	}
	if want := map[string]uint32{"run": 2, "again": 2, "quiet": 1}; !maps.Equal(got, want) || c.Funcs != 3 {
		t.Errorf("got exports %v of %d functions, want %v of 3", got, c.Funcs, want)
	}
}

// A value of 128 bits survives, which the engine's own exceptions write past the end of their memory.
func TestLower_keepsVectors(t *testing.T) {
	var m w.Module
	m.Tag(w.V128, w.I32, w.V128)
	pair := m.Type(nil, []byte{w.V128, w.I32, w.V128})
	vector := func(c byte) []byte { return append([]byte{0xfd, 12}, w.Repeat(16, []byte{c})...) }
	add := []byte{0xfd, 0xce, 1} // i64x2.add
	m.Export("run", m.Func(nil, []byte{w.I64}, []byte{w.V128}, []byte{0x02}, w.S64(int64(pair)), w.TryTable(0x40, w.Catch(0, 0)),
		vector(1), w.I32Const(5), vector(2), w.Throw(0), w.End, w.Unreachable, w.End,
		w.LocalSet(0), w.Drop, w.LocalGet(0), add, []byte{0xfd, 29, 1}))
	if got := answer(t, m.Bytes()); got != 0x0303030303030303 {
		t.Errorf("got %x, want 0303030303030303", got)
	}
}

// A module whose code would grow much more than any real one is refused before it takes the memory.
func TestLower_boundsTheGrowthOfCode(t *testing.T) {
	var m w.Module
	m.Tag(w.Repeat(16, []byte{w.I32})...)
	results := m.Type(nil, w.Repeat(1000, []byte{w.V128}))
	for range 400 {
		m.FuncRaw(results, []byte{0}, w.Unreachable, w.Throw(0), w.End)
	}
	if _, err := lower(m.Bytes()); !errors.Is(err, wasmbin.ErrLimit) || !strings.Contains(err.Error(), "the code without exceptions has more than") {
		t.Errorf("got %v, want a limit", err)
	}
}
