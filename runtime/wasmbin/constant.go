package wasmbin

// The instructions that extended constant expressions add to single constants.
const (
	opI32Const = 0x41
	opI64Const = 0x42
	opI32Add   = 0x6a
	opI32Sub   = 0x6b
	opI32Mul   = 0x6c
	opI64Add   = 0x7c
	opI64Sub   = 0x7d
	opI64Mul   = 0x7e
	opEnd      = 0x0b
)

// maxOperands bounds the operands of a constant expression.
const maxOperands = 1000

// number is an operand of a constant expression.
type number struct {
	op byte // opI32Const or opI64Const
	n  int64
}

// compute reads the rest of a constant expression after its first instruction, in, and makes in the instruction that
// pushes the same value. So the compiler reads one instruction only.
func (r *reader) compute(in *Instruction) {
	var stack []number
	for r.err == nil {
		switch op := in.Op; op {
		case opI32Const, opI64Const:
			if stack = append(stack, number{op, in.N}); len(stack) > maxOperands {
				r.fail(ErrLimit, "a constant has more than %d operands at offset %d", maxOperands, r.base+in.Begin)
			}
		case opI32Add, opI32Sub, opI32Mul, opI64Add, opI64Sub, opI64Mul:
			stack = r.apply(stack, op)
		default:
			r.unsupported(in, "instruction %#x in a sum of constants", op)
		}
		if r.err != nil || r.peek() == opEnd {
			break
		}
		r.next(in)
	}
	if r.err == nil && len(stack) != 1 {
		r.fail(ErrMalformed, "a constant of %d values before offset %d", len(stack), r.offset())
	}
	if r.err == nil {
		*in = Instruction{Op: stack[0].op, N: stack[0].n, Labels: in.Labels, Catches: in.Catches}
	}
}

// apply replaces the last two operands by their sum, difference or product.
func (r *reader) apply(stack []number, op byte) []number {
	typ := byte(opI32Const)
	if op >= opI64Add {
		typ = opI64Const
	}
	n := len(stack)
	if n < 2 || stack[n-1].op != typ || stack[n-2].op != typ {
		r.fail(ErrMalformed, "instruction %#x in a constant lacks two operands of its type before offset %d", op, r.offset())
		return stack
	}
	a, b := stack[n-2].n, stack[n-1].n
	switch op {
	case opI32Add, opI64Add:
		a += b
	case opI32Sub, opI64Sub:
		a -= b
	default:
		a *= b
	}
	if typ == opI32Const {
		a = int64(int32(a))
	}
	return append(stack[:n-2], number{typ, a})
}
