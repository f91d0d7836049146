package wasmbin_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// spelled returns a module with an instruction in its code; the module need not be valid.
func spelled(instruction []byte) []byte {
	var m w.Module
	m.Memory(1, 1)
	m.Table(1, 1)
	m.Global(w.I32, 0)
	m.ElementsRaw(1, 0, 1, 0)
	m.PassiveData([]byte{1})
	code := w.Code(instruction, w.Unreachable)
	op := instruction[0]
	if op == 0x08 || op == 0x1f {
		m.Tag()
	}
	if op >= 0x02 && op <= 0x04 || op == 0x1f {
		code = w.Code(instruction, w.End, w.Unreachable)
	}
	m.FuncRaw(m.Type(nil, nil), w.Code(w.U32(1), w.U32(1), []byte{w.I32}), code, w.End)
	return m.Bytes()
}

func writeAnew(wasm []byte) (*wasmbin.Checked, error) {
	b, err := wasmbin.Read(wasm)
	if err != nil {
		return nil, err
	}
	return wasmbin.Check(b, wasmbin.Limits{})
}

// Any encoding of an instruction is rejected, or rewritten in canonical encoding.
func TestCheck_writesCanonicalInstructions(t *testing.T) {
	instructions, same, others := 0, 0, 0
	for _, s := range w.Spellings() {
		short := spelled(s.Short)
		anew, err := writeAnew(spelled(s.Odd))
		switch {
		case bytes.Equal(s.Odd, s.Short):
			instructions++
			if err != nil || !bytes.Equal(anew.Wasm(), short) {
				t.Fatalf("%s: got %v, want no error", s.Name, err)
			}
		case err != nil:
		case s.Same:
			if same++; !bytes.Equal(anew.Wasm(), short) {
				t.Errorf("%s: % x: got % x\nwant % x", s.Name, s.Odd, anew.Wasm(), short)
			}
		default: // a different type
			if others++; !bytes.Equal(anew.Wasm(), spelled(s.Odd)) {
				t.Errorf("%s: % x: got % x\nwant % x", s.Name, s.Odd, anew.Wasm(), spelled(s.Odd))
			}
		}
	}
	t.Logf("%d instructions, %d longer spellings, %d other types", instructions, same, others)
	if instructions < 400 || same < 400 || others < 20 {
		t.Errorf("got %d instructions, %d longer spellings, %d other types; want at least 400, 400, 20", instructions, same, others)
	}
}

// TestCheck_writesCanonicalSections checks the same for the parts of a module outside of code.
func TestCheck_writesCanonicalSections(t *testing.T) {
	long := func(n uint32) string { return string(w.Overlong(n, 2)) }
	zero, one, two := long(0), long(1), long(2)
	odd := []byte(w.Header)
	add := func(id byte, parts ...string) {
		c := strings.Join(parts, "")
		odd = append(append(append(odd, id), w.Overlong(uint32(len(c)), 3)...), c...)
	}
	add(1, long(3), "\x60", one, "\x7f", zero, "\x60", zero, zero, "\x60", zero, zero)
	add(2, one, one, "e", one, "f\x00", zero)
	add(3, one, zero)
	add(0, "\x01xsome data")
	add(4, one, "\x70\x00", one)
	add(5, one, "\x01", one, two)
	add(13, one, "\x00", two)
	add(6, one, "\x7f\x00\x41", zero, "\x0b")
	add(7, one, one, "g\x00", one)
	add(9, two, zero, "\x41", zero, "\x0b", one, zero, long(5), "\x70", one, "\xd2", zero, "\x0b")
	add(12, one)
	add(10, one, long(6), one, one, "\x7e\x0b")
	add(11, one, two, zero, "\x41", zero, "\x0b", one, "x")
	add(0, long(4), "name\x00\x02\x01m\x01", long(7), one, zero, one, "f\x05\x00")
	add(0, "\x04name")
	want := w.Code([]byte(w.Header), w.Section(1, []byte("\x03\x60\x01\x7f\x00\x60\x00\x00\x60\x00\x00")), w.Section(2, []byte("\x01\x01e\x01f\x00\x00")),
		w.Section(3, []byte("\x01\x00")), w.Section(4, []byte("\x01\x70\x00\x01")), w.Section(5, []byte("\x01\x01\x01\x02")),
		w.Section(13, []byte("\x01\x00\x02")), w.Section(6, []byte("\x01\x7f\x00\x41\x00\x0b")), w.Section(7, []byte("\x01\x01g\x00\x01")),
		w.Section(9, []byte("\x02\x00\x41\x00\x0b\x01\x00\x05\x70\x01\xd2\x00\x0b")), w.Section(12, []byte{1}),
		w.Section(10, []byte("\x01\x04\x01\x01\x7e\x0b")), w.Section(11, []byte("\x01\x00\x41\x00\x0b\x01x")),
		w.Section(0, []byte("\x04name\x01\x04\x01\x00\x01f")))
	anew, err := writeAnew(odd)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(anew.Wasm(), want) {
		t.Errorf("\n% x\n% x", anew.Wasm(), want)
	}
}

// A constant expression becomes one constant of its value, which wraps around.
func TestCheck_computesConstants(t *testing.T) {
	i32, i64 := w.I32Const, w.I64Const
	for name, c := range map[string]struct {
		typ  byte
		expr []byte
		want []byte
	}{
		"i32 sum":        {w.I32, w.Code(i32(2147483647), i32(1), []byte{0x6a}), i32(-2147483648)},
		"i32 difference": {w.I32, w.Code(i32(3), i32(5), []byte{0x6b}), i32(-2)},
		"i32 product":    {w.I32, w.Code(i32(65536), i32(65537), []byte{0x6c}), i32(65536)},
		"i64 sum":        {w.I64, w.Code(i64(40), i64(2), []byte{0x7c}), i64(42)},
		"i64 difference": {w.I64, w.Code(i64(-9223372036854775808), i64(1), []byte{0x7d}), i64(9223372036854775807)},
		"i64 nested":     {w.I64, w.Code(i64(2), i64(3), i64(4), []byte{0x7c, 0x7e}), i64(14)},
	} {
		var m, plain w.Module
		m.GlobalRaw(c.typ, 0, c.expr)
		plain.GlobalRaw(c.typ, 0, c.want)
		if anew, err := writeAnew(m.Bytes()); err != nil || !bytes.Equal(anew.Wasm(), plain.Bytes()) {
			t.Errorf("%s: got %v, want the module\n% x", name, err, plain.Bytes())
		}
	}
}

// instructions decodes all the code of a module and returns the instructions as text.
func instructions(t *testing.T, wasm []byte) (all []string) {
	t.Helper()
	b, err := wasmbin.Read(wasm)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range b.Sections() {
		if s.ID != 10 {
			continue
		}
		d := wasmbin.NewDecoder(s.Data, s.Offset, "the code section")
		for n := d.Count(2); n > 0 && d.Err() == nil; n-- {
			body := wasmbin.NewDecoder(d.Bytes(d.U32()), 0, "a function body")
			for n := body.Count(2); n > 0; n-- {
				all = append(all, fmt.Sprint(body.U32(), body.ValueType()))
			}
			for in := (wasmbin.Instruction{}); !body.Done() && body.Next(&in); in = (wasmbin.Instruction{}) {
				in.Begin, in.End = 0, 0
				all = append(all, fmt.Sprint(in))
			}
			if body.Err() != nil {
				t.Fatal(body.Err())
			}
		}
	}
	return all
}

// sameAnew fails unless a checked module has the instructions of the file, and is unchanged by a second check.
func sameAnew(t *testing.T, wasm []byte, anew *wasmbin.Checked) {
	t.Helper()
	again, err := writeAnew(anew.Wasm())
	if err != nil || !bytes.Equal(again.Wasm(), anew.Wasm()) {
		t.Fatalf("normal form written again: got %v or other bytes, want no error and\n% x", err, anew.Wasm())
	}
	before, after := instructions(t, wasm), instructions(t, anew.Wasm())
	if len(before) != len(after) {
		t.Fatalf("got %d instructions, want %d\n% x", len(after), len(before), wasm)
	}
	for i := range before {
		if before[i] != after[i] {
			t.Fatalf("instruction %d: got %s, want %s\n% x", i, after[i], before[i], wasm)
		}
	}
}
