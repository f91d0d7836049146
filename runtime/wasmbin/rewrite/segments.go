package rewrite

import (
	"encoding/binary"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// writeElements shifts the function indices of element segments. Flag bit 0 marks a segment as not active, bit 1
// announces a table index or a kind, bit 2 marks its entries as expressions.
func (w *rewriter) writeElements(d *wasmbin.Decoder) []byte {
	n := d.Count(3)
	all := n
	if w.hasReferences() {
		all++
	}
	out := binary.AppendUvarint(nil, uint64(all))
	for ; n > 0 && d.Err() == nil && w.err == nil; n-- {
		flags := d.U32()
		if flags > 7 {
			w.malformed("an element segment has flags %#x", flags)
		}
		out = binary.AppendUvarint(out, uint64(flags))
		if flags&1 == 0 {
			if flags&2 != 0 {
				out = binary.AppendUvarint(out, uint64(d.U32()))
			}
			out = w.constant(d, out)
		}
		if flags&3 != 0 { // a kind or a type
			out = append(out, d.U8())
		}
		out = w.writeEntries(d, out, flags&4 != 0)
	}
	w.ends(d)
	if w.hasReferences() {
		out = w.fillReferences(out)
	}
	return out
}

// fillReferences appends the segment of the table of references: active, with a table index, of functions.
func (w *rewriter) fillReferences(out []byte) []byte {
	out = binary.AppendUvarint(append(out, 2), uint64(w.refTable()))
	out = binary.AppendUvarint(append(out, opI32Const, 0, opEnd, 0), uint64(len(w.refs.order)))
	for _, fn := range w.refs.order {
		out = binary.AppendUvarint(out, uint64(w.shift(fn)))
	}
	return out
}

func (w *rewriter) writeEntries(d *wasmbin.Decoder, out []byte, expressions bool) []byte {
	n := d.Count(1)
	out = binary.AppendUvarint(out, uint64(n))
	for ; n > 0 && d.Err() == nil && w.err == nil; n-- {
		if expressions {
			out = w.constant(d, out)
		} else if fn := d.U32(); d.Err() == nil {
			out = binary.AppendUvarint(out, uint64(w.declare(fn)))
		}
	}
	return out
}

// dropsData reports whether the data section is removed, since no instruction names its segments.
func (w *rewriter) dropsData() bool {
	return w.o.Snapshot && !w.info.Uses.MemoryInit && !w.info.Uses.DataDrop
}

// writeData removes the active segments. An empty passive segment replaces each one, which is equivalent, since an
// active segment is dropped once it has been copied.
func (w *rewriter) writeData(d *wasmbin.Decoder) []byte {
	n := d.Count(2)
	out := binary.AppendUvarint(nil, uint64(n))
	for ; n > 0 && d.Err() == nil && w.err == nil; n-- {
		flags := d.U32()
		if flags > 2 || flags == 2 && d.U32() != 0 {
			w.malformed("a data segment has flags %#x or names another memory than 0", flags)
		}
		if flags != 1 {
			w.activeData(d)
			out = append(out, 1, 0)
			continue
		}
		out = wasmbin.AppendBytes(append(out, 1), d.Bytes(d.U32()))
	}
	w.ends(d)
	if w.dropsData() {
		return []byte{0}
	}
	return out
}

// activeData reads the offset and the bytes of an active segment. The offset is a constant or an imported global.
func (w *rewriter) activeData(d *wasmbin.Decoder) {
	if !w.hasMem {
		w.malformed("a data segment is for a memory but there is none")
	}
	var s Data
	switch op := d.U8(); op {
	case opI32Const:
		s.Offset = uint32(d.S32())
	case opGlobalGet:
		s.From = w.offsetGlobal(d.U32())
	default:
		w.unsupported("the offset of a data segment begins with instruction %#x", op)
	}
	if end := d.U8(); d.Err() == nil && end != opEnd {
		w.unsupported("the offset of a data segment goes on with instruction %#x", end)
	}
	s.Bytes = d.Bytes(d.U32())
	w.info.Data = append(w.info.Data, s)
}
