package image_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/runtime/image"
)

const page = 64 << 10

// each runs f once for every way available on this system.
func each(t *testing.T, f func(t *testing.T, way image.Way)) {
	for _, way := range image.Ways() {
		t.Run(way.String(), func(t *testing.T) { f(t, way) })
	}
}

// contents returns pages of bytes, some of which are zero.
func contents(pages int) []byte {
	p := make([]byte, pages*page)
	random := rand.NewChaCha8([32]byte{byte(pages)})
	for i := range pages {
		if i%3 != 1 {
			random.Read(p[i*page : (i+1)*page])
		}
	}
	return p
}

// holds fails unless the memory has exactly these contents.
func holds(t *testing.T, m *image.Memory, want []byte) {
	t.Helper()
	if got := m.Bytes(); !bytes.Equal(got, want) {
		t.Fatalf("the memory of %d bytes differs from the %d bytes wanted", len(got), len(want))
	}
}

func TestWays_beginWithAPortableOne(t *testing.T) {
	ways := image.Ways()
	if ways[0] != image.Copy {
		t.Errorf("got ways %v, want %v first", ways, image.Copy)
	}
	if os.Getenv("SALLYPORT_WANT_SCAN") != "" && !slices.Contains(ways, image.Scan) {
		t.Errorf("got ways %v, want %v in them", ways, image.Scan)
	}
	t.Log(ways)
}

// The memory equals the image after any writes and growth.
func TestMemory_restoreUndoesWritesAndGrowth(t *testing.T) {
	each(t, func(t *testing.T, way image.Way) {
		want := contents(40)
		i := image.New(want, way)
		defer i.Close()
		if i.Way() != way || i.Size() != uint64(len(want)) {
			t.Fatalf("got %v, %d bytes; want %v, %d", i.Way(), i.Size(), way, len(want))
		}
		m := i.Memory(60 * page)
		defer m.Free()
		other := i.Memory(50 * page)
		defer other.Free()
		holds(t, m, want)
		random := rand.New(rand.NewPCG(1, uint64(way)))
		for round := range 30 {
			if round%2 == 1 {
				m.Reallocate(uint64(40+random.IntN(21)) * page)
				if tail := m.Bytes()[len(want):]; !bytes.Equal(tail, make([]byte, len(tail))) {
					t.Fatalf("round %d: got other bytes than zero after the image, want zeros", round)
				}
			}
			p := m.Bytes()
			for range random.IntN(700) {
				p[random.IntN(len(p))] ^= byte(1 + random.IntN(255))
			}
			if round%7 == 0 {
				for i := range p {
					p[i] = 0xee
				}
			}
			if err := m.Restore(); err != nil {
				t.Fatal(err)
			}
			holds(t, m, want)
			holds(t, other, want)
		}
		if got := m.Reallocate(60 * page)[40*page:]; !bytes.Equal(got, make([]byte, 20*page)) {
			t.Error("got other bytes than zero after the image, want zeros")
		}
	})
}

// TestMemory_restoreUndoesLargeWrites writes more than maxRewritten.
func TestMemory_restoreUndoesLargeWrites(t *testing.T) {
	each(t, func(t *testing.T, way image.Way) {
		want := contents(200)
		i := image.New(want, way)
		defer i.Close()
		m := i.Memory(0)
		defer m.Free()
		clear(m.Bytes())
		if err := m.Restore(); err != nil {
			t.Fatal(err)
		}
		holds(t, m, want)
		// Every second system page: more regions than one system call returns.
		for at := 0; at < len(want); at += 2 * os.Getpagesize() {
			m.Bytes()[at] ^= 1
		}
		if err := m.Restore(); err != nil {
			t.Fatal(err)
		}
		holds(t, m, want)
	})
}

func TestMemory_growsToItsLimit(t *testing.T) {
	each(t, func(t *testing.T, way image.Way) {
		i := image.New(nil, way)
		defer i.Close()
		m := i.Memory(3 * page)
		defer m.Free()
		for _, c := range []struct {
			pages, want uint64
		}{{0, 0}, {1, 1}, {3, 3}, {2, 3}} { // it never shrinks on its own
			if got := uint64(len(m.Reallocate(c.pages * page))); got != c.want*page {
				t.Errorf("%d pages: got %d bytes, want %d", c.pages, got, c.want*page)
			}
		}
		if m.Refused() {
			t.Error("Refused() within the limit = true, want false")
		}
		if got := m.Reallocate(4 * page); got != nil || !m.Refused() || m.Limit() != 3*page || m.Peak() != 3*page {
			t.Errorf("beyond the limit: got %d bytes, refused %v, limit %d, peak %d; want none, true, %d, %d", len(got), m.Refused(), m.Limit(), m.Peak(), 3*page, 3*page)
		}
		m.Bytes()[2*page] = 7
		if err := m.Restore(); err != nil || m.Refused() || len(m.Bytes()) != 0 || m.Peak() != 0 {
			t.Errorf("after Restore: got %v, %d bytes, refused %v, peak %d; want no error, an empty memory", err, len(m.Bytes()), m.Refused(), m.Peak())
		}
		if got := m.Reallocate(3 * page); got[2*page] != 0 {
			t.Errorf("got byte %d after Restore, want 0", got[2*page])
		}
	})
}

// Memories outlive their image and each other.
func TestImage_closeKeepsItsMemories(t *testing.T) {
	each(t, func(t *testing.T, way image.Way) {
		want := contents(4)
		i := image.New(want, way)
		a, b := i.Memory(0), i.Memory(0)
		a.Bytes()[0]++
		a.Free()
		a.Free()
		i.Close()
		holds(t, b, want)
		clear(b.Bytes())
		if err := b.Restore(); err != nil {
			t.Fatal(err)
		}
		holds(t, b, want)
		b.Free()
	})
}

// Closed images and freed memories leave no mappings.
func TestMemory_leavesNoMappings(t *testing.T) {
	maps := func() int {
		text, err := os.ReadFile("/proc/self/maps")
		if err != nil {
			t.Skip(err)
		}
		return strings.Count(string(text), "sallyport-image")
	}
	each(t, func(t *testing.T, way image.Way) {
		before := maps()
		for n := range 50 {
			i := image.New(contents(3), way)
			m := i.Memory(1 << 30)
			m.Bytes()[n] = 1
			i.Close()
			m.Free()
		}
		if after := maps(); after != before {
			t.Errorf("got %d mappings of images, want %d as before", after, before)
		}
	})
}

// BenchmarkMemory_Restore measures Restore by the number of system pages written.
func BenchmarkMemory_Restore(b *testing.B) {
	for _, way := range image.Ways() {
		for _, pages := range []int{1, 25, 250, 2000} {
			b.Run(fmt.Sprintf("%v/%d", way, pages), func(b *testing.B) {
				i := image.New(contents(160), way)
				defer i.Close()
				m := i.Memory(64 << 20)
				defer m.Free()
				step := len(m.Bytes()) / pages &^ 4095
				for b.Loop() {
					b.StopTimer()
					for n := range pages {
						m.Bytes()[n*step]++
					}
					b.StartTimer()
					if err := m.Restore(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// Pages written by one round are not copied forever, and discarding them loses nothing.
func TestMemory_restoreDiscardsWornPages(t *testing.T) {
	each(t, func(t *testing.T, way image.Way) {
		want := contents(8)
		i := image.New(want, way)
		defer i.Close()
		m := i.Memory(16 * page)
		defer m.Free()
		random := rand.New(rand.NewPCG(2, uint64(way)))
		for round := range 600 {
			p := m.Bytes()
			if round%300 == 1 { // most of it, and as much after the image
				p = m.Reallocate(16 * page)
				if !bytes.Equal(p[8*page:], make([]byte, 8*page)) {
					t.Fatalf("round %d: got other bytes than zero after the image, want zeros", round)
				}
				for at := 0; at < len(p); at += 4096 {
					p[at] ^= 0xff
				}
			}
			p[random.IntN(len(p))]++
			if err := m.Restore(); err != nil {
				t.Fatal(err)
			}
			holds(t, m, want)
		}
	})
}

// A first write is found with any number of memories and any earlier scans.
func TestMemory_restoreFindsFirstWritesAmongManyMemories(t *testing.T) {
	each(t, func(t *testing.T, way image.Way) {
		want := contents(16)
		i := image.New(want, way)
		defer i.Close()
		var all []*image.Memory
		for range 4 {
			m := i.Memory(16 * page)
			defer m.Free()
			all = append(all, m)
		}
		for n := range 256 { // each system page once, and one that was written before
			for k, m := range all {
				m.Bytes()[(n*4096+k*4096*64)%len(want)]++
				m.Bytes()[0]++
			}
			for _, m := range all {
				if err := m.Restore(); err != nil {
					t.Fatal(err)
				}
				holds(t, m, want)
			}
		}
	})
}
