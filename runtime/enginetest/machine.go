package enginetest

import (
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// The opcodes of the machine: the low byte of an order, with an address in the next three bytes and a value in the
// upper half.
const (
	opEnd = iota
	opStore
	opGrow
	opSize
	opLoad
	opSetGlobals
	opGlobals
	opFill
	opCopy
	opInit
	opTrap
	opRecurse
	opTouch
	opIndirect
	opForever
	opSetTable // only in a machine that changes its table
	ops
)

func order(op int, address, value uint32) int64 {
	return int64(op) | int64(address&0xffffff)<<8 | int64(value)<<32
}

// Instructions that package wasmtest lacks.
var (
	i32Eq          = []byte{0x46}
	i32LtU         = []byte{0x49}
	i64ShrU        = []byte{0x88}
	i32And         = []byte{0x71}
	i64ExtendU     = []byte{0xad}
	i32FromF32     = []byte{0xbc}
	i64FromF64     = []byte{0xbd}
	f32FromI32     = []byte{0xbe}
	f64FromI64     = []byte{0xbf}
	i64x2Splat     = []byte{0xfd, 0x12}
	memoryFill     = []byte{0xfc, 11, 0}
	memoryCopy     = []byte{0xfc, 10, 0, 0}
	tableSet0      = []byte{0x26, 0}
	lane           = func(n byte) []byte { return []byte{0xfd, 0x1d, n} }
	refFunc        = func(fn uint32) []byte { return append([]byte{0xd2}, w.U32(fn)...) }
	memoryInit     = func(segment uint32) []byte { return append(append([]byte{0xfc, 8}, w.U32(segment)...), 0) }
	callIndirect   = func(typ uint32) []byte { return append(append([]byte{0x11}, w.U32(typ)...), 0) }
	address, value = w.Code(w.LocalGet(1)), w.Code(w.LocalGet(2))
)

// machine returns a guest that interprets orders: each request calls work, which fetches orders from the host until
// there are none. It has memory, globals of every type, a table, a passive segment, and start-up code of both kinds.
// With table it supports opSetTable.
func machine(begin func(m *w.Module) (finish func(work uint32)), table bool) *w.Module {
	m := new(w.Module)
	finish := begin(m)
	next := m.Import(hostModule, "next", nil, []byte{w.I64})
	report := m.Import(hostModule, "report", []byte{w.I64}, nil)
	m.Memory(2, w.None)
	m.Table(2, 2)
	numbers := []uint32{
		m.Global(w.I32, 11), m.Global(w.I64, 12),
		m.GlobalRaw(w.F32, 1, []byte{0x43, 1, 2, 3, 4}),
		m.GlobalRaw(w.F64, 1, []byte{0x44, 1, 2, 3, 4, 5, 6, 7, 8}),
		m.GlobalRaw(w.V128, 1, []byte{0xfd, 0x0c, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}),
	}
	started := m.Global(w.I32, 0)
	m.Data(70_000, []byte("what the module begins with"))
	passive := m.PassiveData([]byte("what it can copy at any time"))

	seven := m.Func(nil, []byte{w.I64}, nil, w.I64Const(7))
	eight := m.Func(nil, []byte{w.I64}, nil, w.I64Const(8))
	m.Elements(0, seven, eight)
	number := m.Type(nil, []byte{w.I64})
	m.Start(m.Func(nil, nil, nil, w.I32Const(5), w.GlobalSet(started), w.I32Const(40), w.I32Const(41), w.I32Store(0)))
	m.Export("_initialize", m.Func(nil, nil, nil, w.I32Const(44), w.GlobalGet(started), w.I32Store(0)))
	recurse := seven + 4 // seven, eight, start, initialize, recurse
	m.Func(nil, nil, nil, w.Call(recurse), w.Call(recurse))

	on := func(op int32, code ...[]byte) []byte {
		return w.Code(w.LocalGet(0), w.I32Const(op), i32Eq, w.IfVoid, w.Code(code...), w.End)
	}
	tell := w.Call(report)
	set := func(i int, convert ...[]byte) []byte {
		return w.Code(w.Code(convert...), w.GlobalSet(numbers[i]))
	}
	get := func(i int, convert ...[]byte) []byte {
		return w.Code(w.GlobalGet(numbers[i]), w.Code(convert...), tell)
	}
	setTable := w.Unreachable
	if table {
		setTable = w.Code(w.I32Const(0), refFunc(eight), tableSet0)
	}
	work := m.Func(nil, nil, []byte{w.I32, w.I32, w.I32, w.I64, w.I32},
		w.LoopVoid,
		w.Call(next), w.LocalSet(3),
		w.LocalGet(3), w.I32Wrap, w.I32Const(0xff), i32And, w.LocalSet(0),
		w.LocalGet(3), w.I64Const(8), i64ShrU, w.I32Wrap, w.I32Const(0xffffff), i32And, w.LocalSet(1),
		w.LocalGet(3), w.I64Const(32), i64ShrU, w.I32Wrap, w.LocalSet(2),
		on(opStore, address, value, w.I32Store(0)),
		on(opGrow, value, w.MemoryGrow, i64ExtendU, tell),
		on(opSize, w.MemorySize, i64ExtendU, tell),
		on(opLoad, address, w.I32Load(0), i64ExtendU, tell),
		on(opSetGlobals, set(0, value), set(1, w.LocalGet(3)), set(2, value, f32FromI32), set(3, w.LocalGet(3), f64FromI64),
			set(4, w.LocalGet(3), i64x2Splat)),
		on(opGlobals, get(0, i64ExtendU), get(1), get(2, i32FromF32, i64ExtendU), get(3, i64FromF64), get(4, lane(0)), get(4, lane(1)),
			w.GlobalGet(started), i64ExtendU, tell),
		on(opFill, address, value, w.I32Const(5000), memoryFill),
		on(opCopy, address, value, w.I32Const(5000), memoryCopy),
		on(opInit, address, w.I32Const(0), w.I32Const(28), memoryInit(passive)),
		on(opTrap, w.Unreachable),
		on(opRecurse, w.Call(recurse)),
		// Every 256 bytes of the whole memory.
		on(opTouch, w.I32Const(0), w.LocalSet(4), w.LoopVoid,
			w.LocalGet(4), value, w.I32Store(0),
			w.LocalGet(4), w.I32Const(256), w.I32Add, w.LocalSet(4),
			w.LocalGet(4), w.MemorySize, w.I32Const(16), []byte{0x74}, i32LtU, w.BrIf(0), w.End),
		on(opIndirect, value, w.I32Const(1), i32And, callIndirect(number), tell),
		on(opForever, w.LoopVoid, w.Br(0), w.End),
		on(opSetTable, setTable),
		w.LocalGet(0), w.BrIf(0), w.End)
	finish(work)
	return m
}
