package runtime

import (
	"reflect"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// maxMemory is the largest memory an instance can have.
const maxMemory = (1<<16 - 1) * wasmbin.PageSize

// growth is the linear memory of one instance: a slice that grows, never over the limit. Memory
// that was granted is zero until the guest writes it.
type growth struct {
	buf     []byte
	limit   uint64
	refused bool // the guest asked for more than the limit
}

var _ experimental.LinearMemory = (*growth)(nil)

// Allocate makes growth its own allocator: an instance has one memory.
func (g *growth) Allocate(_, _ uint64) experimental.LinearMemory { return g }

// Reallocate resizes the memory; nil is a refusal, which the guest sees as memory.grow = -1.
func (g *growth) Reallocate(size uint64) []byte {
	if size > g.limit {
		g.refused = true
		return nil
	}
	if size > uint64(cap(g.buf)) {
		// A quarter more than asked for, so that growing page by page copies little.
		grown := make([]byte, size, min(size+size/4, g.limit))
		copy(grown, g.buf)
		g.buf = grown
	}
	g.buf = g.buf[:size]
	return g.buf
}

// Free is called when the instance is closed.
func (g *growth) Free() { g.buf = nil }

// noMemory is the memory of a module that has none.
type noMemory struct{}

func (noMemory) Size() uint32                            { return 0 }
func (noMemory) Read(offset, size uint32) ([]byte, bool) { return nil, offset == 0 && size == 0 }
func (noMemory) Write(offset uint32, p []byte) bool      { return offset == 0 && len(p) == 0 }

// memoryOf returns the memory of a running module. Where there is none the engine answers with a
// nil pointer inside an interface.
func memoryOf(m api.Module) Memory {
	mem := m.Memory()
	if mem == nil || reflect.ValueOf(mem).IsNil() {
		return noMemory{}
	}
	return mem
}
