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
	base *Image       // the image that holds the rest of the contents, or nil
	refs atomic.Int32 // the owner, each memory, and each image over it
}

// New returns an image with a copy of the contents, whose length must be a multiple of a WebAssembly page. If the
// system does not support the way, the image falls back to Copy.
func New(contents []byte, way Way) *Image {
	i := &Image{size: uint64(len(contents)), way: way}
	i.refs.Store(1)
	if way != Copy {
		var err error
		if i.file, i.held, err = newFile(contents, nil); err == nil {
			return i
		}
		i.way = Copy
	}
	i.copy, i.held = bytes.Clone(contents), uint64(len(contents))
	return i
}

// over returns an image with a copy of the contents that are not in base, which is an image of a file; nil if that
// saves little.
func (base *Image) over(contents []byte) *Image {
	f, held, err := newFile(contents, &base.file)
	if err != nil {
		return nil
	}
	if held > base.held/2 {
		f.close()
		return nil
	}
	return base.with(f, held, contents)
}

// again returns an image with the contents of base, which are these; nil if it cannot.
func (base *Image) again(contents []byte) *Image {
	f, err := base.file.again()
	if err != nil {
		return nil
	}
	return base.with(f, 0, contents)
}

// with returns an image of a file over base.
func (base *Image) with(f file, held uint64, contents []byte) *Image {
	i := &Image{size: uint64(len(contents)), way: base.way, file: f, held: held, base: base}
	i.refs.Store(1)
	return i
}

// retain adds a reference; false means that the contents were released.
func (i *Image) retain() bool {
	for {
		n := i.refs.Load()
		if n == 0 {
			return false
		}
		if i.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Size returns the length of the contents in bytes.
func (i *Image) Size() uint64 { return i.size }

// Resident returns the memory that the contents take, in bytes: less than Size if parts of them are zero, or are shared
// in a Family.
func (i *Image) Resident() uint64 { return i.held }

// Way returns the method of restoring memories of the image.
func (i *Image) Way() Way { return i.way }

// Memory returns a memory that may grow to limit bytes, see Bound. The caller must free it; it stays valid after Close.
func (i *Image) Memory(limit uint64) *Memory {
	limit = max(limit, i.size)
	i.refs.Add(1)
	if i.way != Copy {
		if buf, err := reserve(limit, i.file); err == nil {
			return &Memory{image: i, room: limit, limit: limit, way: i.way, buf: buf, size: i.size, peak: i.size}
		}
	}
	m := &Memory{image: i, room: limit, limit: limit, way: Copy, size: i.size, peak: i.size, buf: make([]byte, i.size)}
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
	if i.refs.Add(-1) > 0 {
		return
	}
	i.file.close()
	if i.base != nil {
		i.base.Close()
	}
}
