package wasmbin

import "errors"

// The reasons why a file is refused. The errors of this package wrap one of them and add where in
// the file it happened; offsets are bytes from the file's start.
var (
	// ErrNotWasm is for a file that does not begin as a WebAssembly module does.
	ErrNotWasm = errors.New("not a WebAssembly module")
	// ErrComponent is for a file of the component model.
	ErrComponent = errors.New("this is a WebAssembly component; build a core module instead " +
		"(target wasm32-wasip1 rather than wasm32-wasip2, and no componentize step)")
	// ErrVersion is for a module of another version of the binary format.
	ErrVersion = errors.New("this version of the WebAssembly format is not supported, only version 1")
	// ErrTruncated is for a file that ends too early, such as one that is still being copied.
	ErrTruncated = errors.New("truncated WebAssembly module")
	// ErrMalformed is for bytes that cannot be what they should be.
	ErrMalformed = errors.New("malformed WebAssembly module")
	// ErrUnsupported is for an extension of WebAssembly that this host does not run.
	ErrUnsupported = errors.New("unsupported WebAssembly feature")
	// ErrLimit is for a module that is larger in some way than any plugin needs to be.
	ErrLimit = errors.New("over a static limit")
)
