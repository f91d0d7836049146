package rewrite

// The value types used by the rewriter.
const (
	typeI32     = 0x7f
	typeI64     = 0x7e
	typeF32     = 0x7d
	typeF64     = 0x7c
	typeV128    = 0x7b
	typeFuncRef = 0x70
	typeEmpty   = 0x40 // of a block without results
	typeFunc    = 0x60
)

// The instructions used by the rewriter.
const (
	opUnreachable   = 0x00
	opBlock         = 0x02
	opLoop          = 0x03
	opIf            = 0x04
	opElse          = 0x05
	opEnd           = 0x0b
	opBr            = 0x0c
	opBrIf          = 0x0d
	opBrTable       = 0x0e
	opReturn        = 0x0f
	opCall          = 0x10
	opCallIndirect  = 0x11
	opTailCall      = 0x12
	opTailIndirect  = 0x13
	opDrop          = 0x1a
	opSelectTyped   = 0x1c
	opLocalGet      = 0x20
	opLocalSet      = 0x21
	opLocalTee      = 0x22
	opGlobalGet     = 0x23
	opGlobalSet     = 0x24
	opTableGet      = 0x25
	opTableSet      = 0x26
	opI32Load       = 0x28
	opI64Load       = 0x29
	opI32Load8S     = 0x2c
	opI32Load16U    = 0x2f
	opI64Load8S     = 0x30
	opI64Load8U     = 0x31
	opI64Load16S    = 0x32
	opI64Load16U    = 0x33
	opI64Load32S    = 0x34
	opI64Load32U    = 0x35
	opI64Store32    = 0x3e
	opMemoryGrow    = 0x40
	opI32Const      = 0x41
	opI64Const      = 0x42
	opI32Eqz        = 0x45
	opI32Eq         = 0x46
	opI32GeU        = 0x4f
	opI64Eqz        = 0x50
	opI64Eq         = 0x51
	opI64GeS        = 0x59
	opI64GeU        = 0x5a
	opI32Add        = 0x6a
	opI32Sub        = 0x6b
	opI32Rotr       = 0x78
	opI64Add        = 0x7c
	opI64Sub        = 0x7d
	opI64Mul        = 0x7e
	opI64And        = 0x83
	opI64Or         = 0x84
	opI64Xor        = 0x85
	opI64Shl        = 0x86
	opI64ShrU       = 0x88
	opI64Rotr       = 0x8a
	opI32WrapI64    = 0xa7
	opI64ExtendI32S = 0xac
	opI64ExtendI32U = 0xad
	opRefFunc       = 0xd2
	opBulk          = 0xfc // of memory and tables, and conversions without a trap
	opSIMD          = 0xfd
	simdSplatI64    = 18
	simdExtractI64  = 29
	simdReplaceI64  = 30
)
