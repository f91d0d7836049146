package rewrite

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// unreachable is the body of every function of an outline: no locals, and an instruction that is valid for any type.
var unreachable = []byte{3, 0, 0x00, opEnd}

// errOutline means that a module is none that Rewrite returned.
var errOutline = errors.New("the sections of the rewritten module cannot be read")

// outlineSection is the custom section of an outline with the hash of its module, so that modules which differ in their
// code have outlines that differ.
const outlineSection = prefix + "outline"

// Outline returns a rewritten module without its code: each function only traps. An engine that has the machine code
// needs no more of the module, and checks and keeps the rest at a fraction of the cost. Modules that differ have outlines
// that differ.
func Outline(wasm []byte) ([]byte, error) {
	const header = 8
	if len(wasm) < header {
		return nil, errOutline
	}
	out := append(make([]byte, 0, len(wasm)/4), wasm[:header]...)
	for rest := wasm[header:]; len(rest) > 0; {
		id := rest[0]
		size, n := binary.Uvarint(rest[1:])
		if n <= 0 || size > uint64(len(rest)-1-n) {
			return nil, errOutline
		}
		content := rest[1+n:][:size]
		rest = rest[1+n+int(size):]
		if id == wasmbin.SectionCode {
			count, m := binary.Uvarint(content)
			if m <= 0 || count > size {
				return nil, errOutline
			}
			content = binary.AppendUvarint(nil, count)
			for range count {
				content = append(content, unreachable...)
			}
		}
		out = wasmbin.AppendSection(out, id, content)
	}
	sum := sha256.Sum256(wasm)
	return wasmbin.AppendSection(out, wasmbin.SectionCustom, append(wasmbin.AppendName(nil, outlineSection), sum[:]...)), nil
}
