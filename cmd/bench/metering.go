package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin/rewrite"
	"github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// kernel is a pure computation; n makes it take some ten milliseconds.
type kernel struct {
	name string
	n    uint64
	goes bool // compiled by Go, or else handwritten
}

func kernels() []kernel {
	return []kernel{{"spin", 5_000_000, false}, {"sieve", 900_000, false}, {"fib", 29, false}, {"matmul", 150, false},
		{"sha256", 600, true}, {"sort", 40_000, true}, {"json", 300, true}, {"regex", 150, true}, {"report", 50, true}, {"sha", 10, true}}
}

// The ways to compile the kernels: unchanged, metered by this host, the same without its simpler expressions and jumps,
// and with wazero's check of the context in every loop.
const (
	plain = iota
	metered
	unsimplified
	switched
	ways
)

// meterSlice is the fuel of one refill.
const meterSlice = 100_000

// meterTries is the number of runs of a kernel per round: it is short, and the fastest run of all counts.
const meterTries = 8

// benchMetering measures the cost of making a guest interruptible everywhere, on pure computation.
func benchMetering(ctx context.Context, o options) ([]row, error) {
	if err := buildGuests(ctx); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "sallyport-bench-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	goKernels, err := buildKernels(ctx, dir)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Hour) // wazero checks only contexts that can end
	defer cancel()
	var byHand, byGo [ways]api.Module
	for way := range ways {
		r, err := meterRuntime(ctx, way)
		if err != nil {
			return nil, err
		}
		defer r.Close(context.Background())
		if byHand[way], err = meterInstance(ctx, r, wasmtest.Kernels(), way); err == nil {
			byGo[way], err = meterInstance(ctx, r, goKernels, way)
		}
		if err != nil {
			return nil, err
		}
	}
	rows, err := meteringRows(ctx, byHand, byGo, meterTries*o.rounds)
	if err != nil {
		return nil, err
	}
	longest, err := longestInstruction(ctx, o.rounds)
	if err != nil {
		return nil, err
	}
	before, err := benchBefore(ctx, o)
	return slices.Concat(rows, []row{longest}, before), err
}

// meteringRows times every kernel and returns a ratio for each, and the geometric means.
func meteringRows(ctx context.Context, byHand, byGo [ways]api.Module, rounds int) ([]row, error) {
	names := [ways]string{metered: "metered_over_plain_", switched: "switched_over_plain_"}
	var rows []row
	var logs [ways]float64
	for _, k := range kernels() {
		of := byHand
		if k.goes {
			of = byGo
		}
		times, err := timeKernel(ctx, k, of, rounds)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k.name, err)
		}
		rows = append(rows, row{"simplified_over_before_" + k.name, slices.Min(times[metered]) / slices.Min(times[unsimplified]), "ratio",
			fmt.Sprintf("metered code, before %.2f ms, after %.2f ms", slices.Min(times[unsimplified]), slices.Min(times[metered]))})
		for _, way := range []int{metered, switched} {
			ratio := slices.Min(times[way]) / slices.Min(times[plain])
			logs[way] += math.Log(ratio) / float64(len(kernels()))
			rows = append(rows, row{names[way] + k.name, ratio, "ratio", fmt.Sprintf("plain %.1f ms, quickest of %d runs",
				slices.Min(times[plain]), len(times[way]))})
		}
	}
	return append(rows,
		row{names[switched] + "geomean", math.Exp(logs[switched]), "ratio", "the engine's own switch"},
		row{names[metered] + "geomean", math.Exp(logs[metered]), "ratio", fmt.Sprintf("%d kernels", len(kernels()))}), nil
}

// longestInstruction measures the longest time between two checks of the fuel within one instruction: filling all of a
// plugin's default memory, with pages not yet present.
func longestInstruction(ctx context.Context, rounds int) (row, error) {
	const pages = 64 << 20 >> 16
	var m wasmtest.Module
	m.Memory(pages, pages)
	m.Export("fill", m.Func(nil, nil, nil, wasmtest.I32Const(0), wasmtest.I32Const(1), wasmtest.I32Const(pages<<16), []byte{0xfc, 11, 0}))
	var times []float64
	for range rounds {
		r := wazero.NewRuntime(ctx)
		i, err := r.Instantiate(ctx, m.Bytes())
		begin := time.Now()
		if err == nil {
			_, err = i.ExportedFunction("fill").Call(ctx)
		}
		times = append(times, float64(time.Since(begin).Microseconds())/1000)
		if err = errors.Join(err, r.Close(ctx)); err != nil {
			return row{}, err
		}
	}
	return row{"longest_instruction_64MiB_ms", median(times), "ms", "memory.fill of all of it; " + spread(times)}, nil
}

// buildKernels compiles the kernels written in Go.
func buildKernels(ctx context.Context, dir string) ([]byte, error) {
	out := filepath.Join(dir, "kernels.wasm")
	cmd := exec.CommandContext(ctx, "go", "build", "-buildmode=c-shared", "-o", out, "./cmd/bench/testdata/kernels")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=")
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, text)
	}
	return os.ReadFile(out)
}

// meterRuntime returns a runtime with WASI and the refill import of metered code.
func meterRuntime(ctx context.Context, way int) (wazero.Runtime, error) {
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithCloseOnContextDone(way == switched))
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, r); err != nil {
		return nil, err
	}
	refill := func(ctx context.Context, _ api.Module, stack []uint64) {
		stack[0] = meterSlice
		if ctx.Err() != nil {
			panic(ctx.Err())
		}
	}
	_, err := r.NewHostModuleBuilder(rewrite.Module).NewFunctionBuilder().
		WithGoModuleFunction(api.GoModuleFunc(refill), nil, []api.ValueType{api.ValueTypeI64}).
		Export(rewrite.RefillImport).Instantiate(ctx)
	return r, err
}

// meterInstance instantiates a module of kernels.
func meterInstance(ctx context.Context, r wazero.Runtime, wasm []byte, way int) (api.Module, error) {
	if way == metered || way == unsimplified {
		b, err := wasmbin.Read(wasm)
		if err != nil {
			return nil, err
		}
		checked, err := wasmbin.Check(b, wasmbin.Limits{})
		if err != nil {
			return nil, err
		}
		if wasm, _, err = rewrite.Rewrite(checked, rewrite.Options{Meter: true, Simplify: way == metered}); err != nil {
			return nil, err
		}
	}
	return r.InstantiateWithConfig(ctx, wasm, wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize"))
}

// timeKernel runs a kernel in all ways in turn, after one unmeasured run, and returns milliseconds. The caller uses the
// fastest run of each, since the machine has other load. The slowest way runs less often.
func timeKernel(ctx context.Context, k kernel, of [ways]api.Module, rounds int) (times [ways][]float64, err error) {
	if err := sameResult(ctx, k, of); err != nil {
		return times, err
	}
	for round := range rounds {
		for way, m := range of {
			if way == switched && round%meterTries > 0 {
				continue
			}
			begin := time.Now()
			if _, err := m.ExportedFunction(k.name).Call(ctx, k.n); err != nil {
				return times, err
			}
			times[way] = append(times[way], float64(time.Since(begin).Microseconds())/1000)
		}
	}
	return times, nil
}

// sameResult checks that a kernel computes the same in all ways.
func sameResult(ctx context.Context, k kernel, of [ways]api.Module) error {
	var want uint64
	for way, m := range of {
		got, err := m.ExportedFunction(k.name).Call(ctx, k.n)
		if err != nil {
			return err
		}
		if way == plain {
			want = got[0]
		}
		if got[0] != want {
			return fmt.Errorf("it gives %d, and %d in another way", want, got[0])
		}
	}
	return nil
}
