package wasmbin

import "fmt"

// Checked is a module in canonical encoding: Check has written it from the decoded form, section by section and
// instruction by instruction, with each number in its shortest encoding. So this package and the compiler cannot
// interpret any part of it differently.
type Checked struct {
	*Binary
	limits Limits
	leaf   []int32
	// Beside is the maximum host memory of an instance beside its linear memory, for its tables, element segments and
	// globals, in bytes.
	Beside uint64
}

// Wasm returns the module's binary, which must not be modified.
func (c *Checked) Wasm() []byte { return c.wasm }

// Again checks a module that was made of this one, under the same limits.
func (c *Checked) Again(wasm []byte) (*Checked, error) {
	b, err := Read(wasm)
	if err != nil {
		return nil, err
	}
	return Check(b, c.limits)
}

// Leaf returns the number of instructions outside of loops in a defined function, if it makes no calls and has at most
// 32,768 instructions. i is the index among the defined functions.
func (c *Checked) Leaf(i int) (instructions int64, ok bool) {
	n := c.leaf[i]
	return int64(n), n >= 0
}

// maxLeaf is the largest number of instructions of a leaf function.
const maxLeaf = 1 << 15

// section appends a section, unless it is an empty vector.
func (c *checker) section(id byte, content []byte) {
	if len(content) > 0 && content[0] != 0 {
		c.out = AppendSection(c.out, id, content)
	}
}

// write writes the module. Sections that Read has skipped are decoded here. The code comes first, since a table that
// it grows gets a maximum.
func (c *checker) write() {
	code := c.read(SectionCode, c.code)
	if len(c.leaf) != c.b.Funcs {
		c.note(fmt.Errorf("%w: %d functions are declared but %d have code", ErrMalformed, c.b.Funcs, len(c.leaf)))
	}
	c.boundTables()
	c.out = append(make([]byte, 0, c.b.Size()+64), header...)
	c.section(SectionType, appendTypes(c.b.types))
	c.section(SectionImport, appendImports(c.b.Imports))
	c.section(SectionFunction, appendFunctions(c.b.funcs[c.b.imported:]))
	c.section(SectionTable, c.appendTables())
	c.section(SectionMemory, appendMemory(c.b.Memory))
	c.section(SectionTag, appendTags(c.b.tags))
	c.section(SectionGlobal, c.read(SectionGlobal, c.globals))
	c.crowd()
	c.section(SectionExport, appendExports(c.b.Exports))
	if c.b.Start {
		c.out = AppendSection(c.out, SectionStart, appendU32(nil, c.b.start))
	}
	c.section(SectionElement, c.read(SectionElement, c.elements))
	if n := c.b.dataCount; n >= 0 {
		c.out = AppendSection(c.out, SectionDataCount, appendU32(nil, uint32(n)))
	}
	c.section(SectionCode, code)
	c.section(SectionData, c.read(SectionData, c.data))
	if n := c.b.dataCount; n >= 0 && n != int64(c.segments) {
		c.note(fmt.Errorf("%w: %d data segments are announced but there are %d", ErrMalformed, n, c.segments))
	}
}

// read returns the result of f for the content of a section.
func (c *checker) read(id byte, f func(r *reader, out []byte) []byte) (content []byte) {
	for i := range c.b.sections {
		if s := &c.b.sections[i]; s.id == id && c.err == nil {
			r := c.b.reader(s)
			content = f(r, make([]byte, 0, s.end-s.body))
			if r.err == nil && r.rest() > 0 {
				r.fail(ErrMalformed, "%s has %d bytes too many at offset %d", r.what, r.rest(), r.offset())
			}
			c.note(r.err)
		}
	}
	return content
}

func appendTypes(types []funcType) []byte {
	out := appendU32(nil, uint32(len(types)))
	for _, t := range types {
		out = AppendBytes(AppendBytes(append(out, 0x60), t.params), t.results)
	}
	return out
}

func appendImports(imports []Import) []byte {
	out := appendU32(nil, uint32(len(imports)))
	for _, i := range imports {
		out = append(AppendName(AppendName(out, i.Module), i.Name), byte(i.Kind))
		switch i.Kind {
		case Func:
			out = appendU32(out, i.typ)
		case Table:
			out = i.size.append(append(out, i.Type))
		case Mem:
			out = i.size.append(out)
		case Global:
			out = appendBool(append(out, i.Type), i.Mutable)
		}
	}
	return out
}

// appendFunctions encodes the type of each function defined.
func appendFunctions(types []uint32) []byte {
	out := appendU32(make([]byte, 0, 2*len(types)), uint32(len(types)))
	for _, t := range types {
		out = appendU32(out, t)
	}
	return out
}

func (c *checker) appendTables() []byte {
	first := c.b.tables
	out := appendU32(nil, uint32(len(c.sizes)-first))
	for i, size := range c.sizes[first:] {
		out = size.append(append(out, c.b.tableTypes[first+i]))
	}
	return out
}

func appendMemory(m *Range) []byte {
	if m == nil {
		return nil
	}
	return m.append([]byte{1})
}

func appendTags(types []uint32) []byte {
	out := appendU32(nil, uint32(len(types)))
	for _, t := range types {
		out = appendU32(append(out, 0), t)
	}
	return out
}

func appendExports(exports []Export) []byte {
	out := appendU32(nil, uint32(len(exports)))
	for _, e := range exports {
		out = appendU32(append(AppendName(out, e.Name), byte(e.Kind)), e.Index)
	}
	return out
}

func (r Range) append(out []byte) []byte {
	if r.Max != Unbounded {
		return appendU32(appendU32(append(out, 1), r.Min), r.Max)
	}
	return appendU32(append(out, 0), r.Min)
}
