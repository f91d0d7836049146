package wasmtest

import "bytes"

// Instructions without immediates.
var (
	Unreachable = []byte{0x00}
	Else        = []byte{0x05}
	End         = []byte{0x0b}
	Return      = []byte{0x0f}
	Drop        = []byte{0x1a}
	I32Eqz      = []byte{0x45}
	I32Add      = []byte{0x6a}
	I32DivS     = []byte{0x6d}
	I64Shr      = []byte{0x88}
	I32Wrap     = []byte{0xa7}
	MemorySize  = []byte{0x3f, 0x00}
	MemoryGrow  = []byte{0x40, 0x00}
	// LoopVoid, BlockVoid and IfVoid open blocks without parameters and results.
	LoopVoid  = []byte{0x03, 0x40}
	BlockVoid = []byte{0x02, 0x40}
	IfVoid    = []byte{0x04, 0x40}
)

// Code concatenates instructions.
func Code(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// Repeat repeats instructions n times.
func Repeat(n int, parts ...[]byte) []byte { return bytes.Repeat(Code(parts...), n) }

// I32Const pushes an i32 constant.
func I32Const(n int32) []byte { return append([]byte{0x41}, S64(int64(n))...) }

// I64Const pushes an i64 constant.
func I64Const(n int64) []byte { return append([]byte{0x42}, S64(n)...) }

// Call calls a function.
func Call(fn uint32) []byte { return op(0x10, fn) }

// ReturnCall ends the function with the results of another one.
func ReturnCall(fn uint32) []byte { return op(0x12, fn) }

// ReturnCallIndirect ends the function with the results of a function of this type in table 0.
func ReturnCallIndirect(typ uint32) []byte { return Code(op(0x13, typ), []byte{0}) }

// Br branches to a label.
func Br(label uint32) []byte { return op(0x0c, label) }

// BrIf branches to a label if the top of the stack is not zero.
func BrIf(label uint32) []byte { return op(0x0d, label) }

// LocalGet pushes a local.
func LocalGet(i uint32) []byte { return op(0x20, i) }

// LocalSet pops a value into a local.
func LocalSet(i uint32) []byte { return op(0x21, i) }

// GlobalGet pushes a global.
func GlobalGet(i uint32) []byte { return op(0x23, i) }

// GlobalSet pops a value into a global.
func GlobalSet(i uint32) []byte { return op(0x24, i) }

// I32Load loads four bytes from the address on the stack.
func I32Load(offset uint32) []byte { return append(op(0x28, 2), U32(offset)...) }

// I32Store stores four bytes.
func I32Store(offset uint32) []byte { return append(op(0x36, 2), U32(offset)...) }

// I64Store stores eight bytes.
func I64Store(offset uint32) []byte { return append(op(0x37, 3), U32(offset)...) }

func op(code byte, n uint32) []byte { return append([]byte{code}, U32(n)...) }
