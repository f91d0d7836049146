package stamp

import "sync"

// maxKept bounds the buffers that are kept for the next file, in bytes: most plugins fit.
const maxKept = 16 << 20

// Buffers keeps memory for reading one file after another. The zero value is usable, and safe for
// concurrent use.
type Buffers struct{ pool sync.Pool }

// Read is like the function, into memory of an earlier file if there is some. Who gives the bytes back
// with Put keeps nothing of them.
func (b *Buffers) Read(path string) ([]byte, Stamp, error) {
	kept, _ := b.pool.Get().(*[]byte)
	if kept == nil {
		return Read(path)
	}
	content, st, err := read(path, *kept)
	if err != nil {
		b.pool.Put(kept)
	}
	return content, st, err
}

// Put gives the bytes of a file back.
func (b *Buffers) Put(content []byte) {
	if cap(content) <= maxKept {
		b.pool.Put(&content)
	}
}
