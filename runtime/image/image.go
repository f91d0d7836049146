package image

import (
	"bytes"
	"sync/atomic"
)

// Way is how a memory is restored.
type Way int

// The ways, the one to be preferred last.
const (
	Copy Way = iota
	Map
	Scan
)

// String is the way in one word.
func (w Way) String() string { return [...]string{"copy", "map", "scan"}[w] }

// Ways returns the ways that work on this system, the best one last.
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

// Image is what memories begin with. It never changes and is safe for concurrent use.
type Image struct {
	size uint64
	way  Way
	file file         // the contents, where memories are mappings
	copy []byte       // and where they are not
	refs atomic.Int32 // the owner and each memory
}

// New keeps a copy of the contents, whose length is a multiple of a WebAssembly page. The way is a wish: where
// the system refuses what it needs, memories are copies.
func New(contents []byte, way Way) *Image {
	i := &Image{size: uint64(len(contents)), way: way}
	i.refs.Store(1)
	if way != Copy {
		var err error
		if i.file, err = newFile(contents); err == nil {
			return i
		}
		i.way = Copy
	}
	i.copy = bytes.Clone(contents)
	return i
}

// Size is the length of the contents in bytes.
func (i *Image) Size() uint64 { return i.size }

// Way is how memories of the image are restored.
func (i *Image) Way() Way { return i.way }

// Memory makes a memory that may grow to limit bytes. It must be freed, and stays valid when the image is closed.
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

// read copies the contents.
func (i *Image) read(p []byte) {
	if i.copy != nil || i.size == 0 {
		copy(p, i.copy)
		return
	}
	i.file.read(p)
}

// Close ends the owner's use: no memory is made after it. The contents go with the last memory.
func (i *Image) Close() {
	if i.refs.Add(-1) == 0 {
		i.file.close()
	}
}
