package extism

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sync"
)

// The layout of the memory that guest and host share. Guests see offsets into it, and they are the
// same as in Extism's own kernel: a root, then blocks with a head each.
//
//	0  1        65      77
//	┌──┬────────┬───────┬──────────┬───────┬──────────┬─ ─ ─
//	│  │  root  │ head  │  block   │ head  │  block   │ free
//	└──┴────────┴───────┴──────────┴───────┴──────────┴─ ─ ─
//
// What the kernel keeps in root and heads is kept outside of the arena, where no guest writes it.
const (
	rootEnd  = 65
	rootSize = 64
	headSize = 12
	pageSize = 1 << 16
	// firstPages is what the kernel's memory has before the first block is made.
	firstPages = 16
	// firstReal is how much of that is real at once, in bytes: most requests and answers fit.
	firstReal = 16 << 10
	// maxKept is what an arena may hold to be kept for the next call, in bytes.
	maxKept = firstPages * pageSize
	// splitRest is how much of a freed block must be left over for it to be split.
	splitRest = 128
	// maxBlocks bounds what the host keeps beside the arena: 16 bytes for each block. Plugins have a
	// few thousand.
	maxBlocks = 1 << 20
)

// block is one piece of the arena. Offset 0 is never one, so that it can mean "none".
type block struct {
	offset uint32 // of its data
	size   uint32 // of the piece
	used   uint32 // of what was asked for
	active bool   // else it is free
}

// arena is the shared memory of one call. The zero value has no room; see newArena.
type arena struct {
	data   []byte  // what was touched so far; what lies between it and size reads as zero, and is up to cap
	size   uint64  // bytes that the guest may address
	limit  uint64  // size never exceeds it, except for the first pages
	length uint64  // what the kernel says it has
	top    uint64  // offset behind the last block
	blocks []block // in the order of their offsets
	free   int     // how many of them are free
}

// newArena makes an empty arena of at most limit bytes.
func newArena(limit uint64) *arena {
	a := &arena{data: make([]byte, 0, firstReal)}
	a.begin(limit)
	return a
}

// begin makes an empty arena of one that was reset, of at most limit bytes.
func (a *arena) begin(limit uint64) {
	a.limit, a.size, a.length = min(limit, 1<<32-1), firstPages*pageSize, pageSize-rootSize
	a.top = rootEnd
}

// reset forgets every block. The memory stays, and is zero: only what was touched can be anything else.
func (a *arena) reset() {
	clear(a.data)
	a.data = a.data[:0]
	a.blocks, a.free, a.top = a.blocks[:0], 0, rootEnd
}

// arenas keeps arenas between calls, empty and zero: making them is a good part of a short call. The
// zero value is ready, and safe for concurrent use.
type arenas struct{ pool sync.Pool }

// get returns an empty arena of at most limit bytes.
func (p *arenas) get(limit uint64) *arena {
	a, ok := p.pool.Get().(*arena)
	if !ok {
		return newArena(limit)
	}
	a.begin(limit)
	return a
}

// put takes an arena back that nobody uses any more. One that has grown is dropped.
func (p *arenas) put(a *arena) {
	if cap(a.data) > maxKept || cap(a.blocks) > maxKept/16 {
		return
	}
	a.reset()
	p.pool.Put(a)
}

// alloc makes a block of n bytes and returns its offset, 0 if n is zero or there is no room. As long as
// there is room behind the last block it is made there. Then a free block is used if one is large
// enough, the first of them, and cut if much of it would be left over; then the memory grows.
func (a *arena) alloc(n uint64) uint64 {
	if n == 0 || n > a.limit || len(a.blocks) >= maxBlocks {
		return 0
	}
	need := n + headSize
	left := a.length - rootSize - (a.top - rootEnd)
	if need >= left {
		if i := a.findFree(uint32(n)); i >= 0 {
			return a.reuse(i, uint32(n))
		}
		if !a.grow(need - left) {
			return 0
		}
	}
	offset := a.top + headSize
	a.top += need
	a.touch(a.top)
	a.blocks = append(a.blocks, block{offset: uint32(offset), size: uint32(n), used: uint32(n), active: true})
	return offset
}

// findFree returns the number of the first free block of at least n bytes, -1 if there is none.
func (a *arena) findFree(n uint32) int {
	if a.free == 0 {
		return -1
	}
	return slices.IndexFunc(a.blocks, func(b block) bool { return !b.active && b.size >= n })
}

// reuse takes a free block, or its end if that leaves enough of it.
func (a *arena) reuse(i int, n uint32) uint64 {
	b := &a.blocks[i]
	if b.size-n < splitRest {
		b.used, b.active = n, true
		a.free--
		return uint64(b.offset)
	}
	b.size -= n + headSize
	cut := block{offset: b.offset + b.size + headSize, size: n, used: n, active: true}
	a.blocks = slices.Insert(a.blocks, i+1, cut)
	return uint64(cut.offset)
}

// grow adds at least n bytes, by whole pages; false means that the limit does not allow it.
func (a *arena) grow(n uint64) bool {
	n = (n + pageSize - 1) / pageSize * pageSize
	if a.size+n > max(a.limit, firstPages*pageSize) {
		return false
	}
	a.size += n
	a.length += n
	return true
}

// touch makes the bytes below end real.
func (a *arena) touch(end uint64) {
	if end <= uint64(len(a.data)) {
		return
	}
	if end > uint64(cap(a.data)) {
		// A quarter more than asked for, so that growing block by block copies little.
		grown := make([]byte, len(a.data), min(end+end/4, a.size))
		copy(grown, a.data)
		a.data = grown
	}
	a.data = a.data[:end]
}

// find returns the number of the active block at an offset, -1 if there is none.
func (a *arena) find(offset uint64) int {
	i, ok := slices.BinarySearchFunc(a.blocks, offset, func(b block, offset uint64) int {
		return cmp.Compare(uint64(b.offset), offset)
	})
	if !ok || !a.blocks[i].active {
		return -1
	}
	return i
}

// release gives a block back; an offset of no block does nothing. It tells whether there was one.
func (a *arena) release(offset uint64) bool {
	i := a.find(offset)
	if i < 0 {
		return false
	}
	a.blocks[i].active = false
	a.free++
	return true
}

// blockLength is the length of the block at an offset, 0 if there is none.
func (a *arena) blockLength(offset uint64) uint64 {
	if i := a.find(offset); i >= 0 {
		return uint64(a.blocks[i].used)
	}
	return 0
}

// contents is a view of the block at an offset, empty if there is none.
func (a *arena) contents(offset uint64) []byte {
	view, _ := a.view(offset, a.blockLength(offset))
	return view
}

// within tells whether n bytes at an offset can be addressed.
func (a *arena) within(offset, n uint64) bool { return n <= a.size && offset <= a.size-n }

// settable tells whether an offset may be where input, output or an error begins or ends: where
// blocks can be.
func (a *arena) settable(offset uint64) bool { return offset >= rootEnd && offset-rootEnd < a.length }

// view returns n bytes at an offset, valid until the next change of the arena.
func (a *arena) view(offset, n uint64) ([]byte, bool) {
	if !a.within(offset, n) {
		return nil, false
	}
	if n == 0 {
		return nil, true
	}
	a.touch(offset + n)
	return a.data[offset : offset+n : offset+n], true
}

// load8 reads a byte: zero outside the memory and in its root.
func (a *arena) load8(offset uint64) byte {
	if offset < rootSize || offset >= uint64(len(a.data)) {
		return 0
	}
	return a.data[offset]
}

// store8 writes a byte: outside the memory and in its root it does nothing.
func (a *arena) store8(offset uint64, v byte) {
	if offset < rootSize {
		return
	}
	if p, ok := a.view(offset, 1); ok {
		p[0] = v
	}
}

// load64 reads eight bytes, little-endian; false means that they are not all within the memory.
func (a *arena) load64(offset uint64) (uint64, bool) {
	if n := uint64(len(a.data)); n >= 8 && offset <= n-8 {
		return binary.LittleEndian.Uint64(a.data[offset:]), true
	}
	p, ok := a.view(offset, 8)
	if !ok {
		return 0, false
	}
	return binary.LittleEndian.Uint64(p), true
}

// store64 writes eight bytes in the same way.
func (a *arena) store64(offset, v uint64) bool {
	if n := uint64(len(a.data)); n >= 8 && offset <= n-8 {
		binary.LittleEndian.PutUint64(a.data[offset:], v)
		return true
	}
	p, ok := a.view(offset, 8)
	if ok {
		binary.LittleEndian.PutUint64(p, v)
	}
	return ok
}

// put makes a block that holds p and returns its offset: 0 for no bytes; false if there is no room.
func (a *arena) put(p []byte) (offset uint64, ok bool) {
	offset, _, ok = a.putAll([][]byte{p})
	return offset, ok
}

// putAll makes one block that holds all parts, and returns its size too.
func (a *arena) putAll(parts [][]byte) (offset, size uint64, ok bool) {
	for _, p := range parts {
		size += uint64(len(p))
	}
	if size == 0 {
		return 0, 0, true
	}
	if offset = a.alloc(size); offset == 0 {
		return 0, 0, false
	}
	to := a.data[offset:]
	for _, p := range parts {
		to = to[copy(to, p):]
	}
	return offset, size, true
}
