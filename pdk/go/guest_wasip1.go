//go:build wasip1

package sallyport

import (
	"runtime"
	"unsafe"
)

//go:wasmimport sallyport read
func hostRead(stream uint32, p unsafe.Pointer, size uint32) int32

//go:wasmimport sallyport write
func hostWrite(stream uint32, p unsafe.Pointer, size uint32) int32

//go:wasmimport sallyport call
func hostCall(p unsafe.Pointer, size uint32) int64

//go:wasmimport sallyport close
func hostClose(stream uint32) int32

//go:wasmimport wasi_snapshot_preview1 random_get
func randomGet(p unsafe.Pointer, size uint32) uint32

// sandbox is the Host of a module, with the imported functions.
type sandbox struct{}

func (sandbox) Read(stream uint32, p []byte) int32 {
	n := hostRead(stream, unsafe.Pointer(unsafe.SliceData(p)), uint32(len(p)))
	runtime.KeepAlive(p)
	return n
}

func (sandbox) Write(stream uint32, p []byte) int32 {
	n := hostWrite(stream, unsafe.Pointer(unsafe.SliceData(p)), uint32(len(p)))
	runtime.KeepAlive(p)
	return n
}

func (sandbox) Call(request []byte) int64 {
	n := hostCall(unsafe.Pointer(unsafe.SliceData(request)), uint32(len(request)))
	runtime.KeepAlive(request)
	return n
}

func (sandbox) Close(stream uint32) int32 { return hostClose(stream) }

// served is the plugin that mcp_handle serves, set once by Serve: a module is one plugin.
var served *Plugin

func serve(p *Plugin) {
	if served != nil {
		panic("sallyport: Serve was called twice; a module is one plugin")
	}
	served = p
}

//go:wasmexport mcp_handle
func mcpHandle(size uint32) uint32 {
	if served == nil {
		return uint32(ErrnoInvalid)
	}
	if err := served.Handle(sandbox{}, int64(size)); err != nil {
		return uint32(ErrnoIO)
	}
	return 0
}

//go:wasmexport mcp_warm
func mcpWarm() uint32 {
	if served != nil {
		served.WarmUp()
	}
	return 0
}

func readRandom(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	if n := randomGet(unsafe.Pointer(unsafe.SliceData(p)), uint32(len(p))); n != 0 {
		return Errno(n)
	}
	return nil
}
