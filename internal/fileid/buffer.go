package fileid

import "sync"

// maxKept limits the buffers kept for reuse, in bytes: most plugins fit.
const maxKept = 16 << 20

// Buffers reuses memory for reading files one after another. The zero value is ready to use. It is safe for concurrent
// use.
type Buffers struct{ pool sync.Pool }

// Read is like the function Read, but reuses the memory of an earlier file if it can. After Put the caller must not use
// the returned bytes.
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

// Put returns the bytes of a file for reuse.
func (b *Buffers) Put(content []byte) {
	if cap(content) <= maxKept {
		b.pool.Put(&content)
	}
}
