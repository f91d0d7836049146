package rewrite

import (
	"encoding/binary"
	"strings"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// writeCustom copies a custom section. The names are shifted. What refers to offsets in the code, such as DWARF, is
// left out: it would be wrong.
func (w *rewriter) writeCustom(out []byte, s wasmbin.RawSection) []byte {
	d := wasmbin.NewDecoder(s.Data, s.Offset, "a custom section")
	name := d.Name()
	switch {
	case w.o.Meter && name == "name":
		return appendSection(out, sectionCustom, append(appendName(nil, name), w.writeNames(d, s.Data)...))
	case w.o.Meter && (strings.HasPrefix(name, ".debug_") || strings.HasPrefix(name, "reloc.") ||
		name == "sourceMappingURL" || name == "external_debug_info" || name == "linking"):
		return out
	}
	return appendSection(out, sectionCustom, s.Data)
}

// The parts of the name section that number functions.
const (
	namesOfFunctions = 1
	namesOfLocals    = 2
	namesOfLabels    = 3
)

// writeNames shifts the functions in the name section. The names of what is inside functions are left out: they
// would have to be shifted too, and no trace of a trap shows them.
func (w *rewriter) writeNames(d *wasmbin.Decoder, data []byte) []byte {
	out := make([]byte, 0, len(data)+len(data)/8)
	for !d.Done() {
		id := d.U8()
		content := d.Bytes(d.U32())
		switch {
		case d.Err() != nil, id == namesOfLocals, id == namesOfLabels:
			continue
		case id == namesOfFunctions:
			content = w.shiftNames(content, d.Offset()-len(content))
		}
		out = appendBytes(append(out, id), content)
	}
	w.note(d.Err())
	return out
}

// shiftNames shifts a map from functions to names. Names of functions that do not exist go.
func (w *rewriter) shiftNames(content []byte, base int) []byte {
	d := wasmbin.NewDecoder(content, base, "the name section")
	n := d.Count(2)
	kept, out := 0, make([]byte, 0, len(content)+n)
	for ; n > 0 && d.Err() == nil; n-- {
		fn, from := d.U32(), d.Pos()
		d.Bytes(d.U32())
		if _, ok := w.b.FuncType(fn); ok && d.Err() == nil {
			kept++
			out = binary.AppendUvarint(out, uint64(w.shift(fn)))
			out = append(out, d.Since(from)...)
		}
	}
	w.ends(d)
	return append(binary.AppendUvarint(nil, uint64(kept)), out...)
}
