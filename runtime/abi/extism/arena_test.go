package extism

import (
	"testing"
)

// No data of one call is visible to the next.
func TestArenas_holdNothingOfEarlierCalls(t *testing.T) {
	var kept arenas
	for _, last := range []uint64{77, 5000, firstReal - 8, firstReal, 70_000, maxKept - 8} {
		a := kept.get(1 << 20)
		for offset := uint64(rootSize); offset <= last; offset += 64 {
			a.store8(offset, 0xff)
		}
		a.store64(last, ^uint64(0))
		a.alloc(1000)
		kept.put(a)
		b := kept.get(64 << 20)
		if len(b.blocks) != 0 || b.limit != 64<<20 || b.alloc(100) != 77 {
			t.Fatalf("got blocks %+v, limit %d; want an arena as new", b.blocks, b.limit)
		}
		for offset := uint64(0); offset < maxKept-8; offset += 8 {
			if v, ok := b.load64(offset); v != 0 || !ok {
				t.Fatalf("%d after %d: got %x, %v; want 0, true", offset, last, v, ok)
			}
		}
	}
}

// Large arenas are not pooled.
func TestArenas_dropLargeOnes(t *testing.T) {
	var kept arenas
	a := kept.get(64 << 20)
	a.alloc(8 << 20)
	kept.put(a)
	many := kept.get(64 << 20)
	for range 200_000 {
		many.alloc(1)
	}
	kept.put(many)
	for range 10 {
		if b := kept.get(64 << 20); b == a || b == many {
			t.Fatal("got a large arena again, want a new one")
		}
	}
}
