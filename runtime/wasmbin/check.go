package wasmbin

import "fmt"

// Check refuses a module that is over a static limit or uses a feature that this host does not run.
// It walks the module once. The error names what is too large, where, and how much is allowed.
func Check(b *Binary, l Limits) error {
	c := &checker{b: b, l: l.withDefaults(), grown: make(map[uint32]bool)}
	c.shape()
	for i := range b.sections {
		if c.err == nil {
			c.section(&b.sections[i])
		}
	}
	for _, s := range b.Custom {
		if s.Name == "name" {
			c.names(s.Data)
		}
	}
	c.tables()
	return c.err
}

// checker walks one module. The first problem stays in err.
type checker struct {
	b     *Binary
	l     Limits
	err   error
	grown map[uint32]bool // tables that some code grows
	in    Instruction
	work  int // to compile the functions walked so far
}

// over notes that something is over its limit.
func (c *checker) over(what string, n, max uint64) {
	if n > max && c.err == nil {
		c.err = fmt.Errorf("%w: %s is %d, at most %d is allowed", ErrLimit, what, n, max)
	}
}

func (c *checker) overInt(what string, n, max int) { c.over(what, uint64(n), uint64(max)) }

// shape checks what Read knows already.
func (c *checker) shape() {
	c.overInt("the file's size in bytes", c.b.Size(), c.l.Size)
	c.overInt("the number of types", len(c.b.types), c.l.Types)
	c.overInt("the number of functions", c.b.Funcs, c.l.Funcs)
	c.overInt("the number of tables", len(c.b.Tables), c.l.Tables)
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

func (c *checker) section(s *section) {
	r := c.b.reader(s)
	switch s.id {
	case sectionGlobal:
		c.globals(r)
	case sectionElement:
		c.elements(r)
	case sectionCode:
		c.code(r)
	case sectionData:
		c.data(r)
	}
	c.note(r.err)
}

// note keeps the first problem.
func (c *checker) note(err error) {
	if c.err == nil {
		c.err = err
	}
}

func (c *checker) globals(r *reader) {
	n := r.count(4)
	c.overInt("the number of globals", n, c.l.Globals)
	for i := 0; i < n && r.err == nil && c.err == nil; i++ {
		r.valueType()
		r.bool() // mutability
		r.constant(&c.in)
	}
}

// elements counts the entries of element segments. Bit 0 of a segment's flags says that it is not
// active, bit 1 that a table index or a kind follows, bit 2 that its entries are expressions.
func (c *checker) elements(r *reader) {
	n, entries := r.count(3), 0
	c.overInt("the number of element segments", n, c.l.Segments)
	for i := 0; i < n && r.err == nil && c.err == nil; i++ {
		flags := r.u32()
		if flags > 7 {
			r.fail(ErrMalformed, "element segment %d has flags %#x", i, flags)
		}
		if flags&1 == 0 {
			if flags&2 != 0 {
				r.u32()
			}
			r.constant(&c.in)
		}
		switch {
		case flags&3 == 0: // functions for table 0
		case flags&4 != 0:
			r.refType()
		default:
			r.zero() // functions
		}
		entries += c.entries(r, flags&4 != 0)
		c.overInt("the number of entries in element segments", entries, c.l.TableEntries)
	}
}

func (c *checker) entries(r *reader, expressions bool) int {
	n := r.count(1)
	for i := 0; i < n && r.err == nil; i++ {
		if expressions {
			r.constant(&c.in)
		} else {
			r.u32()
		}
	}
	return n
}

func (c *checker) data(r *reader) {
	n := r.count(2)
	c.overInt("the number of data segments", n, c.l.Segments)
	for i := 0; i < n && r.err == nil && c.err == nil; i++ {
		flags := r.u32()
		if flags > 2 {
			r.fail(ErrMalformed, "data segment %d has flags %#x", i, flags)
		}
		if flags == 2 {
			r.zero() // the memory
		}
		if flags != 1 {
			r.constant(&c.in)
		}
		r.bytes(r.u32())
	}
}

// tables checks how large all tables can become together: memory limits do not count them.
func (c *checker) tables() {
	total := uint64(0)
	for i, t := range c.b.Tables {
		if !c.grown[uint32(i)] {
			total += uint64(t.Min)
			continue
		}
		if t.Max == Unbounded {
			c.note(fmt.Errorf("%w: table %d is grown by the code and declares no maximum; declare one of at most %d entries",
				ErrLimit, i, c.l.TableEntries))
		}
		total += uint64(t.Max)
	}
	c.over("the number of table entries", total, uint64(c.l.TableEntries))
}

// names counts the entries of the name section, for which the compiler makes room as claimed.
func (c *checker) names(data []byte) {
	r := &reader{b: data, what: "the name section"}
	total := 0
	for !r.done() && c.err == nil {
		id := r.u8()
		sub := &reader{b: r.bytes(r.u32()), what: "the name section"}
		switch id {
		case 0:
			sub.name()
		case 1:
			total += nameMap(sub)
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
	c.note(r.err)
}

func nameMap(r *reader) int {
	n := r.count(2)
	for i := 0; i < n && r.err == nil; i++ {
		r.u32()
		r.name()
	}
	return n
}
