package image

import (
	"bytes"
	"sync/atomic"
)

// Way is the method of restoring a memory.
type Way int

// The ways, from least to most preferred.
const (
	Copy Way = iota
	Map
	Scan
)

// String returns the way in one word.
func (w Way) String() string { return [...]string{"copy", "map", "scan"}[w] }

// Ways returns the ways available on this system, from least to most preferred.
func Ways() []Way {
	ways := []Way{Copy}
	if mapping {
		ways = append(ways, Map)
	}
	if scanning() {
		ways = append(ways, Scan)
	}
	return ways
}

// Image is the initial contents of memories. It is immutable and safe for concurrent use.
type Image struct {
	size uint64
	held uint64 // bytes of memory that the contents take
	way  Way
	file file         // the contents, if memories are mappings
	copy []byte       // the contents, if memories are copies
	refs atomic.Int32 // the owner and each memory
}

// New returns an image with a copy of the contents, whose length must be a multiple of a WebAssembly page. If the
// system does not support the way, the image falls back to Copy.
func New(contents []byte, way Way) *Image {
	i := &Image{size: uint64(len(contents)), way: way}
	i.refs.Store(1)
	if way != Copy {
		var err error
		if i.file, i.held, err = newFile(contents); err == nil {
			return i
		}
		i.way = Copy
	}
	i.copy, i.held = bytes.Clone(contents), uint64(len(contents))
	return i
}

// Size returns the length of the contents in bytes.
func (i *Image) Size() uint64 { return i.size }

// Resident returns the memory that the contents take, in bytes: less than Size if parts of them are zero.
func (i *Image) Resident() uint64 { return i.held }

// Way returns the method of restoring memories of the image.
func (i *Image) Way() Way { return i.way }

// Memory returns a memory that may grow to limit bytes. The caller must free it; it stays valid after Close.
func (i *Image) Memory(limit uint64) *Memory {
	limit = max(limit, i.size)
	i.refs.Add(1)
	if i.way != Copy {
		if buf, err := reserve(limit, i.file, i.size); err == nil {
			return &Memory{image: i, limit: limit, way: i.way, buf: buf, size: i.size, peak: i.size}
		}
	}
	m := &Memory{image: i, limit: limit, way: Copy, size: i.size, peak: i.size, buf: make([]byte, i.size)}
	i.read(m.buf)
	return m
}

// read copies the contents into p.
func (i *Image) read(p []byte) {
	if i.copy != nil || i.size == 0 {
		copy(p, i.copy)
		return
	}
	i.file.read(p)
}

// Close releases the owner's reference: Memory must not be called afterwards. The contents are released with the last
// memory.
func (i *Image) Close() {
	if i.refs.Add(-1) == 0 {
		i.file.close()
	}
}
