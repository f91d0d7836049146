package unwind

import "github.com/sallyport-mcp/sallyport/runtime/wasmbin"

// get and set write an instruction on a global.
func (f *function) get(global uint32) { f.out = appendU32(append(f.out, opGlobalGet), global) }
func (f *function) set(global uint32) { f.out = appendU32(append(f.out, opGlobalSet), global) }

func (f *function) i32(n int64) { f.out = wasmbin.AppendS64(append(f.out, opI32Const), n) }
func (f *function) i64(n int64) { f.out = wasmbin.AppendS64(append(f.out, opI64Const), n) }

// afterCall branches to the handler if the call has thrown.
func (f *function) afterCall(mayThrow bool) {
	if mayThrow {
		f.get(f.exception)
		f.branch(opBrIf, f.pad())
	}
}

// throw moves the values of a tag to their globals, and branches to the handler.
func (f *function) throw(tag uint32) {
	values := f.tags[tag]
	for i := len(values) - 1; i >= 0; i-- {
		if f.refers && values[i].typ == typeF32 {
			f.out = append(f.out, opI32ReinterpretF32)
		}
		f.set(values[i].global)
	}
	f.i32(int64(tag) + 1)
	f.set(f.exception)
	f.branch(opBr, f.pad())
}

// throwRef throws the exception of a reference. It traps if that is null.
func (f *function) throwRef() {
	f.out = appendU32(append(f.out, opLocalTee), f.locals)
	f.out = append(f.out, opI32WrapI64)
	f.set(f.exception + 1)
	f.out = appendU32(append(f.out, opLocalGet), f.locals)
	f.i64(32)
	f.out = append(f.out, opI64ShrU, opI32WrapI64)
	f.set(f.exception)
	f.get(f.exception)
	f.branch(opBrIf, f.pad())
	f.out = append(f.out, opUnreachable)
}

// catch writes one clause of a handler.
func (f *function) catch(c wasmbin.Catch) {
	if c.Tagged() {
		f.get(f.exception)
		f.i32(int64(c.Tag) + 1)
		f.out = append(f.out, opI32Eq, opIf, typeEmpty)
		f.depth++
		for _, v := range f.tags[c.Tag] {
			f.get(v.global)
			if f.refers && v.typ == typeF32 {
				f.out = append(f.out, opF32ReinterpretI32)
			}
		}
	}
	if c.Referred() {
		f.reference()
	}
	f.i32(0)
	f.set(f.exception)
	f.out = append(f.out, opBr)
	f.out = appendU32(f.out, f.to(c.Label))
	if c.Tagged() {
		f.close()
	}
}

// reference pushes a reference to the exception in flight.
func (f *function) reference() {
	f.get(f.exception)
	f.out = append(f.out, opI64ExtendI32U)
	f.i64(32)
	f.out = append(f.out, opI64Shl)
	f.get(f.exception + 1)
	f.out = append(f.out, opI64ExtendI32U, opI64Or)
}
