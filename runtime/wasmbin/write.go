package wasmbin

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"
)

// SetCustomSection returns a copy of a module whose custom section of this name holds data. The section replaces the
// first one of the name and the others are removed, or it is appended at the end. Every other section is copied
// unchanged. Read accepts the result.
func SetCustomSection(wasm []byte, name string, data []byte) ([]byte, error) {
	b, err := Read(wasm)
	if err != nil {
		return nil, err
	}
	if !utf8.ValidString(name) {
		return nil, fmt.Errorf("%w: the section name %q is not UTF-8", ErrMalformed, name)
	}
	if _, there := b.CustomSection(name); !there && len(b.sections) == maxSections {
		return nil, fmt.Errorf("%w: the module has %d sections already", ErrLimit, maxSections)
	}
	out := make([]byte, 0, len(wasm)+len(name)+len(data)+16)
	out = append(out, wasm[:len(header)]...)
	written, custom := false, 0
	for _, s := range b.sections {
		if s.id == SectionCustom {
			custom++
			if b.Custom[custom-1].Name == name {
				out = appendOnce(out, &written, name, data)
				continue
			}
		}
		out = append(out, wasm[s.begin:s.end]...)
	}
	return appendOnce(out, &written, name, data), nil
}

func appendOnce(out []byte, written *bool, name string, data []byte) []byte {
	if *written {
		return out
	}
	*written = true
	head := binary.AppendUvarint(nil, uint64(len(name)))
	out = append(out, SectionCustom)
	out = binary.AppendUvarint(out, uint64(len(head)+len(name)+len(data)))
	out = append(out, head...)
	out = append(out, name...)
	return append(out, data...)
}
