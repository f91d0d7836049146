package rewrite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin/rewrite"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// end is the observable outcome of a run.
type end struct {
	results string
	memory  uint32
	size    uint32
	globals [2]uint64
	trap    string
	fuel    int64
}

// runOnce runs a generated module, original or rewritten.
func runOnce(t *testing.T, wasm []byte, rewritten bool, slice int64, a, b uint64) end {
	t.Helper()
	ctx := context.Background()
	h, err := newHost(ctx, wazero.NewRuntimeConfigCompiler().WithCoreFeatures(features))
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(ctx)
	h.slice, h.refills = slice, 10_000_000/slice
	var m api.Module
	if rewritten {
		var g *guest
		if g, err = h.load(ctx, wasm, wazero.NewModuleConfig()); err == nil {
			m = g.Module
		}
	} else {
		m, err = h.Instantiate(ctx, wasm)
	}
	if err != nil {
		t.Fatalf("instantiate: got %v, want no error\n%x", err, wasm)
	}
	results, err := m.ExportedFunction("run").Call(ctx, a, b)
	e := end{results: fmt.Sprint(results), size: m.Memory().Size()}
	if errors.Is(err, errFuel) {
		t.Skip("it takes too long")
	}
	if err != nil {
		e.trap, _, _ = strings.Cut(err.Error(), "\n")
	}
	all, _ := m.Memory().Read(0, m.Memory().Size())
	e.memory = crc32.ChecksumIEEE(all)
	for i, name := range []string{"a", "b"} {
		e.globals[i] = m.ExportedGlobal(name).Get()
	}
	if rewritten {
		e.fuel = h.spent(m)
	}
	return e
}

// same runs a generated module original and rewritten, and checks that the outcomes are equal; then again with a
// different slice, and checks that the fuel is equal.
func same(t *testing.T, in []byte, a, b uint64) end {
	t.Helper()
	wasm := generate(in)
	metered := runOnce(t, wasm, true, 100_000, a, b)
	again := runOnce(t, wasm, true, 100, a, b)
	if again != metered {
		t.Errorf("with slices of 100: got %+v, want %+v\n%x", again, metered, wasm)
	}
	plain := runOnce(t, wasm, false, 1, a, b)
	if plain.fuel = metered.fuel; plain != metered {
		t.Errorf("metered: got %+v, want %+v as plain\n%x", metered, plain, wasm)
	}
	return plain
}

// TestRewrite_keepsTheBehaviourOfPrograms runs some hundred programs generated from seeds; FuzzSame continues from
// there.
func TestRewrite_keepsTheBehaviourOfPrograms(t *testing.T) {
	ends := make(map[string]int)
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 1))
		in := make([]byte, 100+r.IntN(900))
		for i := range in {
			in[i] = byte(r.Uint32())
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			e := same(t, in, r.Uint64(), r.Uint64())
			ends[e.trap]++
		})
	}
	t.Log(ends)
	if ends[""] < 50 || len(ends) < 3 {
		t.Errorf("got ends %v, want 50 programs that return and 3 kinds of end", ends)
	}
}

func FuzzSame(f *testing.F) {
	f.Add([]byte{}, uint64(0), uint64(0))
	f.Add([]byte("some bytes that make a program, and some more of them"), uint64(7), uint64(1<<40))
	f.Fuzz(func(t *testing.T, in []byte, a, b uint64) {
		if len(in) > 4096 {
			t.Skip()
		}
		same(t, in, a, b)
	})
}

// exceptional returns a module with a tag and an instruction.
func exceptional(instruction []byte) []byte {
	var m w.Module
	m.Tag()
	code := w.Code(w.Unreachable, instruction, w.Unreachable)
	if instruction[0] == 0x1f {
		code = w.Code(code, w.End)
	}
	m.Func(nil, nil, nil, code)
	return m.Bytes()
}

// Invalid modules stay rejected, and valid ones stay accepted.
func FuzzValid(f *testing.F) {
	f.Add(w.Kernels())
	f.Add(state())
	f.Add(generate([]byte("some bytes that make a program")))
	for _, wasm := range specModules(f, 40) {
		f.Add(wasm)
	}
	for _, x := range w.Spellings() {
		if op := x.Short[0]; op == 0x08 || op == 0x0a || op == 0x1f {
			f.Add(exceptional(x.Odd))
		}
	}
	ctx := context.Background()
	config := wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(features)
	plainly := wazero.NewRuntimeWithConfig(ctx, config)
	exceptions := wazero.NewRuntimeWithConfig(ctx, config.WithCoreFeatures(features|experimental.CoreFeaturesExceptionHandling))
	f.Cleanup(func() { _, _ = plainly.Close(ctx), exceptions.Close(ctx) })
	compiles := func(r wazero.Runtime, wasm []byte) error {
		c, err := r.CompileModule(ctx, wasm)
		if err == nil {
			_ = c.Close(ctx)
		}
		return err
	}
	f.Fuzz(func(t *testing.T, wasm []byte) {
		m, err := checked(wasm)
		if err != nil {
			return
		}
		fixed(t, m.Wasm())
		plain := compiles(exceptions, wasm)
		if plain != nil && strings.Contains(plain.Error(), "failed to read custom section name[") && strings.HasSuffix(plain.Error(), "EOF") {
			return // a name that is all of its section is valid, and only the engine rejects it
		}
		for _, o := range []rewrite.Options{both, {Meter: true}, {Snapshot: true}, {Simplify: true}, {}} {
			out, _, err := rewrite.Rewrite(m, o)
			switch {
			case err == nil && (plain == nil) != (compiles(plainly, out) == nil) && !confused(m, plain):
				t.Errorf("%+v: got %v for the rewritten module, want %v as for the plain one\n%x\n%x", o, compiles(plainly, out), plain, wasm, out)
			case err != nil && plain == nil && !excused(err):
				t.Errorf("%+v: got %v for a module that compiles, want no error\n%x", o, err, wasm)
			}
			if err == nil {
				fixed(t, out)
			}
		}
	})
}

// confused reports whether a module may change its validity because a reference to an exception becomes an i64: it takes
// one for the other, or asks with ref.is_null for one.
func confused(m *wasmbin.Checked, plain error) bool {
	const refIsNull = 0xd1
	if plain == nil {
		return m.Unwinds() && bytes.IndexByte(m.Wasm(), refIsNull) >= 0
	}
	return m.Unwinds() && (bytes.IndexByte(m.Wasm(), wasmbin.ExnRef) >= 0 || strings.Contains(plain.Error(), "throw_ref"))
}

// checked checks a module that is to be compiled soon.
func checked(wasm []byte) (*wasmbin.Checked, error) {
	b, err := wasmbin.Read(wasm)
	if err != nil {
		return nil, err
	}
	return wasmbin.Check(b, wasmbin.Limits{Work: 1_000_000})
}

// fixed fails unless a second check returns the same bytes.
func fixed(t *testing.T, wasm []byte) {
	t.Helper()
	m, err := checked(wasm)
	if errors.Is(err, wasmbin.ErrLimit) {
		return // the additions exceed a limit
	}
	if err != nil || !bytes.Equal(m.Wasm(), wasm) {
		t.Errorf("got %v and\n%x\nwant no error and\n%x", err, m.Wasm(), wasm)
	}
}

// excused reports whether a valid module may be rejected for this reason.
func excused(err error) bool {
	return errors.Is(err, rewrite.ErrReserved) || errors.Is(err, wasmbin.ErrUnsupported) || errors.Is(err, wasmbin.ErrLimit)
}

// specModules returns the smallest modules of some scripts of the specification, n at most.
func specModules(t testing.TB, n int) (modules [][]byte) {
	files, _ := filepath.Glob(filepath.Join(specDir(t), "v2", "testdata", "*.0.wasm"))
	for _, file := range files {
		wasm, err := os.ReadFile(file)
		if err == nil && len(wasm) < 4096 && len(modules) < n {
			modules = append(modules, wasm)
		}
	}
	return modules
}
