package rewrite

import (
	"encoding/binary"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// maxNodes bounds the expressions of a stretch, and with them the depth of the recursion over one.
const maxNodes = 64

// stretch is a part of a function with only pure instructions, read as the expressions that it leaves on the operand
// stack. The engine compiles each instruction by itself, so the rules replace expressions by equal ones that need less
// code. The operands of an expression keep their order, and loads and local.tee are neither dropped nor repeated, so
// traps and effects stay as they are. A replacement needs operands of exactly the types that the original needs, so
// invalid code stays invalid. Fuel is counted for the original.
type stretch struct {
	nodes   []node
	stack   []int32 // the expressions, as indices of nodes
	begin   int     // of the code, in the function's body
	end     int
	changed bool
}

// node is an instruction and its operands.
type node struct {
	op    byte
	left  int32 // operands, as indices of nodes; none is -1, and a unary one has the left one
	right int32
	x, y  uint32 // of variables and loads
	n     int64  // of constants
	hole  bool   // it contains a value from before the stretch
}

// opHole stands for the value on the operand stack before the stretch.
const opHole = 0x00

// The instructions that a stretch may have.
const (
	pureNone  = iota // any other instruction ends the stretch
	pureValue        // no operands
	pureUnary
	pureBinary
)

// purity is the kind of each instruction.
var purity = func() (t [256]byte) {
	set := func(from, to int, kind byte) {
		for op := from; op <= to; op++ {
			t[op] = kind
		}
	}
	set(opI32Const, opI64Const, pureValue)
	t[opLocalGet], t[opGlobalGet] = pureValue, pureValue
	t[opLocalTee] = pureUnary
	set(opI32Load, opI32Load+1, pureUnary)
	set(opI32Load8S, opI64Load32U, pureUnary)
	set(opI32Eqz, opI32Eqz, pureUnary)
	set(opI32Eq, opI32GeU, pureBinary)
	set(opI64Eqz, opI64Eqz, pureUnary)
	set(opI64Eq, opI64GeU, pureBinary)
	set(opI32Add, opI32Rotr, pureBinary)
	set(opI64Add, opI64Rotr, pureBinary)
	t[opI32WrapI64], t[opI64ExtendI32S], t[opI64ExtendI32U] = pureUnary, pureUnary, pureUnary
	return t
}()

// add takes the instruction into the stretch. It returns false for one that cannot be part of it.
func (s *stretch) add(in *wasmbin.Instruction) bool {
	kind := purity[in.Op]
	if kind == pureNone || len(s.nodes)+4 > maxNodes { // a rule adds up to two nodes, and a hole adds one
		return false
	}
	n := node{op: in.Op, left: -1, right: -1, x: in.X, y: in.Y, n: in.N}
	switch kind {
	case pureUnary:
		n.left = s.pop(in)
	case pureBinary:
		if len(s.stack) == 0 || s.nodes[s.stack[len(s.stack)-1]].hole {
			return false // both operands would be from before the stretch
		}
		n.right = s.pop(in)
		n.left = s.pop(in)
	}
	if len(s.nodes) == 0 {
		s.begin = in.Begin
	}
	s.end = in.End
	s.stack = append(s.stack, s.simplify(s.node(n)))
	return true
}

// node adds a node and returns its index.
func (s *stretch) node(n node) int32 {
	for _, operand := range [2]int32{n.left, n.right} {
		n.hole = n.hole || operand >= 0 && s.nodes[operand].hole
	}
	s.nodes = append(s.nodes, n)
	return int32(len(s.nodes) - 1)
}

// pop takes the expression on the top of the stack, or the value from before the stretch.
func (s *stretch) pop(in *wasmbin.Instruction) int32 {
	if n := len(s.stack); n > 0 {
		top := s.stack[n-1]
		s.stack = s.stack[:n-1]
		return top
	}
	if len(s.nodes) == 0 {
		s.begin = in.Begin
	}
	return s.node(node{op: opHole, left: -1, right: -1, hole: true})
}

// reset empties the stretch.
func (s *stretch) reset() { s.nodes, s.stack, s.changed = s.nodes[:0], s.stack[:0], false }

// replace records a replacement.
func (s *stretch) replace(by int32) int32 {
	s.changed = true
	return by
}

// simplify applies the rules to an expression whose operands are simplified, and returns its replacement.
func (s *stretch) simplify(i int32) int32 {
	n := &s.nodes[i]
	switch n.op {
	case opI32WrapI64:
		if !s.opaque(n.left) && s.conversions(n.left) <= 1 && s.keepsType(n.left) { // the wrap is one
			return s.replace(s.narrow(n.left))
		}
	case opI64ExtendI32S, opI64ExtendI32U:
		return s.extend(i)
	case opI64And, opI64Or, opI64Xor:
		return s.logic(i)
	case opI64Eqz:
		if inner := s.nodes[n.left]; inner.op == opI64ExtendI32U {
			return s.replace(s.simplify(s.node(node{op: opI32Eqz, left: inner.left, right: -1})))
		}
	case opI32Eqz:
		return s.negate(i)
	}
	return i
}

// extend computes the extension of a constant.
func (s *stretch) extend(i int32) int32 {
	n := &s.nodes[i]
	c := &s.nodes[n.left]
	if c.op != opI32Const {
		return i
	}
	value := int64(int32(c.n))
	if n.op == opI64ExtendI32U {
		value = int64(uint32(c.n))
	}
	c.op, c.n = opI64Const, value
	return s.replace(n.left)
}

// logic computes in 32 bits if both operands were extended from there, so that one extension remains.
func (s *stretch) logic(i int32) int32 {
	n := &s.nodes[i]
	a, b := &s.nodes[n.left], &s.nodes[n.right]
	if a.op != opI64ExtendI32U || b.op != opI64ExtendI32U {
		return i
	}
	n.op, n.left, n.right = n.op-opI64Add+opI32Add, a.left, b.left
	return s.replace(s.node(node{op: opI64ExtendI32U, left: i, right: -1}))
}

// negate replaces a negated comparison by its opposite.
func (s *stretch) negate(i int32) int32 {
	inner := &s.nodes[s.nodes[i].left]
	switch op := inner.op; {
	case op >= opI32Eq && op <= opI32GeU:
		inner.op = opI32Eq + opposite[op-opI32Eq]
	case op >= opI64Eq && op <= opI64GeU:
		inner.op = opI64Eq + opposite[op-opI64Eq]
	default:
		return i
	}
	return s.replace(s.nodes[i].left)
}

// opposite is the opposite of each comparison: eq, ne, lt_s, lt_u, gt_s, gt_u, le_s, le_u, ge_s, ge_u.
var opposite = [10]byte{1, 0, 8, 9, 6, 7, 4, 5, 2, 3}

// opaque reports whether narrow can only wrap an expression.
func (s *stretch) opaque(i int32) bool {
	n := &s.nodes[i]
	switch n.op {
	case opI64Const, opI64ExtendI32S, opI64ExtendI32U, opI64Add, opI64Sub, opI64Mul, opI64And, opI64Or, opI64Xor:
		return false
	case opI64Shl: // by less than 32: otherwise the low half is 0
		by := &s.nodes[n.right]
		return by.op != opI64Const || uint64(by.n)%64 >= 32
	}
	return narrowLoad[n.op] == 0
}

// keepsType reports whether narrow returns an expression that is an i32 or invalid. That of an extension is its operand,
// whose type nothing else demands.
func (s *stretch) keepsType(i int32) bool {
	n := &s.nodes[i]
	if n.op != opI64ExtendI32S && n.op != opI64ExtendI32U {
		return true
	}
	switch op := s.nodes[n.left].op; {
	case op == opI32WrapI64, op >= opI32Eqz && op <= opI64GeU, op >= opI32Add && op <= opI32Rotr:
		return true
	default:
		return op == opI32Const || op == opI32Load || op >= opI32Load8S && op <= opI32Load16U
	}
}

// conversions returns the number of conversions that narrow adds to an expression.
func (s *stretch) conversions(i int32) int {
	n := &s.nodes[i]
	switch {
	case s.opaque(i):
		return 1
	case n.op == opI64ExtendI32S, n.op == opI64ExtendI32U:
		return -1
	case n.right >= 0:
		return s.conversions(n.left) + s.conversions(n.right)
	}
	return 0
}

// narrow returns an expression of the low 32 bits of an expression of type i64.
func (s *stretch) narrow(i int32) int32 {
	n := s.nodes[i]
	switch {
	case s.opaque(i):
		return s.node(node{op: opI32WrapI64, left: i, right: -1})
	case n.op == opI64ExtendI32S, n.op == opI64ExtendI32U:
		return n.left
	case n.op == opI64Const:
		n.op, n.n = opI32Const, int64(int32(n.n))
	case n.right >= 0:
		n.op, n.left, n.right = n.op-opI64Add+opI32Add, s.narrow(n.left), s.narrow(n.right)
	default:
		n.op = narrowLoad[n.op]
	}
	s.nodes[i] = n
	return i
}

// narrowLoad is the load of an i32 with the same bytes, for loads of fewer bytes than an i64 has.
var narrowLoad = [256]byte{
	opI64Load8S: opI32Load8S, opI64Load8U: opI32Load8S + 1, opI64Load16S: opI32Load8S + 2, opI64Load16U: opI32Load8S + 3,
	opI64Load32S: opI32Load, opI64Load32U: opI32Load,
}

// write appends the code of the stretch.
func (s *stretch) write(out []byte) []byte {
	for _, i := range s.stack {
		out = s.writeNode(out, i)
	}
	return out
}

func (s *stretch) writeNode(out []byte, i int32) []byte {
	n := &s.nodes[i]
	for _, operand := range [2]int32{n.left, n.right} {
		if operand >= 0 {
			out = s.writeNode(out, operand)
		}
	}
	switch op := n.op; {
	case op == opHole:
		return out
	case op == opI32Const, op == opI64Const:
		return wasmbin.AppendS64(append(out, op), n.n)
	case op <= opGlobalGet:
		return binary.AppendUvarint(append(out, op), uint64(n.x))
	case op < opI32Const:
		return binary.AppendUvarint(binary.AppendUvarint(append(out, op), uint64(n.x)), uint64(n.y))
	default:
		return append(out, op)
	}
}

// collect takes the instruction into the stretch, and begins a new one if that is too long.
func (a *analysis) collect() {
	if !a.stretch.add(&a.in) {
		a.flush()
		a.stretch.add(&a.in)
	}
}

// flush ends the stretch, and records its replacement.
func (a *analysis) flush() {
	s := &a.stretch
	if s.changed {
		from := len(a.simpler)
		a.simpler = s.write(a.simpler)
		a.events = append(a.events, event{kind: simpler, at: uint32(s.begin), end: uint32(s.end), arg: uint32(from), costSlot: uint32(len(a.simpler))})
	}
	s.reset()
}
