package unwind

import "github.com/sallyport-mcp/sallyport/runtime/wasmbin"

// function is the state of compiling one function.
type function struct {
	*lowering
	in     wasmbin.Instruction
	out    []byte
	open   []block  // the open blocks of the original, the function first
	pads   []uint32 // labels of the handlers around, the function's end first
	depth  uint32   // number of labels that are open in the output
	locals uint32   // including parameters; the next one is temp
	throws bool     // it has a handler at its end
	temp   bool     // it has a throw_ref
}

// block is an open block of the original.
type block struct {
	label   uint32          // its own in the output, counted from outside
	catches []wasmbin.Catch // of a try_table
}

// writeFunction appends the body of a function.
func (l *lowering) writeFunction(out []byte, fn uint32, body []byte, at int) []byte {
	typ, _ := l.m.FuncType(fn)
	params, results, _ := l.m.Signature(typ)
	f := &function{lowering: l, out: out, depth: 1, locals: uint32(len(params))}
	d := wasmbin.NewDecoder(body, at, "a function body")
	groups := f.readLocals(d)
	f.look(*d)
	f.writeLocals(groups)
	if f.throws {
		f.pads = append(f.pads, f.block(typeEmpty))
		f.block(f.blockType(nil, results)...)
	}
	f.open = append(f.open, block{label: f.depth - 1})
	for !d.Done() && l.err == nil && d.Next(&f.in) && len(f.open) > 0 {
		f.instruction(d)
	}
	l.note(d.Err())
	if f.throws {
		f.leave(results)
	}
	return f.out
}

// readLocals reads the groups of locals, and returns them with their types replaced.
func (f *function) readLocals(d *wasmbin.Decoder) (groups [][]byte) {
	for n := d.Count(2); n > 0 && d.Err() == nil; n-- {
		count, typ := d.U32(), d.ValueType()
		f.locals += count
		groups = append(groups, append(appendU32(nil, count), plain(typ)))
	}
	return groups
}

// look finds whether the function needs a handler at its end, and a local for throw_ref.
func (f *function) look(d wasmbin.Decoder) {
	var in wasmbin.Instruction
	for !d.Done() && d.Next(&in) {
		switch in.Op {
		case opThrowRef:
			f.throws, f.temp = true, true
		case opThrow:
			f.throws = true
		case opTryTable:
			f.throws = f.throws || len(in.Catches) > 0
		case opCall:
			f.throws = f.throws || f.mayThrow(in.X)
		case opCallIndirect:
			f.throws = f.throws || f.typeThrows(in.X)
		}
	}
}

func (f *function) writeLocals(groups [][]byte) {
	n := uint32(len(groups))
	if f.temp {
		n++
	}
	f.out = appendU32(f.out, n)
	for _, g := range groups {
		f.out = append(f.out, g...)
	}
	if f.temp {
		f.out = append(f.out, 1, typeI64)
	}
}

// instruction writes one instruction.
func (f *function) instruction(d *wasmbin.Decoder) {
	in := &f.in
	switch in.Op {
	case opBlock, opLoop, opIf:
		f.plainBlock()
	case opTryTable:
		f.try()
	case opEnd:
		f.end()
	case opBr, opBrIf:
		in.X = f.to(in.X)
		f.out = in.Append(f.out)
	case opBrTable:
		for i, l := range in.Labels {
			in.Labels[i] = f.to(l)
		}
		f.out = in.Append(f.out)
	case opCall:
		f.out = in.Append(f.out)
		f.afterCall(f.mayThrow(in.X))
	case opCallIndirect:
		f.out = in.Append(f.out)
		f.afterCall(f.typeThrows(in.X))
	case opThrow:
		f.throw(in.X)
	case opThrowRef:
		f.throwRef()
	case opSelectTyped:
		in.Type = plain(in.Type)
		f.out = in.Append(f.out)
	case opRefNull:
		if in.Type == wasmbin.ExnRef {
			f.out = append(f.out, opI64Const, 0)
		} else {
			f.out = in.Append(f.out)
		}
	default:
		f.out = in.Append(f.out)
	}
}

// block opens a block in the output, and returns its label.
func (f *function) block(typ ...byte) uint32 {
	f.out = append(append(f.out, opBlock), typ...)
	f.depth++
	return f.depth - 1
}

// close ends a block in the output.
func (f *function) close() {
	f.out = append(f.out, opEnd)
	f.depth--
}

// branch writes a branch to a label of the output.
func (f *function) branch(op byte, label uint32) {
	f.out = appendU32(append(f.out, op), f.depth-1-label)
}

// to returns the index of an original label in the output.
func (f *function) to(label uint32) uint32 {
	return f.depth - 1 - f.open[len(f.open)-1-int(label)].label
}

// pad returns the label of the innermost handler.
func (f *function) pad() uint32 { return f.pads[len(f.pads)-1] }

// blockType returns the encoded type of a block.
func (f *function) blockType(params, results []byte) []byte {
	switch {
	case len(params)+len(results) == 0:
		return []byte{typeEmpty}
	case len(params) == 0 && len(results) == 1:
		return []byte{plain(results[0])}
	}
	return wasmbin.AppendS64(nil, int64(f.typeIndex(params, results)))
}

// ownType returns the parameters and results of the current block.
func (f *function) ownType() (params, results []byte) {
	switch in := &f.in; {
	case in.Typed:
		params, results, _ = f.m.Signature(in.X)
	case in.Type != wasmbin.NoResult:
		results = []byte{in.Type}
	}
	return params, results
}

func (f *function) plainBlock() {
	if !f.in.Typed {
		f.in.Type = plain(f.in.Type)
	}
	f.out = f.in.Append(f.out)
	f.open = append(f.open, block{label: f.depth})
	f.depth++
}

// try opens the blocks of a try_table.
func (f *function) try() {
	params, results := f.ownType()
	whole := f.blockType(params, results)
	if len(f.in.Catches) == 0 {
		f.open = append(f.open, block{label: f.block(whole...)})
		return
	}
	f.block(whole...)
	f.pads = append(f.pads, f.block(f.blockType(params, nil)...))
	f.open = append(f.open, block{label: f.block(whole...), catches: append([]wasmbin.Catch(nil), f.in.Catches...)})
}

// end ends a block. Behind the body of a try_table it writes the handler.
func (f *function) end() {
	last := f.open[len(f.open)-1]
	f.open = f.open[:len(f.open)-1]
	f.close()
	if len(last.catches) == 0 {
		return
	}
	f.out = append(f.out, opBr, 1)
	f.close()
	f.pads = f.pads[:len(f.pads)-1]
	for _, c := range last.catches {
		f.catch(c)
	}
	f.branch(opBr, f.pad())
	f.close()
}

// leave ends the function: with its results, or with zeros if an exception is in flight.
func (f *function) leave(results []byte) {
	f.out = append(f.out, opReturn)
	f.close()
	for _, t := range results {
		f.out = append(f.out, zeros[plain(t)]...)
	}
	f.close()
}

// zeros is an instruction for the zero of each type.
var zeros = map[byte][]byte{
	typeI32:       {opI32Const, 0},
	typeI64:       {opI64Const, 0},
	typeF32:       {opF32Const, 0, 0, 0, 0},
	typeF64:       {opF64Const, 0, 0, 0, 0, 0, 0, 0, 0},
	typeV128:      {opSIMD, simdConst, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
	typeFuncRef:   {opRefNull, typeFuncRef},
	typeExternRef: {opRefNull, typeExternRef},
}
