package unwind

// The value types.
const (
	typeI32       = 0x7f
	typeI64       = 0x7e
	typeF32       = 0x7d
	typeF64       = 0x7c
	typeV128      = 0x7b
	typeFuncRef   = 0x70
	typeExternRef = 0x6f
	typeEmpty     = 0x40 // of a block without results
	typeFunc      = 0x60
)

// The instructions that this package reads or writes.
const (
	opUnreachable       = 0x00
	opBlock             = 0x02
	opLoop              = 0x03
	opIf                = 0x04
	opThrow             = 0x08
	opThrowRef          = 0x0a
	opEnd               = 0x0b
	opBr                = 0x0c
	opBrIf              = 0x0d
	opBrTable           = 0x0e
	opReturn            = 0x0f
	opCall              = 0x10
	opCallIndirect      = 0x11
	opTailCall          = 0x12
	opTailIndirect      = 0x13
	opSelectTyped       = 0x1c
	opTryTable          = 0x1f
	opLocalGet          = 0x20
	opLocalTee          = 0x22
	opGlobalGet         = 0x23
	opGlobalSet         = 0x24
	opI32Const          = 0x41
	opI64Const          = 0x42
	opF32Const          = 0x43
	opF64Const          = 0x44
	opI32Eq             = 0x46
	opI64Or             = 0x84
	opI64Shl            = 0x86
	opI64ShrU           = 0x88
	opI32WrapI64        = 0xa7
	opI64ExtendI32U     = 0xad
	opI32ReinterpretF32 = 0xbc
	opF32ReinterpretI32 = 0xbe
	opRefNull           = 0xd0
	opSIMD              = 0xfd
	simdConst           = 12
)
