package wasmbin

import "cmp"

// Limits are the static bounds of Check, one for each count with a cost of its own. Zero means the default, which real
// plugins stay far below; each bound prevents modules whose compilation or instantiation costs minutes or gigabytes.
type Limits struct {
	Size         int    // bytes of the file; 128 MiB
	Memory       uint64 // initial memory in bytes; 4 GiB
	Types        int    // function types; 10,000
	Params       int    // parameters, and results, of one type; 1,000
	TypeValues   int    // parameters and results of all types; 100,000
	Funcs        int    // functions defined; 100,000
	Globals      int    // globals defined; 100,000
	Segments     int    // element segments, and data segments; 100,000
	Names        int    // entries of the name section; 1,000,000
	Tables       int    // 16
	TableEntries int    // entries of all tables at their largest, and of all element segments; 1,000,000

	// Work bounds the estimated compile cost beyond the size of the code, in units of about ten nanoseconds;
	// 500,000,000, plus 100 for each byte of the file. Real plugins stay below a tenth of it.
	Work int

	// The limits of one function:

	Body     int // bytes of code; 1 MB
	Locals   int // 10,000
	Nesting  int // depth of blocks; 50,000, of which Work allows a quarter or so in a small file
	BrTable  int // targets of one br_table; 16,384
	Branches int // branch instructions; 16,384
}

func (l Limits) withDefaults() Limits {
	l.Size = cmp.Or(l.Size, 128<<20)
	l.Memory = cmp.Or(l.Memory, maxPages*PageSize)
	l.Types = cmp.Or(l.Types, 10_000)
	l.Params = cmp.Or(l.Params, 1_000)
	l.TypeValues = cmp.Or(l.TypeValues, 100_000)
	l.Funcs = cmp.Or(l.Funcs, 100_000)
	l.Globals = cmp.Or(l.Globals, 100_000)
	l.Segments = cmp.Or(l.Segments, 100_000)
	l.Names = cmp.Or(l.Names, 1_000_000)
	l.Tables = cmp.Or(l.Tables, 16)
	l.TableEntries = cmp.Or(l.TableEntries, 1_000_000)
	l.Body = cmp.Or(l.Body, 1_000_000)
	l.Locals = cmp.Or(l.Locals, 10_000)
	l.Nesting = cmp.Or(l.Nesting, 50_000)
	l.BrTable = cmp.Or(l.BrTable, 16_384)
	l.Branches = cmp.Or(l.Branches, 16_384)
	l.Work = cmp.Or(l.Work, 500_000_000)
	return l
}
