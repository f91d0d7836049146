package runtime

import (
	"reflect"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/sallyport-mcp/sallyport/runtime/image"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// maxMemory is the largest memory of an instance, in bytes: one page less than the whole address space keeps every
// size within 32 bits.
const maxMemory = (1<<16 - 1) * wasmbin.PageSize

// allocator provides the memory of one instance.
type allocator struct{ memory *image.Memory }

var _ experimental.MemoryAllocator = allocator{}

func (a allocator) Allocate(_, _ uint64) experimental.LinearMemory { return a.memory }

// shrink sets the engine's view of a memory that had grown back to p. The engine supports growth only, so it gets all
// but the last page and then grows by that one. False means that the engine's structure is unknown.
func shrink(mem api.Memory, p []byte) bool {
	if len(p) < wasmbin.PageSize {
		return false
	}
	v := reflect.ValueOf(mem)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return false
	}
	buffer := v.Elem().FieldByName("Buffer")
	if !buffer.IsValid() || !buffer.CanSet() || buffer.Type() != reflect.TypeFor[[]byte]() {
		return false
	}
	but := len(p) - wasmbin.PageSize
	buffer.SetBytes(p[:but:but])
	_, ok := mem.Grow(1)
	return ok && mem.Size() == uint32(len(p))
}

// noMemory is the memory of a module that has none.
type noMemory struct{}

func (noMemory) Size() uint32                            { return 0 }
func (noMemory) Read(offset, size uint32) ([]byte, bool) { return nil, offset == 0 && size == 0 }
func (noMemory) Write(offset uint32, p []byte) bool      { return offset == 0 && len(p) == 0 }

// memoryOf returns the memory of a running module. Without one, the engine returns a nil pointer inside an interface.
func memoryOf(m api.Module) Memory {
	mem := m.Memory()
	if mem == nil || reflect.ValueOf(mem).IsNil() {
		return noMemory{}
	}
	return mem
}
