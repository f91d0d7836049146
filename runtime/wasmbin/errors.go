package wasmbin

import "errors"

// The reasons for rejecting a file. The errors of this package wrap one of them and add the place in the file; offsets
// are in bytes from the start of the file.
var (
	// ErrNotWasm means that the file does not begin with the WebAssembly magic number.
	ErrNotWasm = errors.New("not a WebAssembly module")
	// ErrComponent means that the file is a component of the component model.
	ErrComponent = errors.New("this is a WebAssembly component; build a core module instead " +
		"(target wasm32-wasip1 rather than wasm32-wasip2, and no componentize step)")
	// ErrVersion means an unsupported version of the binary format.
	ErrVersion = errors.New("this version of the WebAssembly format is not supported, only version 1")
	// ErrTruncated means that the file ends too early, for example while it is still being copied.
	ErrTruncated = errors.New("truncated WebAssembly module")
	// ErrMalformed means that the bytes violate the binary format.
	ErrMalformed = errors.New("malformed WebAssembly module")
	// ErrUnsupported means that the module uses an extension of WebAssembly that this host does not support.
	ErrUnsupported = errors.New("unsupported WebAssembly feature")
	// ErrLimit means that the module exceeds a static limit, which no real plugin needs to.
	ErrLimit = errors.New("over a static limit")
)
