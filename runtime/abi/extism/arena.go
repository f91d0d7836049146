package extism

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sync"
)

// The layout of the memory that guest and host share. Guests see offsets into it, which are the same as in Extism's
// own kernel: a root, then blocks with a header each.
//
//	0  1        65      77
//	┌──┬────────┬───────┬──────────┬───────┬──────────┬─ ─ ─
//	│  │  root  │ head  │  block   │ head  │  block   │ free
//	└──┴────────┴───────┴──────────┴───────┴──────────┴─ ─ ─
//
// The kernel's data in root and headers is kept outside of the arena, where no guest can overwrite it.
const (
	rootEnd  = 65
	rootSize = 64
	headSize = 12
	pageSize = 1 << 16
	// firstPages is the size of the kernel's memory before the first block is allocated.
	firstPages = 16
	// firstReal is the initially allocated part of that, in bytes: most requests and results fit.
	firstReal = 16 << 10
	// maxKept is the largest arena that is pooled for the next call, in bytes.
	maxKept = firstPages * pageSize
	// splitRest is the smallest remainder, in bytes, for which a freed block is split.
	splitRest = 128
	// maxBlocks bounds the block list on the host: 16 bytes for each block. Plugins have a few thousand.
	maxBlocks = 1 << 20
)

// block is one block of the arena. Offset 0 means "none".
type block struct {
	offset uint32 // of its data
	size   uint32 // allocated
	used   uint32 // requested
	active bool   // false if the block is free
}

// arena is the shared memory of one call. The zero value has no capacity; see newArena.
type arena struct {
	data   []byte  // the touched part; bytes up to cap, and from there to size, read as zero
	size   uint64  // addressable bytes
	limit  uint64  // maximum of size, except for the first pages
	length uint64  // length as reported by the kernel
	top    uint64  // offset after the last block
	blocks []block // by offset
	free   int     // number of free blocks
}

// newArena returns an empty arena of at most limit bytes.
func newArena(limit uint64) *arena {
	a := &arena{data: make([]byte, 0, firstReal)}
	a.begin(limit)
	return a
}

// begin sets up an arena that was reset, for at most limit bytes.
func (a *arena) begin(limit uint64) {
	a.limit, a.size, a.length = min(limit, 1<<32-1), firstPages*pageSize, pageSize-rootSize
	a.top = rootEnd
}

// reset removes all blocks and clears the touched memory, which stays allocated.
func (a *arena) reset() {
	clear(a.data)
	a.data = a.data[:0]
	a.blocks, a.free, a.top = a.blocks[:0], 0, rootEnd
}

// arenas pools empty, zeroed arenas between calls, since allocation is a good part of a short call. The zero value is
// ready for use, and safe for concurrent use.
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

// put returns an unused arena to the pool. Arenas that have grown beyond maxKept are dropped.
func (p *arenas) put(a *arena) {
	if cap(a.data) > maxKept || cap(a.blocks) > maxKept/16 {
		return
	}
	a.reset()
	p.pool.Put(a)
}

// alloc allocates a block of n bytes and returns its offset, or 0 if n is zero or there is no room. It uses, in this
// order: the room behind the last block, the first free block that is large enough, split if much of it would be left,
// and growth of the memory.
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

// findFree returns the index of the first free block of at least n bytes, or -1.
func (a *arena) findFree(n uint32) int {
	if a.free == 0 {
		return -1
	}
	return slices.IndexFunc(a.blocks, func(b block) bool { return !b.active && b.size >= n })
}

// reuse allocates a free block, or its end if the remainder is large enough.
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

// grow adds at least n bytes, in whole pages; false means that the limit does not allow it.
func (a *arena) grow(n uint64) bool {
	n = (n + pageSize - 1) / pageSize * pageSize
	if a.size+n > max(a.limit, firstPages*pageSize) {
		return false
	}
	a.size += n
	a.length += n
	return true
}

// touch allocates the bytes below end.
func (a *arena) touch(end uint64) {
	if end <= uint64(len(a.data)) {
		return
	}
	if end > uint64(cap(a.data)) {
		// A quarter more than requested, so that growing block by block copies little.
		grown := make([]byte, len(a.data), min(end+end/4, a.size))
		copy(grown, a.data)
		a.data = grown
	}
	a.data = a.data[:end]
}

// find returns the index of the active block at an offset, or -1.
func (a *arena) find(offset uint64) int {
	i, ok := slices.BinarySearchFunc(a.blocks, offset, func(b block, offset uint64) int {
		return cmp.Compare(uint64(b.offset), offset)
	})
	if !ok || !a.blocks[i].active {
		return -1
	}
	return i
}

// release frees a block, and reports whether there was one at the offset.
func (a *arena) release(offset uint64) bool {
	i := a.find(offset)
	if i < 0 {
		return false
	}
	a.blocks[i].active = false
	a.free++
	return true
}

// blockLength returns the length of the block at an offset, 0 if there is none.
func (a *arena) blockLength(offset uint64) uint64 {
	if i := a.find(offset); i >= 0 {
		return uint64(a.blocks[i].used)
	}
	return 0
}

// contents returns a view of the block at an offset, empty if there is none.
func (a *arena) contents(offset uint64) []byte {
	view, _ := a.view(offset, a.blockLength(offset))
	return view
}

// within reports whether n bytes at an offset are addressable.
func (a *arena) within(offset, n uint64) bool { return n <= a.size && offset <= a.size-n }

// settable reports whether input, output or an error may begin or end at an offset: only where blocks can be.
func (a *arena) settable(offset uint64) bool { return offset >= rootEnd && offset-rootEnd < a.length }

// view returns n bytes at an offset, valid until the arena is changed.
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

// load8 reads a byte: zero out of bounds and in the root.
func (a *arena) load8(offset uint64) byte {
	if offset < rootSize || offset >= uint64(len(a.data)) {
		return 0
	}
	return a.data[offset]
}

// store8 writes a byte; it has no effect out of bounds and in the root.
func (a *arena) store8(offset uint64, v byte) {
	if offset < rootSize {
		return
	}
	if p, ok := a.view(offset, 1); ok {
		p[0] = v
	}
}

// load64 reads eight bytes, little-endian; false means out of bounds.
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

// store64 writes eight bytes, little-endian; false means out of bounds.
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

// put allocates a block for p and returns its offset: 0 for no bytes; false if there is no room.
func (a *arena) put(p []byte) (offset uint64, ok bool) {
	offset, _, ok = a.putAll([][]byte{p})
	return offset, ok
}

// putAll allocates one block for all parts, and also returns its size.
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
