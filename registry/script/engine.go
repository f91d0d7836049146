package script

import (
	"bytes"
	"embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"sync"
)

// engine is QuickJS-ng, built by make script-engine.
//
//go:embed engine/engine.wasm
var engine []byte

//go:embed library/*.js
var libraryFiles embed.FS

const (
	// blobAt and blobMagic are those of engine.c.
	blobAt    = 6 << 20
	blobMagic = 0x314a5053
	// blobEnd is the end of the engine's initial memory, less room for the allocator's last record.
	blobEnd = 12<<20 - 1<<16
	// dataSection is the number of the section of data segments.
	dataSection = 11
)

// library returns the text of the function that prepares the engine for scripts.
var library = sync.OnceValue(func() []byte {
	var b bytes.Buffer
	b.WriteString(`(function (host) {"use strict";` + "\n")
	names, _ := fs.Glob(libraryFiles, "library/*.js") // sorted; the pattern is valid
	for _, name := range names {
		text, _ := libraryFiles.ReadFile(name)
		b.Write(text)
	}
	b.WriteString("})")
	return b.Bytes()
})

// module returns the engine with a data segment of the library, the bundle and its source map.
func (b *bundle) module() ([]byte, error) {
	texts := [][]byte{library(), b.text, b.sourceMap}
	blob := binary.LittleEndian.AppendUint32(nil, blobMagic)
	for _, text := range texts {
		blob = binary.LittleEndian.AppendUint32(blob, uint32(len(text)))
	}
	for _, text := range texts {
		blob = append(append(blob, text...), 0)
	}
	if len(blob) > blobEnd-blobAt {
		return nil, fmt.Errorf("%w: the bundle and its source map have %d bytes, at most %d are allowed", errTooLarge, len(b.text)+len(b.sourceMap), blobEnd-blobAt-len(library()))
	}
	return addSegment(engine, blobAt, blob)
}

// addSegment adds an active data segment to a module that has some.
func addSegment(wasm []byte, at int64, data []byte) ([]byte, error) {
	out := bytes.Clone(wasm[:8])
	for rest := wasm[8:]; len(rest) > 0; {
		size, n := binary.Uvarint(rest[1:])
		if n <= 0 || size > uint64(len(rest)-1-n) {
			return nil, errors.New("the engine is damaged")
		}
		body := rest[1+n : 1+n+int(size)]
		if rest[0] == dataSection {
			body = withSegment(body, at, data)
		}
		out = binary.AppendUvarint(append(out, rest[0]), uint64(len(body)))
		out = append(out, body...)
		rest = rest[1+n+int(size):]
	}
	return out, nil
}

// withSegment returns the content of a data section with one more segment: 0, i32.const at, end, the bytes.
func withSegment(section []byte, at int64, data []byte) []byte {
	count, n := binary.Uvarint(section)
	out := binary.AppendUvarint(nil, count+1)
	out = append(out, section[n:]...)
	out = append(out, 0, 0x41)
	out = appendSigned(out, at)
	out = append(out, 0x0b)
	out = binary.AppendUvarint(out, uint64(len(data)))
	return append(out, data...)
}

// appendSigned appends a number in signed LEB128.
func appendSigned(out []byte, v int64) []byte {
	for {
		b := byte(v & 0x7f)
		if v >>= 7; v == 0 && b&0x40 == 0 || v == -1 && b&0x40 != 0 {
			return append(out, b)
		}
		out = append(out, b|0x80)
	}
}
