package wasmbin

import "encoding/binary"

// Append appends the instruction in canonical encoding, with each number in its shortest form.
func (in *Instruction) Append(out []byte) []byte {
	switch opcodes[in.Op] {
	case none:
		return append(out, in.Op)
	case index:
		return appendU32(append(out, in.Op), in.X)
	case twoIndex, access:
		return appendU32(appendU32(append(out, in.Op), in.X), in.Y)
	case blockSig:
		return in.appendBlockType(append(out, in.Op))
	case branches:
		out = appendU32(append(out, in.Op), uint32(len(in.Labels)-1))
		for _, l := range in.Labels {
			out = appendU32(out, l)
		}
		return out
	case types:
		return append(out, in.Op, 1, in.Type)
	case refType:
		return append(out, in.Op, in.Type)
	case oneByte:
		return append(out, in.Op, 0)
	}
	return in.appendConstantOrWide(out)
}

func (in *Instruction) appendConstantOrWide(out []byte) []byte {
	switch opcodes[in.Op] {
	case leb32, leb64:
		return AppendS64(append(out, in.Op), in.N)
	case four:
		return binary.LittleEndian.AppendUint32(append(out, in.Op), uint32(in.N))
	case eight:
		return binary.LittleEndian.AppendUint64(append(out, in.Op), uint64(in.N))
	case bulk:
		return in.appendBulk(appendU32(append(out, in.Op), in.Sub))
	case tryBlock:
		return in.appendTry(append(out, in.Op))
	case simd:
		return in.appendSIMD(appendU32(append(out, in.Op), in.Sub))
	}
	return append(out, 0) // unreachable, since other opcodes are rejected
}

func (in *Instruction) appendBlockType(out []byte) []byte {
	if in.Typed {
		return AppendS64(out, int64(in.X))
	}
	return append(out, in.Type)
}

func (in *Instruction) appendTry(out []byte) []byte {
	out = appendU32(in.appendBlockType(out), uint32(len(in.Catches)))
	for _, c := range in.Catches {
		if out = append(out, c.Kind); c.Tagged() {
			out = appendU32(out, c.Tag)
		}
		out = appendU32(out, c.Label)
	}
	return out
}

func (in *Instruction) appendBulk(out []byte) []byte {
	switch in.Sub {
	case 8: // memory.init
		return append(appendU32(out, in.X), 0)
	case 9, 13, 15, 16, 17: // data.drop, elem.drop, table.grow, table.size, table.fill
		return appendU32(out, in.X)
	case 10: // memory.copy
		return append(out, 0, 0)
	case 11: // memory.fill
		return append(out, 0)
	case 12, 14: // table.init, table.copy
		return appendU32(appendU32(out, in.X), in.Y)
	}
	return out
}

func (in *Instruction) appendSIMD(out []byte) []byte {
	switch op := in.Sub; {
	case op <= 11, op == 92, op == 93: // loads and stores
		return appendU32(appendU32(out, in.X), in.Y)
	case op == 12, op == 13: // v128.const, i8x16.shuffle
		return append(out, in.Wide[:]...)
	case op >= 21 && op <= 34: // lanes
		return append(out, in.Lane)
	case op >= 84 && op <= 91: // loads and stores of a lane
		return append(appendU32(appendU32(out, in.X), in.Y), in.Lane)
	}
	return out
}

// appendU32 appends an unsigned LEB128 number.
func appendU32(out []byte, n uint32) []byte {
	if n < 0x80 { // the most common case
		return append(out, byte(n))
	}
	return binary.AppendUvarint(out, uint64(n))
}

// AppendS64 appends a signed LEB128 number.
func AppendS64(out []byte, n int64) []byte {
	for {
		c := byte(n & 0x7f)
		n >>= 7
		if (n == 0 && c&0x40 == 0) || (n == -1 && c&0x40 != 0) {
			return append(out, c)
		}
		out = append(out, c|0x80)
	}
}

// AppendBytes appends a byte vector: its length and the bytes.
func AppendBytes(out, p []byte) []byte {
	return append(appendU32(out, uint32(len(p))), p...)
}

// AppendName appends a string.
func AppendName(out []byte, s string) []byte {
	return append(appendU32(out, uint32(len(s))), s...)
}

// AppendSection appends a section.
func AppendSection(out []byte, id byte, content []byte) []byte {
	return AppendBytes(append(out, id), content)
}

func appendBool(out []byte, b bool) []byte {
	if b {
		return append(out, 1)
	}
	return append(out, 0)
}
