package rewrite_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// plugins returns the Go guests of this repository, as built by make, or else one of them built in the test.
func plugins(t testing.TB) map[string][]byte {
	t.Helper()
	all := make(map[string][]byte)
	root := filepath.Join("..", "..", "..")
	built, _ := filepath.Glob(filepath.Join(root, "build", "plugins", "*.wasm"))
	if len(built) == 0 {
		out := filepath.Join(t.TempDir(), "conformance.wasm")
		cmd := exec.Command("go", "build", "-buildmode=c-shared", "-o", out, "./conformance")
		cmd.Dir = filepath.Join(root, "plugins")
		cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("%v: %s", err, text)
		}
		built = []string{out}
	}
	for _, file := range built {
		wasm, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(file)] = wasm
	}
	return all
}

// streams implements the host of a plugin: stream 0 is read, stream 1 is written.
type streams struct {
	in  []byte
	out bytes.Buffer
}

func (s *streams) build(ctx context.Context, h *host) error {
	const i32, i64 = api.ValueTypeI32, api.ValueTypeI64
	b := h.NewHostModuleBuilder("sallyport")
	export := func(name string, params []api.ValueType, result api.ValueType, f api.GoModuleFunc) {
		b = b.NewFunctionBuilder().WithGoModuleFunction(f, params, []api.ValueType{result}).Export(name)
	}
	export("read", []api.ValueType{i32, i32, i32}, i32, func(_ context.Context, m api.Module, stack []uint64) {
		p, _ := m.Memory().Read(uint32(stack[1]), uint32(stack[2]))
		n := copy(p, s.in)
		s.in = s.in[n:]
		stack[0] = uint64(n)
	})
	export("write", []api.ValueType{i32, i32, i32}, i32, func(_ context.Context, m api.Module, stack []uint64) {
		p, _ := m.Memory().Read(uint32(stack[1]), uint32(stack[2]))
		s.out.Write(p)
		stack[0] = uint64(len(p))
	})
	export("call", []api.ValueType{i32, i32}, i64, func(_ context.Context, _ api.Module, stack []uint64) {
		stack[0] = uint64(1<<64 - 52) // ENOSYS
	})
	export("close", []api.ValueType{i32}, i32, func(_ context.Context, _ api.Module, stack []uint64) { stack[0] = 0 })
	_, err := b.Instantiate(ctx)
	return err
}

// plugin instantiates a plugin.
func plugin(t testing.TB, cache wazero.CompilationCache, wasm []byte, rewritten bool) (*host, *streams, api.Module) {
	t.Helper()
	ctx := context.Background()
	h, err := newHost(ctx, wazero.NewRuntimeConfig().WithCompilationCache(cache))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close(ctx) })
	s := &streams{}
	if _, err = wasi_snapshot_preview1.Instantiate(ctx, h); err == nil {
		err = s.build(ctx, h)
	}
	if err != nil {
		t.Fatal(err)
	}
	config := wazero.NewModuleConfig().WithStartFunctions()
	var m api.Module
	if rewritten {
		var g *guest
		if g, err = h.load(ctx, wasm, config); err == nil {
			m = g.Module
		}
	} else {
		m, err = h.InstantiateWithConfig(ctx, wasm, config)
	}
	if err == nil {
		_, err = m.ExportedFunction("_initialize").Call(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	return h, s, m
}

// ask makes one request.
func (s *streams) ask(t testing.TB, m api.Module, request string) string {
	t.Helper()
	s.in = []byte(request)
	s.out.Reset()
	results, err := m.ExportedFunction("mcp_handle").Call(context.Background(), uint64(len(request)))
	if err != nil || results[0] != 0 {
		t.Fatalf("got %v, %v; want [0], no error", results, err)
	}
	return s.out.String()
}

// Go plugins return the same results after rewriting, and spend the same fuel every time.
func TestGuests_returnTheSameAtTheSameFuel(t *testing.T) {
	requests := []string{
		`{"method":"plugin/describe","params":{}}`,
		`{"method":"tools/call","params":{"name":"test_simple_text","arguments":{}}}`,
		`{"method":"tools/call","params":{"name":"nothing","arguments":{"a":[1,2,{"b":null}]}}}`,
		`{"method":"no/such"}`,
	}
	for name, wasm := range plugins(t) {
		if name != "conformance.wasm" {
			continue // compiling them all takes half a minute
		}
		t.Run(name, func(t *testing.T) {
			cache := wazero.NewCompilationCache()
			defer cache.Close(context.Background())
			_, sa, a := plugin(t, cache, wasm, false)
			hb, sb, b := plugin(t, cache, wasm, true)
			hc, sc, c := plugin(t, cache, wasm, true)
			for _, r := range requests {
				want, got := sa.ask(t, a, r), sb.ask(t, b, r)
				if want != got || want == "" {
					t.Errorf("%s:\n got %s\nwant %s", r, got, want)
				}
				sc.ask(t, c, r)
			}
			if x, y := hb.spent(b), hc.spent(c); x <= 0 || x != y {
				t.Errorf("got fuel %d and %d, want the same, above 0", x, y)
			}
		})
	}
}

// Function names stay with their functions.
func TestGuests_keepTheirFunctionNames(t *testing.T) {
	for _, wasm := range plugins(t) {
		out, _, err := rewriteWasm(wasm, both)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := names(t, wasm), names(t, out); a == nil || len(a) != len(b) {
			t.Errorf("got %d names, want %d as before", len(b), len(a))
		}
		return
	}
}

// names returns the names of functions, by their index among the defined ones.
func names(t *testing.T, wasm []byte) map[int]string {
	t.Helper()
	b, err := wasmbin.Read(wasm)
	if err != nil {
		t.Fatal(err)
	}
	data, _ := b.CustomSection("name")
	all := make(map[int]string)
	for d := wasmbin.NewDecoder(data, 0, "names"); !d.Done(); {
		id := d.U8()
		part := wasmbin.NewDecoder(d.Bytes(d.U32()), 0, "names")
		if id != 1 {
			continue
		}
		for n := part.Count(2); n > 0; n-- {
			all[int(part.U32())-b.ImportedFuncs()] = part.Name()
		}
	}
	return all
}

// BenchmarkRewrite_4MB rewrites one module of the size of a Go plugin.
func BenchmarkRewrite_4MB(b *testing.B) {
	wasm := plugins(b)["time.wasm"]
	if wasm == nil {
		wasm = plugins(b)["conformance.wasm"]
	}
	b.SetBytes(int64(len(wasm)))
	b.ReportAllocs()
	least, size := time.Hour, 0
	for b.Loop() {
		begin := time.Now()
		out, _, err := rewriteWasm(wasm, both)
		if err != nil {
			b.Fatal(err)
		}
		least, size = min(least, time.Since(begin)), len(out)
	}
	b.ReportMetric(float64(least.Microseconds())/1000, "least-ms")
	b.ReportMetric(float64(size)/float64(len(wasm)), "out/in")
}

// BenchmarkGuest measures the cost of metering a Go plugin that reads and writes JSON.
func BenchmarkGuest(b *testing.B) {
	wasm := plugins(b)["conformance.wasm"]
	if wasm == nil {
		b.Skip("no plugin")
	}
	const request = `{"method":"plugin/describe","params":{}}`
	cache := wazero.NewCompilationCache()
	defer cache.Close(context.Background())
	_, sp, plain := plugin(b, cache, wasm, false)
	h, sm, metered := plugin(b, cache, wasm, true)
	h.slice = 1 << 40
	least := [2]time.Duration{time.Hour, time.Hour}
	for b.Loop() {
		begin := time.Now()
		sp.ask(b, plain, request)
		least[0] = min(least[0], time.Since(begin))
		begin = time.Now()
		sm.ask(b, metered, request)
		least[1] = min(least[1], time.Since(begin))
	}
	b.ReportMetric(float64(least[0].Nanoseconds())/1000, "plain-us")
	b.ReportMetric(float64(least[1].Nanoseconds())/1000, "metered-us")
	b.ReportMetric(float64(least[1])/float64(least[0]), "metered/plain")
}

// BenchmarkCheck_4MB checks the same module.
func BenchmarkCheck_4MB(b *testing.B) {
	wasm := plugins(b)["time.wasm"]
	if wasm == nil {
		wasm = plugins(b)["conformance.wasm"]
	}
	b.SetBytes(int64(len(wasm)))
	b.ReportAllocs()
	least := time.Hour
	for b.Loop() {
		begin := time.Now()
		m, err := wasmbin.Read(wasm)
		if err == nil {
			_, err = wasmbin.Check(m, wasmbin.Limits{})
		}
		if err != nil {
			b.Fatal(err)
		}
		least = min(least, time.Since(begin))
	}
	b.ReportMetric(float64(least.Microseconds())/1000, "least-ms")
}
