package wasmbin

import (
	"fmt"
	"slices"
)

// Check rejects a module that exceeds a static limit or uses an unsupported feature, and returns it in canonical
// encoding. It decodes the module once. The error names the excess, its place, and the limit.
func Check(b *Binary, l Limits) (*Checked, error) {
	c := &checker{b: b, l: l.withDefaults(), grown: make(map[uint32]bool)}
	c.shape()
	if c.err == nil {
		c.write()
	}
	c.names()
	if c.err != nil {
		return nil, c.err
	}
	anew, err := Read(c.out)
	if err != nil {
		return nil, err
	}
	anew.unwinds = anew.unwinds || c.unwinds
	return &Checked{anew, l, c.leaf, c.beside()}, nil
}

// Outline checks the limits that Check applies to everything but the code and the names, in a fraction of its time: it
// counts the data segments, of which a Go program has tens of thousands, without reading them. It returns the host
// memory of an instance beside its linear memory, as Checked.Beside, if the code grows no table.
func Outline(b *Binary, l Limits) (beside uint64, err error) {
	c := &checker{b: b, l: l.withDefaults()}
	c.shape()
	c.boundTables()
	c.read(SectionGlobal, c.globals)
	c.read(SectionElement, c.elements)
	c.countData()
	return c.beside(), c.err
}

// countData checks the number of data segments.
func (c *checker) countData() {
	for i := range c.b.sections {
		if s := &c.b.sections[i]; s.id == SectionData {
			r := c.b.reader(s)
			c.dataSegments(r)
			c.note(r.err)
		}
	}
}

// checker is the state of checking one module. err is the first error.
type checker struct {
	b     *Binary
	l     Limits
	err   error
	grown map[uint32]bool // tables that the code grows
	sizes []Range         // of the tables in the output
	in    Instruction
	work  int     // compile cost of the functions so far
	leaf  []int32 // of Checked

	segments int    // number of data segments
	vars     int    // globals, including imported ones
	vectors  int    // of them mutable v128 globals
	entries  int    // of element segments
	unwinds  bool   // of Binary.Unwinds
	out      []byte // the canonical module
}

// The host memory of an instance beside its linear memory, in bytes: the engine and the image each keep copies of a
// reference. Measured over instances of modules with nothing else.
const (
	entryBytes     = 8   // of a table
	referenceBytes = 56  // of an element segment
	globalBytes    = 144 // of a global
)

// beside returns the maximum host memory of one instance beside its linear memory, in bytes.
func (c *checker) beside() uint64 {
	all := uint64(c.entries)*referenceBytes + uint64(c.vars)*globalBytes
	for i, t := range c.sizes {
		n := t.Min
		if c.grown[uint32(i)] {
			n = t.Max
		}
		all += uint64(n) * entryBytes
	}
	return all
}

// crowd adds the compiler's cost of each type, global and export for each function. A mutable v128 global adds two
// functions, which read and write it.
func (c *checker) crowd() {
	c.work += ((len(c.b.types)+c.vars)*3/2 + len(c.b.Exports)/5) * (c.b.Funcs + 2*c.vectors)
	c.overInt("the work to compile its functions with its types, globals and exports", c.work, c.workLimit())
}

// over records an error if n exceeds a limit.
func (c *checker) over(what string, n, max uint64) {
	if n > max && c.err == nil {
		c.err = fmt.Errorf("%w: %s is %d, at most %d is allowed", ErrLimit, what, n, max)
	}
}

func (c *checker) overInt(what string, n, max int) { c.over(what, uint64(n), uint64(max)) }

// shape checks the limits on data already parsed by Read.
func (c *checker) shape() {
	c.overInt("the file's size in bytes", c.b.Size(), c.l.Size)
	c.overInt("the number of types", len(c.b.types), c.l.Types)
	c.overInt("the number of functions", c.b.Funcs, c.l.Funcs)
	c.overInt("the number of tables", len(c.b.Tables), c.l.Tables)
	for _, i := range c.b.Imports {
		if i.Kind == Global {
			c.vars++
		}
	}
	values := 0
	for i, t := range c.b.types {
		values += len(t.params) + len(t.results)
		if n := max(len(t.params), len(t.results)); n > c.l.Params {
			c.overInt(fmt.Sprintf("the number of parameters or results of type %d", i), n, c.l.Params)
		}
	}
	c.overInt("the number of parameters and results of all types", values, c.l.TypeValues)
	if c.b.Memory != nil {
		c.over("the memory at start in bytes", uint64(c.b.Memory.Min)*PageSize, c.l.Memory)
	}
}

// note records the first error.
func (c *checker) note(err error) {
	if c.err == nil {
		c.err = err
	}
}

func (c *checker) globals(r *reader, out []byte) []byte {
	n := r.count(4)
	c.overInt("the number of globals", n, c.l.Globals)
	c.vars += n
	out = appendU32(out, uint32(n))
	for i := 0; i < n && r.err == nil && c.err == nil; i++ {
		typ, changes := r.valueType(), r.bool()
		c.unwinds = c.unwinds || typ == ExnRef
		if typ == vector && changes {
			c.vectors++
		}
		out = c.constant(r, appendBool(append(out, typ), changes))
	}
	return out
}

// vector is the value type v128.
const vector = 0x7b

// constant reads a constant expression and appends it.
func (c *checker) constant(r *reader, out []byte) []byte {
	if r.constant(&c.in); c.in.Op == 0x23 && r.err == nil && !c.b.constantGlobal(c.in.X) {
		r.fail(ErrMalformed, "a constant is that of global %d, which is not an imported constant, before offset %d", c.in.X, r.offset())
	}
	c.refersTo(&c.in)
	return append(c.in.Append(out), 0x0b)
}

// refersTo notes an instruction with the type of exception references.
func (c *checker) refersTo(in *Instruction) {
	switch in.Op {
	case 0x02, 0x03, 0x04, 0x1c, 0x1f, 0xd0: // blocks, select, ref.null
		c.unwinds = c.unwinds || in.Type == ExnRef
	}
}

// constantGlobal reports whether a global is imported and immutable.
func (b *Binary) constantGlobal(index uint32) bool {
	for _, i := range b.Imports {
		if i.Kind != Global {
			continue
		}
		if index == 0 {
			return !i.Mutable
		}
		index--
	}
	return false
}

// elements copies element segments. Flag bit 0 marks a segment as not active, bit 1 announces a table index or a kind,
// bit 2 marks its entries as expressions.
func (c *checker) elements(r *reader, out []byte) []byte {
	n := r.count(3)
	c.overInt("the number of element segments", n, c.l.Segments)
	out = appendU32(out, uint32(n))
	for i := 0; i < n && r.err == nil && c.err == nil; i++ {
		flags := r.u32()
		if flags > 7 {
			r.fail(ErrMalformed, "element segment %d has flags %#x", i, flags)
		}
		out = appendU32(out, flags)
		if flags&1 == 0 {
			if flags&2 != 0 {
				out = appendU32(out, r.u32())
			}
			out = c.constant(r, out)
		}
		switch {
		case flags&3 == 0: // functions for table 0
		case flags&4 != 0:
			out = append(out, r.refType())
		default:
			r.zero() // functions
			out = append(out, 0)
		}
		count := r.count(1)
		c.entries += count
		c.overInt("the number of entries in element segments", c.entries, c.l.TableEntries)
		out = c.references(r, appendU32(out, uint32(count)), count, flags&4 != 0)
	}
	return out
}

func (c *checker) references(r *reader, out []byte, n int, expressions bool) []byte {
	for i := 0; i < n && r.err == nil && c.err == nil; i++ {
		if expressions {
			out = c.constant(r, out)
		} else {
			out = appendU32(out, r.u32())
		}
	}
	return out
}

// dataSegments reads and checks the number of data segments.
func (c *checker) dataSegments(r *reader) int {
	c.segments = r.count(2)
	c.overInt("the number of data segments", c.segments, c.l.Segments)
	return c.segments
}

func (c *checker) data(r *reader, out []byte) []byte {
	n := c.dataSegments(r)
	out = appendU32(out, uint32(n))
	for i := 0; i < n && r.err == nil && c.err == nil; i++ {
		flags := r.u32()
		switch flags {
		case 0, 1:
		case 2:
			if memory := r.u32(); memory != 0 {
				r.fail(ErrMalformed, "data segment %d is for memory %d", i, memory)
			}
			flags = 0
		default:
			r.fail(ErrMalformed, "data segment %d has flags %#x", i, flags)
		}
		out = appendU32(out, flags)
		if flags == 0 {
			out = c.constant(r, out)
		}
		out = AppendBytes(out, r.bytes(r.u32()))
	}
	return out
}

// boundTables checks the total initial size of the tables, and divides the remaining entries among the tables that the
// code grows: memory limits do not cover tables, and table.grow may fail.
func (c *checker) boundTables() {
	total := uint64(0)
	for _, t := range c.b.Tables {
		total += uint64(t.Min)
	}
	c.over("the number of table entries", total, uint64(c.l.TableEntries))
	if c.sizes = slices.Clone(c.b.Tables); c.err != nil || len(c.grown) == 0 {
		return
	}
	share := uint32((uint64(c.l.TableEntries) - total) / uint64(len(c.grown)))
	for i := range c.grown {
		if uint64(i) < uint64(len(c.sizes)) {
			c.sizes[i].Max = min(c.sizes[i].Max, c.sizes[i].Min+share)
		}
	}
}

// names copies the function names, for stack traces. Only the first name section is used.
func (c *checker) names() {
	data, ok := c.b.CustomSection("name")
	if !ok || c.err != nil {
		return
	}
	r := &reader{b: data, what: "the name section"}
	var all []byte
	total := 0
	for !r.done() && c.err == nil {
		id := r.u8()
		sub := &reader{b: r.bytes(r.u32()), what: "the name section"}
		switch id {
		case 0:
			sub.name()
		case 1:
			var n int
			all, n = c.functionNames(sub)
			total += n
		case 2:
			for n := sub.count(2); n > 0 && sub.err == nil; n-- {
				sub.u32()
				total += 1 + nameMap(sub)
			}
		default:
			sub.pos = len(sub.b)
		}
		if sub.err == nil && sub.rest() > 0 {
			sub.fail(ErrMalformed, "the name section's part %d has %d bytes too many", id, sub.rest())
		}
		c.note(sub.err)
		c.overInt("the number of names", total, c.l.Names)
	}
	if c.note(r.err); len(all) > 0 {
		c.out = AppendSection(c.out, SectionCustom, AppendBytes(append(AppendName(nil, "name"), 1), all))
	}
}

// functionNames reads a map from functions to names, and keeps the first entry of each function that exists.
func (c *checker) functionNames(r *reader) (out []byte, n int) {
	n = r.count(2)
	kept, next := 0, uint32(0)
	for i := 0; i < n && r.err == nil; i++ {
		fn, name := r.u32(), r.name()
		if fn >= next && uint64(fn) < uint64(len(c.b.funcs)) {
			kept, next = kept+1, fn+1
			out = AppendName(appendU32(out, fn), name)
		}
	}
	if kept == 0 {
		return nil, n
	}
	return append(appendU32(nil, uint32(kept)), out...), n
}

func nameMap(r *reader) int {
	n := r.count(2)
	for i := 0; i < n && r.err == nil; i++ {
		r.u32()
		r.name()
	}
	return n
}
