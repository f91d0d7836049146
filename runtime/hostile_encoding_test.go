package runtime_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/runtime"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// manyTypes adds so many types to a module that each opcode below 64 is also the number of a type.
func manyTypes(m *w.Module) {
	for range 64 {
		m.Type(nil, nil)
	}
}

// A typed select whose type is a typed reference, in two bytes: what validates the module takes the second byte for a part of
// the type, what compiles it for an instruction. It is local.set, and the byte behind it, to validation an unreachable, its operand: what follows
// is code of any types.
func hiddenSet(reference ...byte) []byte { return w.Code(b(0x1c, 1), reference, b(0x21, 0)) }

// pointerRead returns the upper half of the address of a function in the host.
func pointerRead(hide []byte) []byte {
	ref := b(0xd2, fRun)
	m := bare(ref, ref, w.I32Const(0), hide, w.LocalGet(0), w.I64Const(32), w.I64Shr, w.I32Wrap)
	m.ElementsRaw(3, 0, 1, fRun)
	return m.Bytes()
}

// pointerCall calls code at an address of its choice.
func pointerCall(hide []byte) []byte {
	null := b(0xd0, w.FuncRef)
	return bare(w.I32Const(0), w.I64Const(0x4141414141), null, null, w.I32Const(0), hide,
		b(0x26, 0), w.I32Const(0), b(0x11), w.U32(fRun), b(0)).Bytes()
}

// bare is a module like those of world, whose run has a local of type i64.
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

// hiding is a constant of sixteen bytes to one reader; to another it is a shift, an unreachable, and the end of the block
// around it, which is where the branch leads, with code behind.
func hiding(number []byte, code ...byte) []byte {
	code = append([]byte{0x0b}, code...)
	for len(code) < 14 {
		code = append(code, 0x01)
	}
	return w.Code(w.BlockVoid, w.I32Const(1), w.BrIf(0), b(0xfd, 12), make([]byte, 16), w.I32Const(0), b(0xfd), number, code, w.BlockVoid, w.End)
}

// unmetered runs a loop without a counter.
func unmetered(number []byte) []byte {
	return world(hiding(number, 0x03, 0x40, 0x0c, 0, 0x0b), w.I32Const(1)).Bytes()
}

// hiddenTable sets an entry of a table and answers whether it was null.
func hiddenTable(number []byte) []byte {
	m := world(w.I32Const(0), b(0x25, 0, 0xd1), hiding(number, 0x41, 0, 0xd2, fRun+1, 0x26, 0)) // functions are one on once there is a counter
	m.ElementsRaw(3, 0, 1, fRun)
	return m.Bytes()
}

// hostileEncodings are guests whose bytes mean one thing to one reader and another to the next.
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

// neighbour is a module, and the one that it is another spelling of.
type neighbour struct {
	name       string
	plain, odd []byte
}

// neighbours are the four above and every instruction, in other spellings.
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

// beside is a guest that answers 42, with an instruction that is compiled and does not run.
func beside(instruction []byte) []byte {
	after := w.Unreachable
	if op := instruction[0]; op >= 0x02 && op <= 0x04 {
		after = w.Code(w.Unreachable, w.End, w.Unreachable)
	}
	m := world(w.I32Const(1), w.IfVoid, w.I32Const(42), w.Return, w.End, w.Unreachable, instruction, after)
	m.ElementsRaw(3, 0, 1, 0)
	m.PassiveData([]byte{1})
	return m.Bytes()
}

// TestHostile_encodings: another spelling of a module is refused, or does what the plain one does, call after call.
func TestHostile_encodings(t *testing.T) {
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

// ends runs a guest and tells how its calls ended, while the neighbour goes on.
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
