package rewrite_test

import (
	"context"
	"errors"
	"testing"

	"github.com/tetratelabs/wazero/api"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin/rewrite"
)

func call(m api.Module, export string, n uint64) (uint64, error) {
	reset(m)
	results, err := m.ExportedFunction(export).Call(context.Background(), n)
	if err != nil {
		return 0, err
	}
	return results[0], nil
}

// TestMeter_fuelGrowsWithTheWork checks for equal results, and for equal fuel in every run, which grows with the work.
func TestMeter_fuelGrowsWithTheWork(t *testing.T) {
	_, plain := kernel(t, false)
	for _, k := range []struct {
		name     string
		n, twice uint64
		fuel     float64 // fuel for twice the work divided by fuel for the work
	}{{"spin", 50_000, 100_000, 2}, {"sieve", 20_000, 40_000, 2}, {"fib", 15, 17, 2.618}, {"matmul", 20, 40, 8}} {
		want, err := call(plain, k.name, k.n)
		if err != nil {
			t.Fatal(err)
		}
		var spent [3]int64
		for i, n := range []uint64{k.n, k.n, k.twice} {
			h, m := kernel(t, true)
			got, err := call(m, k.name, n)
			if err != nil || (n == k.n && got != want) {
				t.Errorf("%s: %d, %v, want %d", k.name, got, err, want)
			}
			spent[i] = h.spent(m)
		}
		if spent[0] != spent[1] || spent[0] <= 0 {
			t.Errorf("%s: got fuel %d and %d, want the same, above 0", k.name, spent[0], spent[1])
		}
		if ratio := float64(spent[2]) / float64(spent[0]); ratio < k.fuel*0.95 || ratio > k.fuel*1.08 {
			t.Errorf("%s: got %d units for %d, want %v times as many", k.name, spent[2], spent[0], k.fuel)
		}
	}
}

// The fuel spent does not depend on the slice.
func TestMeter_fuelDoesNotDependOnTheSlice(t *testing.T) {
	var spent []int64
	for _, slice := range []int64{1, 1000, 100_000, 1 << 40} {
		h, m := kernel(t, true)
		h.slice = slice
		if _, err := call(m, "fib", 15); err != nil {
			t.Fatal(err)
		}
		if _, err := call(m, "sieve", 5000); err != nil {
			t.Fatal(err)
		}
		spent = append(spent, h.spent(m))
	}
	for _, s := range spent {
		if s != spent[0] {
			t.Fatalf("got %v units spent, want the same for every slice", spent)
		}
	}
}

// No code continues after the host ends it.
func TestMeter_endsEndlessCode(t *testing.T) {
	for name, want := range map[string]error{
		"endless": errFuel, "spin": errFuel, "fib": errFuel, "fill": errFuel, "deeper": errDepth, "indirect": errDepth,
	} {
		h, m := kernel(t, true)
		h.refills = 100
		if name == "deeper" || name == "indirect" {
			h.refills = -1
		}
		n := uint64(1 << 20)
		if name == "spin" {
			n = 1 << 31
		} else if name == "fib" {
			n = 60
		}
		if _, err := call(m, name, n); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", name, err, want)
		}
		if left := m.ExportedGlobal(rewrite.DepthGlobal).Get(); want == errDepth && int64(left) >= 0 {
			t.Errorf("%s: got depth %d left, want below 0", name, int64(left))
		}
	}
}

// Filling a mebibyte costs by its length, and refill is called before the next one.
func TestMeter_bulkCostsByLength(t *testing.T) {
	h, m := kernel(t, true)
	h.refills = 10
	if _, err := call(m, "fill", 1<<20); !errors.Is(err, errFuel) {
		t.Fatalf("got %v, want %v", err, errFuel)
	}
	if most := h.spent(m) / (1 << 20 / 16); most > 24 { // ten slices of 100,000, and the fuel taken before the last
		t.Errorf("got %d MiB filled, want at most 24", most)
	}
}

// A call returns its depth on every way out.
func TestMeter_returnsDepthOnEveryWayOut(t *testing.T) {
	_, m := kernel(t, true)
	for range 3 {
		if _, err := call(m, "fib", 12); err != nil {
			t.Fatal(err)
		}
		if left := m.ExportedGlobal(rewrite.DepthGlobal).Get(); left != maxDepth {
			t.Fatalf("got %v, want %v", left, maxDepth)
		}
	}
}
