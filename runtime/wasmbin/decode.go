package wasmbin

// Instruction is one instruction, taken apart. Which fields mean something depends on Op.
type Instruction struct {
	Op    byte
	Sub   uint32 // the rest of the opcode, after 0xfc and 0xfd
	Begin int    // offset of the opcode in the bytes that are decoded
	End   int    // offset of what follows
	// X is the index, the label, the function or the type that the instruction names, Y the second of
	// them, such as the table of a call_indirect. For a block, X is its type if Typed.
	X, Y  uint32
	Typed bool
	// Labels are the targets of a br_table, the default last; valid until the next instruction.
	Labels []uint32
}

// Decoder reads a part of a module: numbers, names and instructions. The first problem stays, and
// from then on everything is zero, so that callers look at Err once.
type Decoder struct{ r reader }

// NewDecoder reads b, which begins at base in the file and is called what in errors: "the import section".
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

// Name reads a length and so many bytes of UTF-8.
func (d *Decoder) Name() string { return d.r.name() }

// Count reads the length of a vector whose elements take at least min bytes each. A length that
// cannot be true is an error.
func (d *Decoder) Count(min int) int { return d.r.count(min) }

// Since returns a view of the bytes from a position up to what has been read.
func (d *Decoder) Since(pos int) []byte { return d.r.b[pos:d.r.pos] }

// Pos is how many bytes have been read.
func (d *Decoder) Pos() int { return d.r.pos }

// Offset is where in the file the next byte is.
func (d *Decoder) Offset() int { return d.r.offset() }

// Done tells whether everything has been read, or there was a problem.
func (d *Decoder) Done() bool { return d.r.done() }

// Err is the first problem.
func (d *Decoder) Err() error { return d.r.err }

// Next reads one instruction and tells whether that went well.
func (d *Decoder) Next(in *Instruction) bool {
	d.r.next(in)
	return d.r.err == nil
}

// next reads one instruction.
func (r *reader) next(in *Instruction) {
	in.Begin = r.pos
	in.Op = r.u8()
	switch opcodes[in.Op] {
	case none:
	case index, branch, call:
		in.X = r.u32()
	case twoIndex, indirect:
		in.X, in.Y = r.u32(), r.u32()
	case blockSig:
		in.Typed = false
		if t := r.u8(); (t < 0x40 || t >= 0x80) && r.err == nil { // not the empty type or a value type, which are negative numbers
			r.pos--
			in.X, in.Typed = r.u32(), true
		}
	case branches:
		in.Labels = in.Labels[:0]
		for n := r.count(1); n >= 0 && r.err == nil; n-- {
			in.Labels = append(in.Labels, r.u32())
		}
	default:
		r.immediate(in)
	}
	in.End = r.pos
}

// immediate passes what follows an opcode that does not touch the flow of control.
func (r *reader) immediate(in *Instruction) {
	switch opcodes[in.Op] {
	case none:
	case index:
		in.X = r.u32()
	case types:
		r.bytes(uint32(r.count(1)))
	case oneByte:
		r.u8()
	case leb32:
		r.skipLEB(5)
	case leb64:
		r.skipLEB(10)
	case four:
		r.bytes(4)
	case eight:
		r.bytes(8)
	case bulk:
		r.bulk(in)
	case simd:
		r.simd(in)
	default:
		r.unsupported(in, "instruction %#x", in.Op)
	}
}

func (r *reader) unsupported(in *Instruction, format string, code any) {
	if r.err == nil {
		r.fail(ErrUnsupported, format+" at offset %d", code, r.base+in.Begin)
	}
}

// bulk passes the 0xfc family: saturating conversions, bulk memory and tables.
func (r *reader) bulk(in *Instruction) {
	in.Sub = r.u32()
	switch in.Sub {
	case 0, 1, 2, 3, 4, 5, 6, 7: // trunc_sat
	case 8: // memory.init
		in.X = r.u32()
		r.u8()
	case 9, 13, 15, 16, 17: // data.drop, elem.drop, table.grow, table.size, table.fill
		in.X = r.u32()
	case 10: // memory.copy
		r.bytes(2)
	case 11: // memory.fill
		r.u8()
	case 12, 14: // table.init, table.copy
		in.X, in.Y = r.u32(), r.u32()
	default:
		r.unsupported(in, "instruction 0xfc %d", in.Sub)
	}
}

// simd passes the 0xfd family.
func (r *reader) simd(in *Instruction) {
	in.Sub = r.u32()
	switch op := in.Sub; {
	case op <= 11, op == 92, op == 93: // loads and stores
		r.u32()
		r.u32()
	case op == 12, op == 13: // v128.const, i8x16.shuffle
		r.bytes(16)
	case op >= 21 && op <= 34: // lanes
		r.u8()
	case op >= 84 && op <= 91: // loads and stores of a lane
		r.u32()
		r.u32()
		r.u8()
	case op > 255:
		r.unsupported(in, "instruction 0xfd %d", op)
	}
}

// s32 reads a signed LEB128 number of at most 32 bits.
func (r *reader) s32() int32 {
	start, x := r.offset(), int64(0)
	for shift := 0; shift < 35; shift += 7 {
		c := r.u8()
		x |= int64(c&0x7f) << shift
		if c&0x80 == 0 {
			x = x << (57 - shift) >> (57 - shift)
			if x != int64(int32(x)) {
				break
			}
			return int32(x)
		}
	}
	r.fail(ErrMalformed, "%s holds a number over 32 bits at offset %d", r.what, start)
	return 0
}
