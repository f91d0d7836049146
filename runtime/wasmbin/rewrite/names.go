package rewrite

import (
	"encoding/binary"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// writeNames shifts the function indices in the name section, which has only function names.
func (w *rewriter) writeNames(out []byte, s wasmbin.RawSection) []byte {
	d := wasmbin.NewDecoder(s.Data, s.Offset, "the name section")
	content := wasmbin.AppendName(make([]byte, 0, len(s.Data)+len(s.Data)/8), d.Name())
	part := d.U8()
	d.U32() // its length
	n := d.Count(2)
	names := binary.AppendUvarint(make([]byte, 0, cap(content)), uint64(n))
	for ; n > 0 && d.Err() == nil; n-- {
		names = binary.AppendUvarint(names, uint64(w.shift(d.U32())))
		names = wasmbin.AppendName(names, d.Name())
	}
	w.ends(d)
	return wasmbin.AppendSection(out, wasmbin.SectionCustom, wasmbin.AppendBytes(append(content, part), names))
}
