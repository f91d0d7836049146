package extism

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/sallyport-mcp/sallyport/runtime"
)

// sdkDir returns the folder of the Go SDK's module.
var sdkDir = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/extism/go-sdk").Output()
	return strings.TrimSpace(string(out)), err
})

func sdkFile(t testing.TB, name string) []byte {
	t.Helper()
	dir, err := sdkDir()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// original is Extism's own kernel.
type original struct{ m api.Module }

func newOriginal(t testing.TB, r wazero.Runtime, c wazero.CompiledModule) *original {
	t.Helper()
	m, err := r.InstantiateModule(context.Background(), c, wazero.NewModuleConfig().WithName(""))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close(context.Background()) })
	return &original{m}
}

func compileOriginal(t testing.TB) (wazero.Runtime, wazero.CompiledModule) {
	t.Helper()
	r := wazero.NewRuntimeWithConfig(context.Background(), wazero.NewRuntimeConfig().WithMemoryLimitPages(64<<20>>16))
	t.Cleanup(func() { _ = r.Close(context.Background()) })
	c, err := r.CompileModule(context.Background(), sdkFile(t, "extism-runtime.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	return r, c
}

// call runs a function as the SDK's host does: the 64-bit loads and stores bypass the kernel.
func (o *original) call(name string, args ...uint64) (result uint64, failed bool) {
	mem := o.m.ExportedMemory("memory")
	switch name {
	case "load_u64":
		v, ok := mem.ReadUint64Le(uint32(args[0]))
		return v, !ok
	case "store_u64":
		return 0, !mem.WriteUint64Le(uint32(args[0]), args[1])
	case "input_load_u64":
		at, _ := o.call("input_offset")
		v, ok := mem.ReadUint64Le(uint32(args[0] + at))
		return v, !ok
	}
	results, err := o.m.ExportedFunction(name).Call(context.Background(), args...)
	if err != nil {
		return 0, true
	}
	if len(results) > 0 {
		result = results[0]
	}
	return result, false
}

// ours calls a host function of this package, outside of a guest.
func ours(c *call, name string, args ...uint64) (result uint64, failed bool) {
	defer func() {
		if recover() != nil {
			failed = true
		}
	}()
	stack := make([]uint64, max(len(args), 1))
	copy(stack, args)
	ctx := runtime.WithAttached(context.Background(), c)
	for _, f := range HostFuncs() {
		if f.Module == Module && f.Name == name {
			f.Call(ctx, nil, stack[:max(len(f.Params), len(f.Results))])
			if len(f.Results) == 0 {
				return 0, false
			}
			return stack[0], false
		}
	}
	panic("no function " + name)
}

// both runs each function in both kernels and compares the results.
type both struct {
	t      testing.TB
	theirs *original
	ours   *call
	trace  []string
}

func (b *both) call(name string, args ...uint64) uint64 {
	b.t.Helper()
	want, wantFailed := b.theirs.call(name, args...)
	got, gotFailed := ours(b.ours, name, args...)
	b.trace = append(b.trace, fmt.Sprintf("%s%d = %d", name, args, want))
	if want != got || wantFailed != gotFailed {
		b.t.Fatalf("%s%d is %d (failed: %t), and %d (failed: %t) in the original\n%s", name, args, got, gotFailed, want, wantFailed,
			strings.Join(b.trace, "\n"))
	}
	return got
}

// Ordinary use has the same offsets, lengths and bytes as in Extism's own kernel.
func TestKernel_matchesTheOriginal(t *testing.T) {
	r, c := compileOriginal(t)
	b := &both{t: t, theirs: newOriginal(t, r, c), ours: newCall(runtime.Limits{Memory: 64 << 20})}
	b.call("reset")
	for _, n := range []uint64{1065, 288, 128} {
		b.call("alloc", n)
	}
	b.call("free", 1454)
	for _, n := range []uint64{213, 511, 4, 13, 336, 1077} {
		b.call("length", b.call("alloc", n))
	}
	b.call("free", 2715)
	for _, n := range []uint64{1094, 4, 4, 0, 1 << 40, 1 << 32, 70000, 1 << 20, 5 << 20} {
		offset := b.call("alloc", n)
		b.call("length", offset)
		b.call("length_unsafe", offset)
		b.call("memory_bytes")
	}
	for _, name := range []string{"input_length", "input_offset", "output_length", "output_offset", "error_get"} {
		b.call(name)
	}
	last := b.call("alloc", 20)
	b.call("store_u64", last, 0x1122334455667788)
	b.call("load_u64", last)
	b.call("load_u8", last+3)
	b.call("store_u8", last+3, 0x1ff)
	b.call("load_u64", last)
	for _, set := range [][2]uint64{{last, 20}, {0, 0}, {last, 0}, {last + 1, 3}, {1 << 31, 4}, {last, 1 << 31}, {0, 5}, {1 << 40, 1 << 40}} {
		b.call("input_set", set[0], set[1])
		b.call("output_set", set[0], set[1])
		b.call("error_set", set[0])
		for _, name := range []string{"input_length", "input_offset", "output_length", "output_offset", "error_get"} {
			b.call(name)
		}
		b.call("input_load_u8", 0)
		b.call("input_load_u8", 19)
		b.call("input_load_u8", 20)
	}
	b.call("reset")
	b.call("error_get")
	b.call("load_u8", last)
	b.call("alloc", 8)
}

// FuzzKernel runs any sequence of calls in both kernels. Known differences are excluded: offsets without a block (the
// original trusts headers that the guest may overwrite) are only tried on ours.
func FuzzKernel(f *testing.F) {
	r, compiled := compileOriginal(f)
	f.Add([]byte{0, 10, 0, 0, 200, 0, 1, 0, 0, 0, 5, 0, 2, 1, 0})
	f.Add([]byte{0, 255, 255, 0, 255, 255, 1, 0, 0, 0, 9, 0, 5, 0, 0, 6, 1, 0})
	f.Fuzz(func(t *testing.T, program []byte) {
		if len(program) > 3*200 {
			return
		}
		b := &both{t: t, theirs: newOriginal(t, r, compiled), ours: newCall(runtime.Limits{Memory: 64 << 20})}
		var offsets []uint64
		for ; len(program) >= 3; program = program[3:] {
			n := uint64(binary.LittleEndian.Uint16(program[1:]))
			pick := uint64(0)
			if len(offsets) > 0 {
				pick = offsets[n%uint64(len(offsets))]
			}
			active := b.ours.arena.blockLength(pick) > 0
			switch program[0] % 9 {
			case 0:
				offsets = append(offsets, b.call("alloc", n))
			case 1:
				b.call("free", pick)
			case 2:
				b.call("length", pick)
			case 3:
				if active && b.ours.arena.blockLength(pick) >= 8 {
					b.call("store_u64", pick, n*0x0101010101010101)
				}
			case 4:
				if active {
					b.call("store_u8", pick, n)
				}
			case 5:
				if active {
					b.call("load_u8", pick)
					b.call("length_unsafe", pick)
				}
			case 6:
				if active {
					b.call("output_set", pick, n%(b.ours.arena.blockLength(pick)+1))
					b.call("output_length")
				}
			case 7:
				if active {
					b.call("input_set", pick, b.ours.arena.blockLength(pick))
					b.call("input_load_u8", n)
				}
			case 8:
				b.call("error_set", pick)
				b.call("error_get")
			}
			b.call("input_length")
		}
	})
}

// A kernel function panics with no arguments except to end its guest, and the next request is served in any case.
func FuzzKernelAbsurd(f *testing.F) {
	f.Add([]byte("alloc"), uint64(1<<32), uint64(0))
	f.Add([]byte{3, 4, 5, 6}, ^uint64(0), uint64(1))
	f.Add([]byte{7, 0, 9, 8, 255}, uint64(77), ^uint64(7))
	funcs := HostFuncs()
	f.Fuzz(func(t *testing.T, which []byte, a, b uint64) {
		c := newCall(runtime.Limits{Memory: 1 << 20})
		ctx := runtime.WithAttached(context.Background(), c)
		for i, n := range which {
			fn := funcs[int(n)%len(funcs)]
			stack := []uint64{a, b, a ^ b, a + uint64(i)}
			runs(t, fn, ctx, stack[:max(len(fn.Params), len(fn.Results))])
			if c.arena.size > 1<<20 || uint64(cap(c.arena.data)) > c.arena.size {
				t.Fatalf("%s: got an arena of %d bytes, %d real; want at most 1 MiB", fn.Name, c.arena.size, cap(c.arena.data))
			}
			a, b = a*6364136223846793005+1442695040888963407, b+a>>32
			if i%3 == 0 {
				a %= 1 << 17
			}
		}
		if err := c.begin([]byte("next")); err != nil {
			t.Fatal(err)
		}
		if got, _ := ours(c, "input_load_u8", 3); got != 't' {
			t.Fatalf("next input: got %d, want 't'", got)
		}
	})
}

// runs calls a function; only the signal of runtime.Abort may escape.
func runs(t *testing.T, fn runtime.HostFunc, ctx context.Context, stack []uint64) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil && !strings.Contains(fmt.Sprintf("%T", r), "abortSignal") {
			t.Fatalf("%s%d: got panic %v, want none but of an abort", fn.Name, stack, r)
		}
	}()
	fn.Call(ctx, noMemory{}, stack)
}

// noMemory is the memory of a guest that has none.
type noMemory struct{}

func (noMemory) Size() uint32                         { return 0 }
func (noMemory) Read(offset, n uint32) ([]byte, bool) { return nil, offset == 0 && n == 0 }
func (noMemory) Write(uint32, []byte) bool            { return false }

// Kernel functions return zero in a guest that imports the kernel but is served by a different dialect, whose
// attached value they then find.
func TestKernel_returnsZeroInAnotherDialect(t *testing.T) {
	for _, f := range HostFuncs() {
		if f.Quick == nil {
			continue
		}
		stack := []uint64{9, 9, 9}[:max(len(f.Params), len(f.Results))]
		f.Quick("another dialect's", stack)
		if len(f.Results) > 0 && stack[0] != 0 {
			t.Errorf("%s: got %d, want 0", f.Name, stack[0])
		}
	}
}
