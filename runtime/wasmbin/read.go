package wasmbin

import (
	"bytes"
	"fmt"
)

// The IDs of the sections of the binary format, each named after its content.
const (
	SectionCustom    = 0
	SectionType      = 1
	SectionImport    = 2
	SectionFunction  = 3
	SectionTable     = 4
	SectionMemory    = 5
	SectionGlobal    = 6
	SectionExport    = 7
	SectionStart     = 8
	SectionElement   = 9
	SectionCode      = 10
	SectionData      = 11
	SectionDataCount = 12
	SectionTag       = 13
)

// Read bounds these entries itself, since their Go values are many times larger than their encoding. The largest real
// modules have hundreds.
const (
	maxSections = 10_000
	maxImports  = 10_000
	maxExports  = 100_000
	maxTags     = 1_000
)

const (
	header        = "\x00asm\x01\x00\x00\x00"
	headComponent = "\x00asm\x0d\x00\x01\x00"
	magic         = "\x00asm"
)

// Read parses the head of a module. The result holds views into wasm, which must not change.
func Read(wasm []byte) (*Binary, error) {
	if err := checkHeader(wasm); err != nil {
		return nil, err
	}
	sections, err := split(wasm)
	if err != nil {
		return nil, err
	}
	b := &Binary{wasm: wasm, sections: sections, dataCount: -1}
	for i := range b.sections {
		if err := b.section(&b.sections[i]); err != nil {
			return nil, err
		}
	}
	return b, b.resolveExports()
}

func checkHeader(wasm []byte) error {
	switch {
	case len(wasm) == 0:
		return fmt.Errorf("%w: the file is empty", ErrNotWasm)
	case bytes.HasPrefix(wasm, []byte(header)):
		return nil
	case bytes.HasPrefix(wasm, []byte(headComponent)):
		return ErrComponent
	case len(wasm) < len(header) && bytes.HasPrefix([]byte(header), wasm):
		return fmt.Errorf("%w: the header ends at offset %d", ErrTruncated, len(wasm))
	case bytes.HasPrefix(wasm, []byte(magic)):
		return fmt.Errorf("%w: the version is % x", ErrVersion, wasm[4:min(len(wasm), 8)])
	}
	return fmt.Errorf("%w: starts with % x", ErrNotWasm, wasm[:min(len(wasm), 4)])
}

// split locates the sections.
func split(wasm []byte) (sections []section, err error) {
	r := reader{b: wasm, pos: len(header), what: "the list of sections"}
	for last := 0; !r.done(); {
		s := section{begin: r.pos}
		s.id = r.u8()
		size := r.u32()
		s.body = r.pos
		if r.err == nil && uint64(size) > uint64(r.rest()) {
			r.fail(ErrTruncated, "%s at offset %d says %d bytes but %d are left", sectionName(s.id), s.begin, size, r.rest())
		}
		r.bytes(size)
		s.end = r.pos
		rank := sectionRank(s.id)
		if s.id != SectionCustom && rank <= last {
			r.fail(ErrMalformed, "%s at offset %d is unknown, doubled or out of order", sectionName(s.id), s.begin)
		}
		last = max(last, rank)
		sections = append(sections, s)
		if len(sections) > maxSections {
			r.fail(ErrLimit, "more than %d sections", maxSections)
		}
		if r.err != nil {
			return nil, r.err
		}
	}
	return sections, nil
}

// sectionRank returns the position of a section in the order of the format, or -1 for an unknown ID; custom sections
// are 0.
func sectionRank(id byte) int {
	return bytes.IndexByte([]byte{SectionCustom, SectionType, SectionImport, SectionFunction, SectionTable,
		SectionMemory, SectionTag, SectionGlobal, SectionExport, SectionStart, SectionElement,
		SectionDataCount, SectionCode, SectionData}, id)
}

func sectionName(id byte) string {
	names := [...]string{"custom", "type", "import", "function", "table", "memory", "global", "export",
		"start", "element", "code", "data", "data count", "tag"}
	if int(id) < len(names) {
		return "the " + names[id] + " section"
	}
	return fmt.Sprintf("the section with id %d", id)
}

// reader returns a reader of the section's content.
func (b *Binary) reader(s *section) *reader {
	return &reader{b: b.wasm[s.body:s.end], base: s.body, what: sectionName(s.id)}
}
