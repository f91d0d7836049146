package extism

import (
	"context"
	"fmt"
	"strings"
	"testing"

	sdk "github.com/extism/go-sdk"

	"github.com/sallyport-mcp/sallyport/runtime"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// ask1 is one call of a kernel function, whose result becomes the guest's output.
type ask1 struct {
	name string
	args []int64
}

// importable returns all kernel functions that a guest may import.
func importable() []runtime.HostFunc {
	return append(append(kernelFuncs(), envFuncs()...), httpFuncs()...)
}

// kernelGuest returns a guest with an export for each call: it allocates a block of 100 bytes after the input, calls
// the function, and outputs the result and the new input, output and error.
func kernelGuest(asks []ask1) []byte {
	var m w.Module
	number := make(map[string]uint32)
	for _, f := range importable() {
		number[f.Name] = m.Import(f.Module, f.Name, f.Params, f.Results)
	}
	m.Memory(1, 1)
	for i, a := range asks {
		fn := number[a.name]
		var code [][]byte
		code = append(code, w.I64Const(100), w.Call(number["alloc"]), w.Drop)
		results, args := signature(a.name)
		for j, v := range a.args {
			if args[j] == runtime.I32 {
				code = append(code, w.I32Const(int32(v)))
			} else {
				code = append(code, w.I64Const(v))
			}
		}
		code = append(code, w.Call(fn))
		switch {
		case len(results) == 0:
			code = append(code, w.I64Const(-1))
		case results[0] == runtime.I32:
			code = append(code, []byte{0xad}) // i64.extend_i32_u
		}
		code = append(code, w.LocalSet(0), w.I64Const(48), w.Call(number["alloc"]), w.LocalSet(1))
		keep := func(at int64, value ...[]byte) {
			code = append(code, w.LocalGet(1), w.I64Const(at), []byte{0x7c}, w.Code(value...), w.Call(number["store_u64"]))
		}
		keep(0, w.LocalGet(0))
		for j, name := range []string{"input_offset", "input_length", "output_offset", "output_length", "error_get"} {
			keep(int64(8*j+8), w.Call(number[name]))
		}
		code = append(code, w.I64Const(0), w.Call(number["error_set"]),
			w.LocalGet(1), w.I64Const(48), w.Call(number["output_set"]), w.I32Const(0))
		m.Export(fmt.Sprint("f", i), m.Func(nil, []byte{w.I32}, []byte{w.I64, w.I64}, code...))
	}
	return m.Bytes()
}

// signature returns the results and parameters of a function.
func signature(name string) (results, params []byte) {
	for _, f := range append(importable(), userFuncs()...) {
		if f.Name == name {
			return f.Results, f.Params
		}
	}
	return nil, nil
}

// absurdAsks returns every kernel function with arguments at and past each edge: of the root, of the input (77 to 87),
// of the header after it, of the guest's block (99 to 199), of the first memory.
func absurdAsks() []ask1 {
	small := []int64{0, 1, 63, 64, 65, 76, 77, 78, 87, 88, 89, 99, 100, 65471, 65536, 1<<20 - 8, 1<<20 - 7, 1 << 20, 1<<20 + 1, 1 << 31, 1<<32 - 1}
	large := []int64{1 << 32, 1<<40 + 77, -1 << 63}
	var asks []ask1
	for _, f := range importable() {
		switch wide := !strings.HasSuffix(f.Name, "u64") && f.Name != "length_unsafe" && f.Name != "error_set" && f.Name != "alloc"; {
		case len(f.Params) == 0:
			asks = append(asks, ask1{name: f.Name})
		case len(f.Params) == 1:
			values := small
			if wide {
				values = append(values[:len(values):len(values)], large...)
			}
			for _, v := range values {
				asks = append(asks, ask1{f.Name, []int64{v}})
			}
		default:
			for _, v := range small {
				asks = append(asks, ask1{f.Name, []int64{v, 5}}, ask1{f.Name, []int64{99, v}})
			}
		}
	}
	return asks
}

const behind = "the original traps behind the end of its memory; here that is no block, as any other wrong offset"

// different returns the reason why the result of a call may differ from the SDK's, or "".
func different(a ask1) string {
	if len(a.args) == 0 {
		return ""
	}
	at, width := uint64(a.args[0]), uint64(1)
	if strings.HasSuffix(a.name, "u64") {
		width = 8
	}
	touches := func(from, to uint64) bool { return at < to && at+width > from }
	isBehind := func(at uint64) bool { return at > 1<<20-9 && at < 1<<32 }
	switch family, _, _ := strings.Cut(a.name, "_"); family {
	case "input":
		if a.name == "input_load_u64" && at > 1<<32-1-77 {
			return "the original's sum of two offsets wraps at 32 bits; ours is outside, and ends the guest"
		}
	case "config", "var", "log", "http":
		if isBehind(at) || len(a.args) > 1 && isBehind(uint64(a.args[1])) {
			return behind
		}
	case "load", "store", "free", "length":
		if touches(0, 77) || touches(87, 99) {
			return "the original keeps its own notes in root and heads, for the guest to read and spoil; ours lie outside"
		}
		if isBehind(at) && width == 1 {
			return behind
		}
	}
	return ""
}

// Each kernel function, with ordinary and absurd arguments, has the same result in a real guest in the SDK and in
// this package, except for the differences listed in different.
func TestOracle_kernelFunctionsMatchTheSDK(t *testing.T) {
	quiet(t)
	asks := absurdAsks()
	wasm := kernelGuest(asks)
	theirs := sdkCompiled(t, wasm)
	s := &script{}
	ours, err := pool(t, wasm, s, runtime.Limits{Memory: absurdMemory})
	if err != nil {
		t.Fatal(err)
	}
	equal, reasons := 0, make(map[string]int)
	for i, a := range asks {
		want := theirs(step{fmt.Sprint("f", i), "0123456789"})
		s.steps, s.got = steps(fmt.Sprint("f", i), "0123456789"), nil
		if _, err := ours.Call(context.Background(), runtime.Request{}, newWorld(t, "")); err != nil {
			t.Fatal(err)
		}
		got := s.got[0]
		switch reason := different(a); {
		case want.failed == got.failed && want.output == got.output:
			equal++
		case reason != "":
			reasons[reason]++
		default:
			t.Errorf("%s%d:\n%t %x\nin the SDK\n%t %x %s", a.name, a.args, got.failed, got.output, want.failed, want.output, want.text)
		}
	}
	t.Logf("%d calls of %d functions, %d equal", len(asks), len(importable()), equal)
	if len(reasons) != 3 {
		t.Errorf("got reasons to differ %v, want 3", reasons)
	}
	for reason, n := range reasons {
		t.Logf("%d differ: %s", n, reason)
	}
}

// absurdMemory is the memory limit of the guests of these tests in both hosts, in bytes.
const absurdMemory = 64 << 20

// sdkCompiled compiles a guest once for the SDK; each step runs in its own instance.
func sdkCompiled(t *testing.T, wasm []byte) func(step) outcome {
	ctx := context.Background()
	c, err := sdk.NewCompiledPlugin(ctx, sdk.Manifest{Wasm: []sdk.Wasm{sdk.WasmData{Data: wasm}},
		Memory: &sdk.ManifestMemory{MaxPages: absurdMemory >> 16, MaxHttpResponseBytes: -1, MaxVarBytes: -1}}, sdk.PluginConfig{EnableWasi: true, EnableHttpResponseHeaders: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(ctx) })
	return func(s step) outcome {
		p, err := c.Instance(ctx, sdk.PluginInstanceConfig{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = p.Close(ctx) }()
		return sdkCall(p, s)
	}
}

// Offsets and lengths of more than 32 bits are never truncated.
func TestKernel_neverTruncatesWideNumbers(t *testing.T) {
	for _, wide := range []uint64{1 << 32, 1<<32 + 77, 1<<40 + 77, 1 << 63, ^uint64(0), ^uint64(0) - 7} {
		c := newCall(runtime.Limits{Memory: 64 << 20})
		if err := c.begin([]byte("0123456789")); err != nil {
			t.Fatal(err)
		}
		for _, f := range kernelFuncs() {
			if len(f.Params) == 0 {
				continue
			}
			args := []uint64{wide, wide}[:len(f.Params)]
			got, failed := ours(c, f.Name, args...)
			if must := strings.HasSuffix(f.Name, "u64"); failed != must || got != 0 && !failed {
				t.Errorf("%s%d: got %d, failed %t; want 0, failed %t", f.Name, args, got, failed, must)
			}
		}
		ours(c, "output_set", 77, wide)
		if c.input != 77 || c.inputLength != 10 || c.outputLength != 0 || c.failure != 0 {
			t.Errorf("%d: got %+v, want input 77 of 10 bytes, no output, no failure", wide, c)
		}
	}
}

// The memory ends at the limit, also after a reset.
func TestArena_endsAtItsLimit(t *testing.T) {
	const limit = 4 << 20
	a := newArena(limit)
	for range 2 {
		var sum uint64
		for {
			offset := a.alloc(100_000)
			if offset == 0 {
				break
			}
			sum += 100_000
			if !a.store64(offset+99_992, 1) {
				t.Fatalf("block at %d: got no write, want one", offset)
			}
		}
		if sum < limit/2 || sum > limit || uint64(cap(a.data)) > limit {
			t.Errorf("got %d bytes of %d in blocks, %d real; want at least half, within the limit", sum, limit, cap(a.data))
		}
		a.reset()
		if v, _ := a.load64(77 + 99_992); v != 0 {
			t.Errorf("after a reset: got %d, want 0", v)
		}
	}
}

// Kernel functions are harmless outside a call, as in start-up code.
func TestHostFuncs_areHarmlessOutsideACall(t *testing.T) {
	for _, f := range HostFuncs() {
		if f.Module == "env" {
			continue
		}
		stack := make([]uint64, max(len(f.Params), len(f.Results)))
		for i := range stack {
			stack[i] = 77
		}
		f.Call(context.Background(), noMemory{}, stack)
		if len(f.Results) > 0 && stack[0] != 0 {
			t.Errorf("%s: got %d, want 0", f.Name, stack[0])
		}
	}
}
