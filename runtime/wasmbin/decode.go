package wasmbin

// Instruction is one decoded instruction, complete with its operands. Op determines which fields are used.
type Instruction struct {
	Op    byte
	Sub   uint32 // the rest of the opcode, after 0xfc and 0xfd
	Begin int    // offset of the opcode in the decoded bytes
	End   int    // offset of the next instruction
	// X is the first index of the instruction (local, global, table, label, function or type), or the alignment of a
	// memory access; Y is its second index, such as the table of a call_indirect, or the offset of an access. For a
	// block, X is its type if Typed.
	X, Y  uint32
	Typed bool
	// Type is the value type of a select, the reference type of a ref.null, or the result of a block that is not
	// Typed.
	Type byte
	Lane byte
	// N is an integer constant, or the bits of a floating-point one.
	N int64
	// Wide is a constant of type v128, or the lanes of a shuffle.
	Wide [16]byte
	// Labels are the targets of a br_table, the default last; valid until the next instruction.
	Labels []uint32
	// Catches are the clauses of a try_table; valid until the next instruction.
	Catches []Catch
}

// Catch is a clause of a try_table. Label is outside of the try_table, where 0 is the innermost block around it.
type Catch struct {
	Kind       byte // CatchTag to CatchAllRef
	Tag, Label uint32
}

// The kinds of a Catch, with the values of the binary format.
const (
	CatchTag    = 0
	CatchTagRef = 1
	CatchAll    = 2
	CatchAllRef = 3
)

// Tagged reports whether the clause catches the exceptions of one tag, and not all.
func (c Catch) Tagged() bool { return c.Kind <= CatchTagRef }

// Referred reports whether the clause carries a reference to the exception.
func (c Catch) Referred() bool { return c.Kind&1 == 1 }

// NoResult is the Type of a block without parameters and results.
const NoResult = 0x40

// Decoder reads a part of a module: numbers, names and instructions. After the first error all methods return zero, so
// that callers may check Err once.
type Decoder struct{ r reader }

// NewDecoder returns a decoder of b, which is at offset base in the file. Errors name it as what, such as "the import
// section".
func NewDecoder(b []byte, base int, what string) *Decoder {
	return &Decoder{reader{b: b, base: base, what: what}}
}

// U8 reads one byte.
func (d *Decoder) U8() byte { return d.r.u8() }

// U32 reads an unsigned LEB128 number of at most 32 bits.
func (d *Decoder) U32() uint32 { return d.r.u32() }

// S32 reads a signed LEB128 number of at most 32 bits.
func (d *Decoder) S32() int32 { return d.r.s32() }

// Bytes returns a view of the next n bytes.
func (d *Decoder) Bytes(n uint32) []byte { return d.r.bytes(n) }

// Name reads a string: its length and that many bytes of UTF-8.
func (d *Decoder) Name() string { return d.r.name() }

// Count reads the length of a vector whose elements take at least min bytes each. A length that exceeds the remaining
// bytes is an error.
func (d *Decoder) Count(min int) int { return d.r.count(min) }

// Since returns a view of the bytes from a position to the current one.
func (d *Decoder) Since(pos int) []byte { return d.r.b[pos:d.r.pos] }

// Pos returns the number of bytes read.
func (d *Decoder) Pos() int { return d.r.pos }

// Offset returns the file offset of the next byte.
func (d *Decoder) Offset() int { return d.r.offset() }

// Done reports whether all bytes have been read, or an error occurred.
func (d *Decoder) Done() bool { return d.r.done() }

// Err returns the first error.
func (d *Decoder) Err() error { return d.r.err }

// Next reads one instruction and reports whether it succeeded.
func (d *Decoder) Next(in *Instruction) bool {
	d.r.next(in)
	return d.r.err == nil
}

// Constant reads a constant expression and its end, returns one instruction with its value, and reports whether it
// succeeded.
func (d *Decoder) Constant(in *Instruction) bool {
	d.r.constant(in)
	return d.r.err == nil
}

// ValueType reads a value type: a number, v128, funcref, externref or exnref.
func (d *Decoder) ValueType() byte { return d.r.valueType() }

// Bool reads a byte that must be 0 or 1.
func (d *Decoder) Bool() bool { return d.r.bool() }

// next reads one instruction. Any encoding that is not listed here is rejected.
func (r *reader) next(in *Instruction) {
	in.Begin = r.pos
	in.Op = r.u8()
	switch opcodes[in.Op] {
	case none:
	case index:
		in.X = r.u32()
	case twoIndex:
		in.X, in.Y = r.u32(), r.u32()
	case access:
		r.access(in)
	case blockSig:
		r.blockType(in)
	case branches:
		in.Labels = in.Labels[:0]
		for n := r.count(1); n >= 0 && r.err == nil; n-- {
			in.Labels = append(in.Labels, r.u32())
		}
	case types:
		if n := r.u8(); n != 1 && r.err == nil {
			r.fail(ErrMalformed, "a select of %d types at offset %d", n, r.base+in.Begin)
		}
		in.Type = r.valueType()
	case refType:
		if in.Type = r.peek(); in.Type == ExnRef {
			r.u8()
		} else {
			in.Type = r.refType()
		}
	case oneByte:
		r.zero()
	default:
		r.constantOrWide(in)
	}
	in.End = r.pos
}

// constantOrWide reads the immediates of a constant or of one of the two prefixed families.
func (r *reader) constantOrWide(in *Instruction) {
	switch opcodes[in.Op] {
	case leb32:
		in.N = int64(r.s32())
	case leb64:
		in.N = r.s64()
	case four:
		in.N = int64(r.fixed(4))
	case eight:
		in.N = int64(r.fixed(8))
	case bulk:
		r.bulk(in)
	case simd:
		r.simd(in)
	case tryBlock:
		r.tryBlock(in)
	default:
		if legacyExceptions[in.Op] {
			r.unsupported(in, "exceptions in their old encoding (wasm-opt --translate-to-exnref converts them), instruction %#x", in.Op)
		}
		r.unsupported(in, "instruction %#x", in.Op)
	}
}

// blockType reads a block type: one byte for none or one result, or a type index, which is never negative. Each byte
// is checked against a list, since 0x63 and 0x64 begin a two-part type in later versions of the format.
func (r *reader) blockType(in *Instruction) {
	in.Typed, in.Type = false, 0
	at := r.offset()
	switch t := r.peek(); {
	case t == NoResult:
		in.Type = r.u8()
	case t > NoResult && t < 0x80:
		in.Type = r.valueType()
	default:
		n := r.s33()
		if n < 0 {
			r.fail(ErrMalformed, "a block type that is %d at offset %d", n, at)
		}
		in.X, in.Typed = uint32(n), true
	}
}

// legacyExceptions are try, catch, rethrow, delegate and catch_all, which try_table has replaced.
var legacyExceptions = [256]bool{0x06: true, 0x07: true, 0x09: true, 0x18: true, 0x19: true}

// tryBlock reads the type and the clauses of a try_table.
func (r *reader) tryBlock(in *Instruction) {
	r.blockType(in)
	in.Catches = in.Catches[:0]
	for n := r.count(2); n > 0 && r.err == nil; n-- {
		c := Catch{Kind: r.u8()}
		if c.Kind > CatchAllRef {
			r.fail(ErrMalformed, "a catch clause of kind %d at offset %d", c.Kind, r.offset()-1)
		}
		if c.Tagged() {
			c.Tag = r.u32()
		}
		c.Label = r.u32()
		in.Catches = append(in.Catches, c)
	}
}

func (r *reader) unsupported(in *Instruction, format string, code any) {
	if r.err == nil {
		r.fail(ErrUnsupported, format+" at offset %d", code, r.base+in.Begin)
	}
}

// bulk reads the 0xfc family: saturating conversions, bulk memory and tables.
func (r *reader) bulk(in *Instruction) {
	in.Sub = r.u32()
	switch in.Sub {
	case 0, 1, 2, 3, 4, 5, 6, 7: // trunc_sat
	case 8: // memory.init
		in.X = r.u32()
		r.zero()
	case 9, 13, 15, 16, 17: // data.drop, elem.drop, table.grow, table.size, table.fill
		in.X = r.u32()
	case 10: // memory.copy
		r.zero()
		r.zero()
	case 11: // memory.fill
		r.zero()
	case 12, 14: // table.init, table.copy
		in.X, in.Y = r.u32(), r.u32()
	default:
		r.unsupported(in, "instruction 0xfc %d", in.Sub)
	}
}

// simd reads the 0xfd family. The compiler reads a single raw byte after 0xfd, so it would take the second byte of a
// longer encoding for an instruction; numbers from 128 end in 0x01, which it takes for a nop.
func (r *reader) simd(in *Instruction) {
	at := r.pos
	in.Sub = r.u32()
	if long := r.pos - at; long > 2 || long == 2 && in.Sub < 128 {
		r.fail(ErrUnsupported, "instruction 0xfd %d in %d bytes at offset %d", in.Sub, long, r.base+in.Begin)
	}
	switch op := in.Sub; {
	case op > 255 || simdGaps[op]:
		r.unsupported(in, "instruction 0xfd %d", op)
	case op <= 11, op == 92, op == 93: // loads and stores
		r.access(in)
	case op == 12, op == 13: // v128.const, i8x16.shuffle
		copy(in.Wide[:], r.bytes(16))
	case op >= 21 && op <= 34: // lanes
		in.Lane = r.u8()
	case op >= 84 && op <= 91: // loads and stores of a lane
		r.access(in)
		in.Lane = r.u8()
	}
}

// access reads the alignment and the offset of a memory access.
func (r *reader) access(in *Instruction) {
	if in.X, in.Y = r.u32(), r.u32(); in.X > 4 {
		r.fail(ErrMalformed, "an alignment of 2^%d at offset %d", in.X, r.base+in.Begin)
	}
}

// simdGaps are the unassigned numbers below 256.
var simdGaps = func() (t [256]bool) {
	for _, op := range []byte{0x9a, 0xa2, 0xa5, 0xa6, 0xaf, 0xb0, 0xb2, 0xb3, 0xb4, 0xbb,
		0xc2, 0xc5, 0xc6, 0xcf, 0xd0, 0xd2, 0xd3, 0xd4, 0xe2, 0xee} {
		t[op] = true
	}
	return t
}()

// constant reads a constant expression, and returns one instruction with its value.
func (r *reader) constant(in *Instruction) {
	r.next(in)
	switch in.Op {
	case 0x41, 0x42, 0x43, 0x44, 0x23, 0xd0, 0xd2: // the constants, global.get, ref.null, ref.func
	case 0xfd:
		if in.Sub != 12 {
			r.unsupported(in, "instruction 0xfd %d in a constant", in.Sub)
		}
	default:
		r.unsupported(in, "instruction %#x in a constant", in.Op)
	}
	if r.err == nil && r.peek() != opEnd && r.rest() > 0 {
		r.compute(in)
	}
	r.u8() // the end
}

// valueType reads a value type.
func (r *reader) valueType() byte {
	t := r.u8()
	checkValueType(r, t, r.offset()-1)
	return t
}

func (r *reader) refType() byte {
	t := r.u8()
	if r.err == nil && t != 0x70 && t != 0x6f {
		r.fail(ErrUnsupported, "a reference of type %#x at offset %d", t, r.offset()-1)
	}
	return t
}

func (r *reader) zero() {
	if c := r.u8(); c != 0 {
		r.fail(ErrUnsupported, "%s has %#x at offset %d, where only 0 is allowed", r.what, c, r.offset()-1)
	}
}

func (r *reader) bool() bool {
	c := r.u8()
	if c > 1 {
		r.fail(ErrMalformed, "%s has %#x at offset %d, where 0 or 1 is expected", r.what, c, r.offset()-1)
	}
	return c == 1
}
