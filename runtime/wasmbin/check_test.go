package wasmbin_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

func check(t *testing.T, wasm []byte, l wasmbin.Limits) error {
	t.Helper()
	b, err := wasmbin.Read(wasm)
	if err != nil {
		t.Fatal(err)
	}
	_, err = wasmbin.Check(b, l)
	return err
}

// code returns a module of one function () -> () with these locals and code, without the final end.
func code(locals []byte, parts ...[]byte) []byte {
	var m w.Module
	m.FuncRaw(m.Type(nil, nil), locals, append(parts, w.End)...)
	return m.Bytes()
}

func locals(n uint32) []byte { return append(append([]byte{1}, w.U32(n)...), w.I32) }

func many(n int, m func(m *w.Module)) []byte {
	var module w.Module
	for range n {
		m(&module)
	}
	return module.Bytes()
}

func i32s(n int) []byte { return bytes.Repeat([]byte{w.I32}, n) }

func brTable(n int) []byte {
	return w.Code([]byte{0x0e}, w.U32(uint32(n)), make([]byte, n+1))
}

// TestOutline_agreesWithCheck tests that Outline finds the same excess and the same memory as Check, without the code.
func TestOutline_agreesWithCheck(t *testing.T) {
	for name, test := range map[string]struct {
		build func(m *w.Module)
		want  string
	}{
		"nothing":        {func(*w.Module) {}, ""},
		"table":          {func(m *w.Module) { m.Table(10, 20); m.Elements(0, 0) }, ""},
		"tables":         {func(m *w.Module) { m.Table(1, 1); m.Table(1, 1); m.Table(1, 1) }, "the number of tables is 3"},
		"table entries":  {func(m *w.Module) { m.Table(51, 60) }, "the number of table entries is 51"},
		"elements":       {func(m *w.Module) { m.Table(0, 0); m.ElementsRaw(append([]byte{1, 0, 51}, make([]byte, 51)...)...) }, "the number of entries in element segments is 51"},
		"segments":       {func(m *w.Module) { m.Table(9, 9); m.Elements(0, 0); m.Elements(1, 0); m.Elements(2, 0) }, "the number of element segments is 3"},
		"data segments":  {func(m *w.Module) { m.Memory(1, 1); m.Data(0, nil); m.Data(1, nil); m.Data(2, nil) }, "the number of data segments is 3"},
		"initial memory": {func(m *w.Module) { m.Memory(3, 3) }, "the memory at start in bytes is 196608"},
	} {
		var m w.Module
		m.Func(nil, nil, nil, w.I32Const(1), w.Drop)
		test.build(&m)
		b, err := wasmbin.Read(m.Bytes())
		if err != nil {
			t.Fatal(name, err)
		}
		l := wasmbin.Limits{Tables: 2, TableEntries: 50, Segments: 2, Memory: 2 << 16}
		checked, refused := wasmbin.Check(b, l)
		beside, err := wasmbin.Outline(b, l)
		if fmt.Sprint(err) != fmt.Sprint(refused) || (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %v with %q", name, err, refused, test.want)
		}
		if err == nil && beside != checked.Beside {
			t.Errorf("%s: got %d bytes, want %d", name, beside, checked.Beside)
		}
	}
}

// TestCheck_enforcesEachLimitExactly tests each limit, and one over it.
func TestCheck_enforcesEachLimitExactly(t *testing.T) {
	none := []byte{0}
	voids := func(n int) []byte {
		return code(none, w.Repeat(n, w.BlockVoid), w.Repeat(n, w.End))
	}
	for name, c := range map[string]struct {
		limits wasmbin.Limits
		build  func(n int) []byte
		max    int
		want   string
	}{
		"nesting":   {limits: wasmbin.Limits{Nesting: 4096}, build: voids, max: 4096, want: "the nesting of function 0 (at offset 24) is 4097, at most 4096 is allowed"},
		"locals":    {build: func(n int) []byte { return code(locals(uint32(n))) }, max: 10_000, want: "the number of locals of function 0 (at offset 22) is 10001, at most 10000 is allowed"},
		"br_table":  {build: func(n int) []byte { return code(none, w.I32Const(0), brTable(n)) }, max: 16_384, want: "the number of targets of a br_table"},
		"branches":  {build: func(n int) []byte { return code(none, w.Repeat(n, w.I32Const(0), w.BrIf(0))) }, max: 16_384, want: "the number of branches"},
		"params":    {build: func(n int) []byte { return many(1, func(m *w.Module) { m.Type(i32s(n), nil) }) }, max: 1000, want: "the number of parameters or results of type 0 is 1001, at most 1000 is allowed"},
		"results":   {build: func(n int) []byte { return many(1, func(m *w.Module) { m.Type(nil, i32s(n)) }) }, max: 1000, want: "the number of parameters or results of type 0"},
		"types":     {build: func(n int) []byte { return many(n, func(m *w.Module) { m.Type(nil, nil) }) }, max: 10_000, want: "the number of types is 10001"},
		"values":    {build: func(n int) []byte { return many(n/100, func(m *w.Module) { m.Type(i32s(100), nil) }) }, max: 100_000, want: ""},
		"functions": {build: func(n int) []byte { return many(n, func(m *w.Module) { m.FuncRaw(0, none, w.End) }) }, limits: wasmbin.Limits{Funcs: 50}, max: 50, want: ""},
		"body":      {build: func(n int) []byte { return code(none, w.Repeat(n-2, []byte{1})) }, max: 1_000_000, want: "the number of code bytes of function 0"},
		"tables":    {build: func(n int) []byte { return many(n, func(m *w.Module) { m.Table(0, 0) }) }, max: 16, want: "the number of tables is 17"},
		"entries":   {build: func(n int) []byte { return many(1, func(m *w.Module) { m.Table(n, w.None) }) }, max: 1_000_000, want: "the number of table entries is 1000001, at most 1000000 is allowed"},
		"globals":   {build: func(n int) []byte { return many(n, func(m *w.Module) { m.Global(w.I32, 1) }) }, max: 100_000, want: "the number of globals"},
		"data":      {build: func(n int) []byte { return many(n, func(m *w.Module) { m.Data(0, nil) }) }, max: 100_000, want: "the number of data segments"},
		"elements":  {build: func(n int) []byte { return many(n, func(m *w.Module) { m.Elements(0) }) }, max: 100_000, want: "the number of element segments"},
		"memory":    {limits: wasmbin.Limits{Memory: 3 << 16}, build: func(n int) []byte { return many(1, func(m *w.Module) { m.Memory(n, w.None) }) }, max: 3, want: "the memory at start in bytes is 262144, at most 196608 is allowed"},
		"size":      {limits: wasmbin.Limits{Size: 100}, build: func(n int) []byte { return many(1, func(m *w.Module) { m.Custom("", make([]byte, n-11)) }) }, max: 100, want: "the file's size in bytes is 101"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "functions" {
				c.build = func(n int) []byte {
					return many(1, func(m *w.Module) {
						m.Type(nil, nil)
						for range n {
							m.FuncRaw(0, none, w.End)
						}
					})
				}
			}
			step := 1
			if name == "values" {
				step = 100
			}
			if err := check(t, c.build(c.max), c.limits); err != nil {
				t.Errorf("at the limit: got %v, want no error", err)
			}
			err := check(t, c.build(c.max+step), c.limits)
			if !errors.Is(err, wasmbin.ErrLimit) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("over the limit: %v\nwant %s", err, c.want)
			}
		})
	}
}

// TestCheck_refusesCompilationBombs uses small modules on which the compiler would spend seconds to hours, or
// gigabytes.
func TestCheck_refusesCompilationBombs(t *testing.T) {
	use := func(n int) []byte {
		var c []byte
		for i := range n {
			c = append(c, w.Code(w.LocalGet(uint32(i)), w.Drop)...)
		}
		return c
	}
	loops := func(n int) []byte { return w.Repeat(n, w.LoopVoid) }
	ends := func(n int) []byte { return w.Repeat(n, w.I32Const(0), w.BrIf(0), w.End) }
	ifs := func(n int) []byte { return w.Repeat(n, w.I32Const(0), w.IfVoid, w.End) }
	wide := func(m *w.Module) []byte {
		m.FuncRaw(m.Type(nil, i32s(1000)), []byte{0}, w.End)
		m.FuncRaw(m.Type(nil, nil), []byte{0}, w.Repeat(9000, w.Call(0)), w.End)
		return m.Bytes()
	}
	fills := func(n int) []byte {
		return code([]byte{0}, w.Repeat(n, w.I32Const(0), w.I32Const(0), w.I32Const(0), []byte{0xfc, 11, 0}))
	}
	// The compiler processes each type, global and export for each function, and a mutable v128 global adds two
	// functions.
	crowd := func(types, globals, vectors, funcs int) []byte {
		var m w.Module
		for n := range types { // distinct types, by the digits of the number
			var params []byte
			for ; n > 0; n /= 4 {
				params = append(params, byte(w.I32-n%4))
			}
			m.Type(params, nil)
		}
		for range globals {
			m.Global(w.I32, 0)
		}
		for range vectors {
			m.GlobalRaw(0x7b, 1, []byte{0xfd, 12}, make([]byte, 16))
		}
		for range funcs {
			m.FuncRaw(0, []byte{0}, w.End)
		}
		return m.Bytes()
	}
	exports := func(n, funcs int) []byte {
		var m w.Module
		m.Type(nil, nil)
		for range funcs {
			m.FuncRaw(0, []byte{0}, w.End)
		}
		for i := range n {
			m.Export(fmt.Sprintf("%x", i), 0)
		}
		return m.Bytes()
	}
	if err := errors.Join(check(t, crowd(1000, 1000, 100, 30_000), wasmbin.Limits{}), check(t, crowd(1, 1000, 0, 90_000), wasmbin.Limits{})); err != nil {
		t.Error(err)
	}
	if err := errors.Join(check(t, fills(1000), wasmbin.Limits{}), check(t, code([]byte{0}, loops(1000), ends(1000)), wasmbin.Limits{})); err != nil {
		t.Error(err)
	}
	for name, c := range map[string]struct {
		wasm []byte
		want string
	}{
		"300 million locals":           {code(locals(300_000_000)), "the number of locals"},
		"4 billion locals twice":       {code(w.Code([]byte{2}, w.U32(1<<32-1), []byte{w.I32}, w.U32(1<<32-1), []byte{w.I32})), "is 8589934590"},
		"a thousand locals in loops":   {code(locals(1000), loops(100), use(1000), ends(100)), "the work to compile it"},
		"ten thousand locals in loops": {code(locals(10_000), loops(5), use(10_000), ends(5)), "the work to compile it"},
		"ten thousand locals and ifs":  {code(locals(10_000), ifs(400), use(10_000)), "the work to compile it"},
		"a hundred thousand ifs":       {code([]byte{0}, ifs(100_000)), "the work to compile it"},
		"eight thousand loops":         {code([]byte{0}, w.Repeat(8000, w.LoopVoid, w.End)), "the work to compile it"},
		"eight thousand fills":         {fills(8000), "the work to compile it"},
		"a fan of branches":            {code(locals(500), w.BlockVoid, w.Repeat(4000, w.I32Const(0), w.BrIf(0)), w.End, use(500)), "the work to compile it"},
		"nested branches":              {code(locals(200), w.Repeat(4000, w.BlockVoid, w.I32Const(0), w.BrIf(0)), w.Repeat(4000, w.LocalGet(7), w.Drop, w.End)), "the work to compile it"},
		"20,000 nested blocks":         {code([]byte{0}, w.Repeat(20_000, w.BlockVoid), w.Repeat(20_000, w.End)), "the work to compile it"},
		"wide calls":                   {wide(new(w.Module)), "the work to compile it"},
		"globals and functions":        {crowd(1, 50_000, 0, 50_000), "the work to compile its functions with its types, globals and exports"},
		"types and functions":          {crowd(9_990, 0, 0, 60_000), "the work to compile its functions with its types, globals and exports"},
		"exports and functions":        {exports(60_000, 60_000), "the work to compile its functions with its types, globals and exports"},
		"vectors that change":          {crowd(1, 0, 25_000, 1), "the work to compile its functions with its types, globals and exports"},
	} {
		if len(c.wasm) > 800_000 {
			t.Errorf("%s: got a module of %d bytes, want at most 800000", name, len(c.wasm))
		}
		if err := check(t, c.wasm, wasmbin.Limits{}); !errors.Is(err, wasmbin.ErrLimit) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q in it", name, err, c.want)
		}
	}
}

// The nesting of a large switch from Go's compiler is accepted.
func TestCheck_acceptsLargeSwitches(t *testing.T) {
	const n = 6_912
	table := w.Code([]byte{0x0e}, w.U32(n-1))
	for i := range uint32(n) {
		table = append(table, w.U32(i)...)
	}
	step := w.Code(w.End, w.LocalGet(1), w.LocalSet(2), w.LocalGet(2), w.BrIf(0))
	wasm := code(locals(32), w.BlockVoid, w.LoopVoid, w.Repeat(n, w.BlockVoid), w.I32Const(0), table, w.Repeat(n, step), w.End, w.End)
	if err := check(t, wasm, wasmbin.Limits{}); err != nil {
		t.Error(err)
	}
}

// Tables that the code grows get a maximum, so that the total stays within the limit.
func TestCheck_boundsGrowingTables(t *testing.T) {
	for name, c := range map[string]struct{ first, second, want0, want1 int }{
		"one without":    {w.None, 7, 999_998, 7},
		"one is large":   {2_000_000, 7, 999_998, 7},
		"one is small":   {1000, 7, 1000, 7},
		"both":           {w.None, w.None, 500_002, 499_997},
		"one has enough": {w.None, 20, 500_002, 20},
	} {
		var m w.Module
		m.Table(7, c.first)
		m.Table(2, c.second)
		code := w.Code([]byte{0xd0, w.FuncRef}, w.I32Const(1), []byte{0xfc, 15, 0}, w.Drop)
		if c.second > 7 || c.second == w.None {
			code = append(code, w.Code([]byte{0xd0, w.FuncRef}, w.I32Const(1), []byte{0xfc, 15, 1}, w.Drop)...)
		}
		m.FuncRaw(m.Type(nil, nil), []byte{0}, code, w.End)
		b, err := wasmbin.Read(m.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		anew, err := wasmbin.Check(b, wasmbin.Limits{})
		if err != nil {
			t.Fatalf("%s: got %v, want no error", name, err)
		}
		if got := anew.Tables; int(got[0].Max) != c.want0 || int(got[1].Max) != c.want1 {
			t.Errorf("%s: got tables %+v, want at most %d and %d", name, got, c.want0, c.want1)
		}
	}
}

// TestCheck_refusesMalformedSections tests malformed and unsupported contents of sections that Read skips.
func TestCheck_refusesMalformedSections(t *testing.T) {
	raw := func(id byte, content ...byte) []byte { return append([]byte(w.Header), w.Section(id, content)...) }
	names := func(p ...byte) []byte { return raw(0, append(w.Name("name"), p...)...) }
	none := []byte{0}
	for name, c := range map[string]struct {
		wasm []byte
		is   error
		want string
	}{
		"old exceptions":    {code(none, []byte{0x06, 0x40}), wasmbin.ErrUnsupported, "exceptions in their old encoding (wasm-opt --translate-to-exnref converts them), instruction 0x6 at offset 23"},
		"throw":             {code(none, []byte{0x08, 0}), wasmbin.ErrMalformed, "function 0 names tag 0 of 0 before offset 25"},
		"catch label":       {code(none, []byte{0x1f, 0x40, 1, 2, 1}, w.End), wasmbin.ErrMalformed, "function 0 branches out of itself before offset 28"},
		"catch kind":        {code(none, []byte{0x1f, 0x40, 1, 4, 0}, w.End), wasmbin.ErrMalformed, "a catch clause of kind 4 at offset 26"},
		"catch types":       {code(none, []byte{0x1f, 0x40, 1, 3, 0}, w.End), wasmbin.ErrMalformed, "function 0 catches 69 for a label of  before offset 28"},
		"catch claim":       {code(none, []byte{0x1f, 0x40, 0xff, 0xff, 0xff, 0xff, 0x0f}, w.End), wasmbin.ErrTruncated, "a function body claims 4294967295 entries"},
		"typed call":        {code(none, []byte{0x14, 0}), wasmbin.ErrUnsupported, "instruction 0x14 at offset 23"},
		"tail call":         {code(none, w.ReturnCall(9)), wasmbin.ErrMalformed, "function 0 calls function 9 of 1"},
		"tail call type":    {code(none, w.ReturnCallIndirect(9)), wasmbin.ErrMalformed, "function 0 names type 9 of 1"},
		"threads":           {code(none, []byte{0xfe, 0x03, 0}), wasmbin.ErrUnsupported, "instruction 0xfe at offset 23"},
		"bulk":              {code(none, []byte{0xfc, 18}), wasmbin.ErrUnsupported, "instruction 0xfc 18 at offset 23"},
		"relaxed simd":      {code(none, []byte{0xfd, 0x80, 0x02}), wasmbin.ErrUnsupported, "instruction 0xfd 256 at offset 23"},
		"branch out":        {code(none, w.Br(1)), wasmbin.ErrMalformed, "function 0 branches out of itself"},
		"call":              {code(none, w.Call(9)), wasmbin.ErrMalformed, "function 0 calls function 9 of 1"},
		"block type":        {code(none, []byte{0x02, 7}), wasmbin.ErrMalformed, "function 0 names type 7 of 1"},
		"after the end":     {code(none, w.End), wasmbin.ErrMalformed, "does not end where its body does"},
		"no end":            {code(none, w.BlockVoid), wasmbin.ErrMalformed, "does not end where its body does"},
		"cut instruction":   {code(none, []byte{0x44, 1}), wasmbin.ErrTruncated, "a function body ends too early"},
		"typed reference":   {code([]byte{1, 1, 0x63, 0}), wasmbin.ErrUnsupported, "a value of type 0x63 at offset 24"},
		"global type":       {raw(6, 1, 0x64, 0, 0x41, 0, 0x0b), wasmbin.ErrUnsupported, "a value of type 0x64 at offset 11"},
		"no code":           {append([]byte(w.Header), w.Code(w.Section(1, []byte{1, 0x60, 0, 0}), w.Section(3, []byte{1, 0}), w.Section(10, []byte{0}))...), wasmbin.ErrMalformed, "1 functions are declared but 0 have code"},
		"data claim":        {raw(11, 0xff, 0xff, 0xff, 0xff, 0x0f), wasmbin.ErrTruncated, "the data section claims 4294967295 entries"},
		"data flags":        {raw(11, 1, 3, 0), wasmbin.ErrMalformed, "data segment 0 has flags 0x3"},
		"element claim":     {raw(9, 1, 1, 0, 0xff, 0xff, 0xff, 0xff, 0x0f), wasmbin.ErrTruncated, "the element section claims 4294967295 entries"},
		"element flags":     {raw(9, 1, 8, 0, 0), wasmbin.ErrMalformed, "element segment 0 has flags 0x8"},
		"global claim":      {raw(6, 0xff, 0xff, 0x3f), wasmbin.ErrTruncated, "the global section claims 1048575 entries"},
		"constant":          {raw(6, 1, w.I32, 0, 0x41, 0x80), wasmbin.ErrTruncated, "the global section ends too early"},
		"names claim":       {names(1, 5, 0xff, 0xff, 0xff, 0xff, 0x0f), wasmbin.ErrTruncated, "the name section claims 4294967295 entries"},
		"local names claim": {names(2, 7, 1, 0, 0xff, 0xff, 0xff, 0xff, 0x0f), wasmbin.ErrTruncated, "the name section claims 4294967295 entries"},
		"names surplus":     {names(0, 2, 0, 0), wasmbin.ErrMalformed, "the name section's part 0 has 1 bytes too many"},
	} {
		if err := check(t, c.wasm, wasmbin.Limits{}); !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q in it", name, err, c.want)
		}
	}
}

// Each kind of immediate is decoded with its exact length.
func TestCheck_decodesEachImmediateExactly(t *testing.T) {
	all := w.Code(
		[]byte{0x02, w.I32}, w.I32Const(-1), w.End, w.Drop, // a block with a result
		[]byte{0x42, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00}, w.Drop,
		[]byte{0x43, 1, 2, 3, 4}, w.Drop, []byte{0x44, 1, 2, 3, 4, 5, 6, 7, 8}, w.Drop,
		[]byte{0x1c, 1, w.I32}, []byte{0x28, 2, 0xff, 0x7f}, []byte{0x3f, 0}, []byte{0x11, 0, 0},
		[]byte{0xd0, 0x70, 0xd1, 0xd2, 0}, []byte{0x25, 0, 0x26, 0}, []byte{0xc0, 0xc4},
		[]byte{0xfc, 0, 0xfc, 8, 0, 0, 0xfc, 9, 0, 0xfc, 10, 0, 0, 0xfc, 11, 0, 0xfc, 12, 0, 0, 0xfc, 13, 0, 0xfc, 14, 0, 0, 0xfc, 16, 0, 0xfc, 17, 0},
		[]byte{0xfd, 0, 4, 0, 0xfd, 12}, make([]byte, 16), []byte{0xfd, 13}, make([]byte, 16),
		[]byte{0xfd, 21, 0, 0xfd, 84, 0, 0, 0, 0xfd, 92, 2, 0, 0xfd, 100, 0xfd, 0xff, 1},
	)
	if err := check(t, code([]byte{1, 1, w.V128}, all), wasmbin.Limits{}); err != nil {
		t.Error(err)
	}
}
