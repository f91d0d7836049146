package wasmbin_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// good are the valid value types.
var good = []byte{w.I32, w.I64, w.F32, w.F64, w.V128, w.FuncRef, w.ExternRef, w.ExnRef}

// refused reports whether Read or Check rejects a module with an error of this package.
func refused(t *testing.T, name string, wasm []byte) bool {
	t.Helper()
	b, err := wasmbin.Read(wasm)
	if err == nil {
		_, err = wasmbin.Check(b, wasmbin.Limits{})
	}
	if err != nil && !errors.Is(err, wasmbin.ErrMalformed) && !errors.Is(err, wasmbin.ErrUnsupported) && !errors.Is(err, wasmbin.ErrTruncated) {
		t.Errorf("%s: got %v, want no error, malformed, unsupported or truncated", name, err)
	}
	return err != nil
}

// Any byte in place of a type is a valid type or rejected. The compiler takes some of the others for the beginning
// of a longer type.
func TestCheck_refusesInvalidTypeBytes(t *testing.T) {
	raw := func(id byte, content ...byte) []byte { return append([]byte(w.Header), w.Section(id, content)...) }
	none := []byte{0}
	refs := []byte{w.FuncRef, w.ExternRef}
	nulls := append(refs, w.ExnRef)
	for name, c := range map[string]struct {
		allowed []byte
		build   func(t byte) []byte
	}{
		"select":        {good, func(t byte) []byte { return code(none, []byte{0x1c, 1, t}) }},
		"block":         {append([]byte{0x40, 0}, good...), func(t byte) []byte { return code(none, []byte{0x02, t}, w.End) }},
		"loop":          {append([]byte{0x40, 0}, good...), func(t byte) []byte { return code(none, []byte{0x03, t}, w.End) }},
		"if":            {append([]byte{0x40, 0}, good...), func(t byte) []byte { return code(none, []byte{0x04, t}, w.End) }},
		"ref.null":      {nulls, func(t byte) []byte { return code(none, []byte{0xd0, t}) }},
		"local":         {good, func(t byte) []byte { return code([]byte{1, 1, t}) }},
		"parameter":     {good, func(t byte) []byte { return raw(1, 1, 0x60, 1, t, 0) }},
		"result":        {good, func(t byte) []byte { return raw(1, 1, 0x60, 0, 1, t) }},
		"form":          {[]byte{0x60}, func(t byte) []byte { return raw(1, 1, t, 0, 0) }},
		"table":         {refs, func(t byte) []byte { return raw(4, 1, t, 0, 0) }},
		"global":        {good, func(t byte) []byte { return raw(6, 1, t, 0, 0x41, 0, 0x0b) }},
		"mutable":       {[]byte{0, 1}, func(t byte) []byte { return raw(6, 1, w.I32, t, 0x41, 0, 0x0b) }},
		"imported":      {good[:7], func(t byte) []byte { return raw(2, 1, 0, 0, 3, t, 0) }},
		"its mutable":   {[]byte{0, 1}, func(t byte) []byte { return raw(2, 1, 0, 0, 3, w.I32, t) }},
		"initial null":  {nulls, func(t byte) []byte { return raw(6, 1, w.FuncRef, 0, 0xd0, t, 0x0b) }},
		"initial":       {[]byte{0xd2}, func(t byte) []byte { return raw(6, 1, w.I32, 0, t, 0, 0x0b) }},
		"passive kind":  {none, func(t byte) []byte { return raw(9, 1, 1, t, 0) }},
		"active kind":   {none, func(t byte) []byte { return raw(9, 1, 2, 0, 0x41, 0, 0x0b, t, 0) }},
		"declared kind": {none, func(t byte) []byte { return raw(9, 1, 3, t, 0) }},
		"passive type":  {refs, func(t byte) []byte { return raw(9, 1, 5, t, 0) }},
		"active type":   {refs, func(t byte) []byte { return raw(9, 1, 6, 0, 0x41, 0, 0x0b, t, 0) }},
		"declared type": {refs, func(t byte) []byte { return raw(9, 1, 7, t, 0) }},
		"export":        {[]byte{1, 2, 3}, func(t byte) []byte { return raw(7, 1, 0, t, 0) }},
		"data's memory": {none, func(t byte) []byte { return raw(11, 1, 2, t, 0x41, 0, 0x0b, 0) }},
		"limits":        {none, func(t byte) []byte { return raw(5, 1, t, 0) }},
		"tag":           {none, func(t byte) []byte { return tagged([]byte{t, 0}) }},
		"try_table":     {append([]byte{0x40, 0}, good...), func(t byte) []byte { return code(none, []byte{0x1f, t, 0}, w.End) }},
		"catch":         {[]byte{0, 2}, func(t byte) []byte { return tagged([]byte{0, 0}, []byte{0x1f, 0x40, 1, t, 0, 0}, w.End) }},
		"memory.size":   {none, func(t byte) []byte { return code(none, []byte{0x3f, t}) }},
		"memory.grow":   {none, func(t byte) []byte { return code(none, []byte{0x40, t}) }},
		"memory.init":   {none, func(t byte) []byte { return code(none, []byte{0xfc, 8, 0, t}) }},
		"memory.copy":   {none, func(t byte) []byte { return code(none, []byte{0xfc, 10, t, 0}) }},
		"memory.copy 2": {none, func(t byte) []byte { return code(none, []byte{0xfc, 10, 0, t}) }},
		"memory.fill":   {none, func(t byte) []byte { return code(none, []byte{0xfc, 11, t}) }},
	} {
		allowed := [256]bool{}
		for _, a := range c.allowed {
			allowed[a] = true
		}
		for b := range 256 {
			if name == "initial" && (b == 0x41 || b == 0x42) { // constants of one byte
				continue
			}
			if got := refused(t, name, c.build(byte(b))); got == allowed[b] {
				t.Errorf("%s %#x: got refused %v, want %v", name, b, got, !allowed[b])
			}
		}
	}
}

// tagged returns a module with a tag, in the encoding given, and a function.
func tagged(tag []byte, instructions ...[]byte) []byte {
	body := w.Bytes(w.Code([]byte{0}, w.Code(instructions...), w.End))
	return w.Code([]byte(w.Header), w.Section(1, []byte{1, 0x60, 0, 0}), w.Section(3, []byte{1, 0}), w.Section(13, append([]byte{1}, tag...)),
		w.Section(10, append([]byte{1}, body...)))
}

// An ambiguous number is rejected, and one in a longer encoding than needed is accepted.
func TestCheck_refusesAmbiguousNumbers(t *testing.T) {
	none := []byte{0}
	global := func(value ...byte) []byte {
		return append([]byte(w.Header), w.Section(6, append([]byte{1, w.I64, 0}, append(value, 0x0b)...))...)
	}
	for name, c := range map[string]struct {
		wasm []byte
		bad  bool
	}{
		"select of 81 00 types":       {code(none, []byte{0x1c, 0x81, 0, w.I32}), true},
		"select of no types":          {code(none, []byte{0x1c, 0}), true},
		"select of two types":         {code(none, []byte{0x1c, 2, w.I32, w.I32}), true},
		"block type 80 00":            {code(none, []byte{0x02, 0x80, 0}, w.End), false},
		"block type c0 7f":            {code(none, []byte{0x02, 0xc0, 0x7f}, w.End), true},
		"block type ff 7f":            {code(none, []byte{0x02, 0xff, 0x7f}, w.End), true},
		"block type 80 80 80 80 70":   {code(none, []byte{0x02, 0x80, 0x80, 0x80, 0x80, 0x70}, w.End), true},
		"block type 80 80 80 80 40":   {code(none, []byte{0x02, 0x80, 0x80, 0x80, 0x80, 0x40}, w.End), true},
		"block type of six bytes":     {code(none, []byte{0x02, 0x80, 0x80, 0x80, 0x80, 0x80, 0}, w.End), true},
		"i32 with a wrong sign":       {code(none, []byte{0x41, 0xff, 0xff, 0xff, 0xff, 0x0f}), true},
		"i32 with a spare bit":        {code(none, []byte{0x41, 0x80, 0x80, 0x80, 0x80, 0x40}), true},
		"i32 of the lowest":           {code(none, []byte{0x41, 0x80, 0x80, 0x80, 0x80, 0x78}), false},
		"i32 of five bytes":           {code(none, []byte{0x41, 0x80, 0x80, 0x80, 0x80, 0}), false},
		"i32 of six bytes":            {code(none, []byte{0x41, 0x80, 0x80, 0x80, 0x80, 0x80, 0}), true},
		"i64 with a spare bit":        {code(none, w.Code([]byte{0x42}, w.Repeat(9, []byte{0x80}), []byte{0x40})), true},
		"i64 of the lowest":           {code(none, w.Code([]byte{0x42}, w.Repeat(9, []byte{0x80}), []byte{0x7f})), false},
		"i64 with a wrong sign":       {code(none, w.Code([]byte{0x42}, w.Repeat(9, []byte{0xff}), []byte{1})), true},
		"memory.size 80 00":           {code(none, []byte{0x3f, 0x80, 0}), true},
		"index with a spare bit":      {code([]byte{1, 1, w.I32}, []byte{0x20, 0x80, 0x80, 0x80, 0x80, 0x10}), true},
		"index of five bytes":         {code([]byte{1, 1, w.I32}, []byte{0x20, 0x80, 0x80, 0x80, 0x80, 0}), false},
		"initial null of two bytes":   {global(0xd0, 0x80, 0), true},
		"initial value of two":        {global(0x42, 0, 0x42, 0), true},
		"initial sum":                 {global(0x42, 0, 0x42, 0, 0x7c), false},
		"initial sum of one":          {global(0x42, 0, 0x7c), true},
		"initial sum of i32 and i64":  {global(0x42, 0, 0x41, 0, 0x7c), true},
		"initial sum of three":        {global(0x42, 1, 0x42, 2, 0x42, 3, 0x7e, 0x7d), false},
		"initial quotient":            {global(0x42, 1, 0x42, 1, 0x7f), true},
		"initial sum with f32":        {global(0x43, 0, 0, 0, 0, 0x42, 0, 0x7c), true},
		"initial block":               {global(0x02, 0x40, 0x0b), true},
		"initial value of a global":   {w.Code([]byte(w.Header), w.Section(6, []byte{2, w.I64, 0, 0x42, 0, 0x0b, w.I64, 0, 0x23, 0, 0x0b})), true},
		"initial value of a variable": {w.Code([]byte(w.Header), w.Section(2, []byte{1, 0, 0, 3, w.I64, 1}), w.Section(6, []byte{1, w.I64, 0, 0x23, 0, 0x0b})), true},
		"initial value imported":      {w.Code([]byte(w.Header), w.Section(2, []byte{2, 0, 0, 3, w.I64, 1, 0, 0, 3, w.I64, 0}), w.Section(6, []byte{1, w.I64, 0, 0x23, 1, 0x0b})), false},
		"initial vector fd 8c 00":     {global(w.Code([]byte{0xfd, 0x8c, 0}, make([]byte, 16))...), true},
		"initial vector of no bytes":  {global(0xfd, 12), true},
	} {
		if got := refused(t, name, c.wasm); got != c.bad {
			t.Errorf("%s: got refused %v, want %v", name, got, c.bad)
		}
	}
}

// The number of a vector instruction has one encoding, and is assigned.
func TestCheck_acceptsOneEncodingOfVectorInstructions(t *testing.T) {
	taken := 0
	for sub := range uint32(512) {
		for long := 1; long <= 6; long++ {
			number := w.Overlong(sub, long)
			if len(number) > long {
				continue
			}
			wasm := code([]byte{0}, append([]byte{0xfd}, number...), make([]byte, 18))
			if refused(t, fmt.Sprint(sub, long), wasm) {
				continue
			}
			if taken++; sub > 255 || long != len(w.U32(sub)) {
				t.Errorf("0xfd %d in %d bytes: got it taken, want it refused", sub, long)
			}
		}
	}
	if taken != 236 {
		t.Errorf("got %d instructions on vectors taken, want 236", taken)
	}
}
