package runtime

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin/rewrite"
)

// applied returns a memory after the segments. An imported offset is base.
func applied(all []rewrite.Data, base uint32) []byte {
	memory := make([]byte, 1<<12)
	for _, d := range all {
		at := d.Offset
		if d.From != nil {
			at = base
		}
		copy(memory[at:], d.Bytes)
	}
	return memory
}

// Go's linker writes its read-only data, its data, and then the rest of the read-only data, with gaps.
func TestMerge_joinsSegmentsInAnyOrder(t *testing.T) {
	var all []rewrite.Data
	for _, from := range []uint32{2000, 0, 1000} {
		for at := from; at < from+600; at += 20 {
			all = append(all, rewrite.Data{Offset: at, Bytes: []byte{1, 2}})
		}
	}
	got := merge(all)
	if len(got) != 3 || !bytes.Equal(applied(got, 0), applied(all, 0)) {
		t.Errorf("got %d segments, and the same memory: %v; want 3, true", len(got), bytes.Equal(applied(got, 0), applied(all, 0)))
	}
}

func TestMerge_keepsTheMemory(t *testing.T) {
	joined := 0
	for seed := range uint64(20_000) {
		r := rand.New(rand.NewPCG(seed, 1))
		var all []rewrite.Data
		for at := uint32(0); len(all) < 1+r.IntN(9); at += uint32(r.IntN(2 * maxGap)) {
			if r.IntN(4) == 0 {
				at = uint32(r.IntN(1 << 10))
			}
			d := rewrite.Data{Offset: at, Bytes: make([]byte, r.IntN(70))}
			for i := range d.Bytes {
				d.Bytes[i] = byte(1 + r.IntN(255))
			}
			if r.IntN(40) == 0 {
				d.From = &wasmbin.Import{}
			}
			all = append(all, d)
			at += uint32(len(d.Bytes))
		}
		got := merge(all)
		joined += len(all) - len(got)
		for _, base := range []uint32{0, 500} {
			if !bytes.Equal(applied(got, base), applied(all, base)) {
				t.Fatalf("seed %d: the memory differs: %v became %v", seed, all, got)
			}
		}
	}
	if joined < 1000 {
		t.Errorf("%d segments were joined, want many", joined)
	}
}
