package rewrite

// A tail call remains one if the engine passes all parameters and results of both functions in registers, on each of its
// machines: these are the numbers of registers, for integers and references, and for floating-point numbers and vectors.
// Of any other the engine would make a call that the depth does not count; and behind six integers, the address of an
// indirect call overwrites a parameter.
const (
	tailIntParams  = 6
	tailIntResults = 8
	tailFloats     = 8
)

// inRegisters reports whether a call of a type can be a tail call of the current function.
func (a *analysis) inRegisters(typ uint32) bool {
	own, _ := a.b.FuncType(a.number)
	for _, t := range []uint32{typ, own} {
		if params, results, _ := a.b.Signature(t); !fit(params, tailIntParams) || !fit(results, tailIntResults) {
			return false
		}
	}
	return true
}

// fit reports whether there are registers for values of these types, of which ints are for integers.
func fit(types []byte, ints int) bool {
	floats := tailFloats
	for _, t := range types {
		switch t {
		case typeF32, typeF64, typeV128:
			floats--
		default:
			ints--
		}
	}
	return ints >= 0 && floats >= 0
}

// tail records the current tail call: as one, or as a call and a return.
func (a *analysis) tail(remains bool, tail, call eventKind) {
	if remains {
		a.add(tail, 0, a.in.X)
		return
	}
	a.add(call, 0, a.in.X)
	a.add(leave, 0, uint32(len(a.open)-1))
	a.events[len(a.events)-1].at = uint32(a.in.End)
}

// tailCall analyses a return_call.
func (a *analysis) tailCall() {
	in := &a.in
	a.calls(in.X)
	typ, _ := a.b.FuncType(in.X)
	a.tail(int64(in.X) >= int64(a.b.ImportedFuncs()) && a.inRegisters(typ), tailFunc, callFunc)
}

// tailIndirect analyses a return_call_indirect, whose cost is that of a slot.
func (a *analysis) tailIndirect(slot uint32) {
	in := &a.in
	a.f.calls++
	a.costs[slot] += tableCost
	a.run += hostCallRun
	a.knownType(in.X)
	a.tail(a.o.TailIndirect && a.inRegisters(in.X), tailTable, callTable)
}
