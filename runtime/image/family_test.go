package image_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/sallyport-mcp/sallyport/runtime/image"
)

// variants returns contents that differ from each other in some pages, and in length.
func variants() [][]byte {
	first := contents(40)
	changed := bytes.Clone(first)
	changed[0] ^= 1
	changed[17*page+4097] ^= 1
	changed[40*page-1] ^= 1
	zeroed := bytes.Clone(first)
	clear(zeroed[2*page : 3*page])
	many := bytes.Clone(first)
	for at := 0; at < 8*page; at += 2 * 4096 {
		many[at] ^= 1
	}
	return [][]byte{first, changed, bytes.Clone(first), zeroed, many, first[:21*page], append(bytes.Clone(first), make([]byte, 5*page)...),
		append(bytes.Clone(changed), changed[:9*page]...), contents(41), nil, make([]byte, 3*page)}
}

// Each memory of a family begins as its own image, and is reset to it. The writes of others do not matter.
func TestFamily_imagesKeepTheirContents(t *testing.T) {
	each(t, func(t *testing.T, way image.Way) {
		var f image.Family
		var memories []*image.Memory
		all := variants()
		for _, want := range all {
			i := f.New(want, way)
			if i.Size() != uint64(len(want)) || i.Way() != way {
				t.Fatalf("got %d bytes, %v; want %d, %v", i.Size(), i.Way(), len(want), way)
			}
			m := i.Memory(60 * page)
			defer m.Free()
			i.Close() // its memories keep it
			memories = append(memories, m)
		}
		random := rand.New(rand.NewPCG(2, uint64(way)))
		for round := range 4 {
			for i, m := range memories {
				holds(t, m, all[i])
				p := m.Reallocate(uint64(len(all[i]) + round*page))
				if tail := p[len(all[i]):]; !bytes.Equal(tail, make([]byte, len(tail))) {
					t.Fatalf("contents %d: got other bytes than zero behind them, want zeros", i)
				}
				for range 500 {
					if len(p) > 0 {
						p[random.IntN(len(p))] ^= byte(1 + random.IntN(255))
					}
				}
				if round == 2 {
					clear(p)
				}
			}
			for _, m := range memories {
				if err := m.Restore(); err != nil {
					t.Fatal(err)
				}
			}
		}
		for i, m := range memories {
			holds(t, m, all[i])
		}
	})
}

// A page that equal images have in common is held once, until the last of them is closed.
func TestFamily_holdsCommonPagesOnce(t *testing.T) {
	for _, way := range image.Ways() {
		if way == image.Copy {
			continue // a copy shares nothing
		}
		t.Run(way.String(), func(t *testing.T) {
			var f image.Family
			all := variants()
			full := image.New(all[0], way)
			whole := full.Resident()
			full.Close()
			first := f.New(all[0], way)
			if first.Resident() != 0 || f.Resident() != whole {
				t.Errorf("got %d bytes of the first image and %d of the family, want 0 and %d", first.Resident(), f.Resident(), whole)
			}
			second := f.New(all[1], way)
			if got, want := second.Resident(), uint64(3*4096); got < want || got > whole/4 {
				t.Errorf("got %d bytes of an image that differs in three pages, want %d or a little more", got, want)
			}
			other := f.New(contents(41), way)
			if got := other.Resident(); got < whole {
				t.Errorf("got %d bytes of an image with nothing in common, want all %d", got, whole)
			}
			other.Close()
			first.Close()
			if got := f.Resident(); got != whole {
				t.Errorf("got %d bytes of the family while an image needs them, want %d", got, whole)
			}
			m := second.Memory(0)
			second.Close()
			holds(t, m, all[1])
			m.Free()
			if got := f.Resident(); got != 0 {
				t.Errorf("got %d bytes of a family without images, want 0", got)
			}
			again := f.New(all[5], way)
			defer again.Close()
			if again.Resident() != 0 || f.Resident() == 0 {
				t.Errorf("got %d and %d bytes of a new first image, want none of its own", again.Resident(), f.Resident())
			}
		})
	}
}
