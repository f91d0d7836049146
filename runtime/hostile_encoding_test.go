package runtime_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/runtime"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// manyTypes adds types to a module until each opcode below 64 is also a type index.
func manyTypes(m *w.Module) {
	for range 64 {
		m.Type(nil, nil)
	}
}

// hiddenSet is a typed select whose type is a typed reference, in two bytes: the validator takes the second byte for a
// part of the type, the compiler for an instruction, local.set. The next byte is its operand to the compiler, and an
// unreachable to the validator, which accepts code of any types after it.
func hiddenSet(reference ...byte) []byte { return w.Code(b(0x1c, 1), reference, b(0x21, 0)) }

// pointerRead returns the upper half of the address of a host function.
func pointerRead(hide []byte) []byte {
	ref := b(0xd2, fRun)
	m := bare(ref, ref, w.I32Const(0), hide, w.LocalGet(0), w.I64Const(32), w.I64Shr, w.I32Wrap)
	m.ElementsRaw(3, 0, 1, fRun)
	return m.Bytes()
}

// pointerCall calls code at an arbitrary address.
func pointerCall(hide []byte) []byte {
	null := b(0xd0, w.FuncRef)
	return bare(w.I32Const(0), w.I64Const(0x4141414141), null, null, w.I32Const(0), hide,
		b(0x26, 0), w.I32Const(0), b(0x11), w.U32(fRun), b(0)).Bytes()
}

// bare returns a module like those of world, whose run has an i64 local.
func bare(code ...[]byte) *w.Module {
	var m w.Module
	for _, name := range []string{"f", "cancel", "wait"} {
		m.Import("h", name, nil, []byte{w.I32})
	}
	m.Memory(1, w.None)
	m.Table(2, 100)
	m.Export("run", m.Func(nil, []byte{w.I32}, []byte{w.I64}, code...))
	manyTypes(&m)
	return &m
}

// hiding is a sixteen-byte constant to one decoder; to another it is a shift, an unreachable, and the end of the
// enclosing block, which is the target of the branch, followed by code.
func hiding(number []byte, code ...byte) []byte {
	code = append([]byte{0x0b}, code...)
	for len(code) < 14 {
		code = append(code, 0x01)
	}
	return w.Code(w.BlockVoid, w.I32Const(1), w.BrIf(0), b(0xfd, 12), make([]byte, 16), w.I32Const(0), b(0xfd), number, code, w.BlockVoid, w.End)
}

// unmetered runs a loop without fuel checks.
func unmetered(number []byte) []byte {
	return world(hiding(number, 0x03, 0x40, 0x0c, 0, 0x0b), w.I32Const(1)).Bytes()
}

// hiddenTable sets an entry of a table and returns whether it was null.
func hiddenTable(number []byte) []byte {
	// The refill import shifts function indices by one.
	m := world(w.I32Const(0), b(0x25, 0, 0xd1), hiding(number, 0x41, 0, 0xd2, fRun+1, 0x26, 0))
	m.ElementsRaw(3, 0, 1, fRun)
	return m.Bytes()
}

// hostileEncodings returns guests whose bytes two decoders interpret differently.
func hostileEncodings() []attack {
	const reference = "refused: unsupported WebAssembly feature: a value of type 0x63…"
	const long = "refused: unsupported WebAssembly feature: instruction 0xfd 12 in 2 bytes…"
	return []attack{
		{name: "a pointer is read", wasm: pointerRead(hiddenSet(0x63)), want: reference, calls: 2},
		{name: "a pointer is called", wasm: pointerCall(hiddenSet(0x63)), want: reference, calls: 2},
		{name: "a loop in a constant", wasm: unmetered(b(0x8c, 0)), want: long, calls: 2},
		{name: "a table.set in a constant", wasm: hiddenTable(b(0x8c, 0)), want: long, calls: 2},
	}
}

// neighbour is a pair of modules, of which odd is an alternative encoding of plain.
type neighbour struct {
	name       string
	plain, odd []byte
}

// neighbours returns the four encodings above and every instruction in its alternative encodings.
func neighbours() (all []neighbour) {
	add := func(name string, plain, odd []byte) { all = append(all, neighbour{name, plain, odd}) }
	for reference := range 256 {
		hide := hiddenSet(byte(reference))
		plain := world(w.I32Const(7)).Bytes()
		add(fmt.Sprintf("a pointer is read, %#x", reference), plain, pointerRead(hide))
		add(fmt.Sprintf("a pointer is called, %#x", reference), plain, pointerCall(hide))
	}
	for long := 1; long <= 5; long++ {
		plain, number := world(w.I32Const(1)).Bytes(), w.Overlong(12, long)
		add(fmt.Sprintf("a loop in a constant, %d", long), plain, unmetered(number))
		m := world(w.I32Const(1))
		m.ElementsRaw(3, 0, 1, fRun)
		add(fmt.Sprintf("a table.set in a constant, %d", long), m.Bytes(), hiddenTable(number))
	}
	for _, x := range w.Spellings() {
		if !bytes.Equal(x.Odd, x.Short) {
			add(x.Name, beside(x.Short), beside(x.Odd))
		}
	}
	return all
}

// beside returns a guest that returns 42, with an instruction that is compiled and does not run.
func beside(instruction []byte) []byte {
	after := w.Unreachable
	op := instruction[0]
	if op >= 0x02 && op <= 0x04 || op == 0x1f {
		after = w.Code(w.Unreachable, w.End, w.Unreachable)
	}
	m := world(w.I32Const(1), w.IfVoid, w.I32Const(42), w.Return, w.End, w.Unreachable, instruction, after)
	if op == 0x08 || op == 0x1f {
		m.Tag()
	}
	m.ElementsRaw(3, 0, 1, 0)
	m.PassiveData([]byte{1})
	return m.Bytes()
}

// An alternative encoding of a module is rejected, or equivalent to the plain one, in every call.
func TestHostile_encodingsBehaveAlikeOrAreRefused(t *testing.T) {
	a := &arena{T: t}
	a.open(runtime.RestoreFastest)
	defer a.close()
	tried, refused, same := 0, 0, 0
	plain := map[string]string{}
	for _, n := range neighbours() {
		tried++
		want, ok := plain[string(n.plain)]
		if !ok {
			want = a.ends(&attack{name: n.name, wasm: n.plain, calls: 2})
			plain[string(n.plain)] = want
		}
		got := a.ends(&attack{name: n.name, wasm: n.odd, calls: 2})
		switch {
		case strings.HasPrefix(got, "refused: "):
			refused++
		case got == want:
			same++
		default:
			t.Errorf("%s: %s, and plainly %s\n% x", n.name, got, want, n.odd)
		}
	}
	a.greet("all of them")
	t.Logf("%d spellings: %d refused, %d like the plain one; %d hangs, %d crashes", tried, refused, same, a.hangs, a.crashes)
	if tried < 3000 || same < 500 || refused < 1500 {
		t.Error("too few")
	}
}

// ends runs a guest and returns the ends of its calls, while the neighbour continues.
func (a *arena) ends(x *attack) string {
	done := make(chan string, 1)
	go func() { done <- a.play(x) }()
	got, _ := a.meanwhile(x, done)
	if strings.HasPrefix(got, string(runtime.KindInternal)) {
		a.crashes++
		a.Errorf("%s: %s", x.name, got)
	}
	return got
}
