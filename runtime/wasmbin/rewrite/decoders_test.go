//go:build decoders

package rewrite_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin/rewrite"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// second compares this package and the compiler with the oracle, and counts.
type second struct {
	*oracle
	compiler wazero.Runtime
	names    map[[2]uint32]string // the oracle's names of instructions

	modules, read, instructions, valid, compiled, refusedHere int
}

func newSecond(t testing.TB) *second {
	ctx := context.Background()
	s := &second{oracle: newOracle(t), compiler: wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(features)), names: map[[2]uint32]string{}}
	t.Cleanup(func() { _ = s.compiler.Close(ctx) })
	s.learn(t)
	return s
}

// learn asks the oracle for the name of every instruction, and checks that names are distinct.
func (s *second) learn(t testing.TB) {
	numbers := map[string][2]uint32{}
	for _, x := range w.Spellings() {
		if string(x.Odd) != string(x.Short) {
			continue
		}
		var in wasmbin.Instruction
		if !wasmbin.NewDecoder(x.Short, 0, "an instruction").Next(&in) {
			t.Fatalf("%s: got no instruction from % x, want one", x.Name, x.Short)
		}
		lines := s.theirs(t, spelledModule(x.Short))
		name, _, _ := strings.Cut(strings.TrimLeft(lines[2], "0123456789 "), " ") // after unreachable
		number := [2]uint32{uint32(in.Op), in.Sub}
		if old, ok := numbers[name]; ok && old != number {
			t.Errorf("%q: got numbers %v and %v, want one", name, old, number)
		}
		s.names[number], numbers[name] = name, number
	}
	s.names[[2]uint32{0x05}], s.names[[2]uint32{0x0b}] = "Else", "End"
}

// spelledModule returns a module with an instruction after unreachable, which provides operands of any type, or after
// given operands.
func spelledModule(instruction []byte, operands ...[]byte) []byte {
	var m w.Module
	m.Memory(1, 1)
	m.Table(1, 1)
	m.Global(w.I32, 0)
	m.ElementsRaw(1, 0, 1, 0)
	m.PassiveData([]byte{1})
	before := w.Code(operands...)
	if len(before) == 0 {
		before = w.Unreachable
	}
	code := w.Code(before, instruction, w.Unreachable)
	switch op := instruction[0]; op {
	case 0x08:
		m.Tag()
	case 0x1f:
		m.Tag()
		fallthrough
	case 0x02, 0x03, 0x04:
		code = w.Code(before, instruction, w.Unreachable, w.End, w.Unreachable)
	}
	m.FuncRaw(m.Type(nil, nil), w.Code(w.U32(1), w.U32(1), []byte{w.I32}), code, w.End)
	return m.Bytes()
}

// compare compares one module in every way.
func (s *second) compare(t *testing.T, what string, wasm []byte) {
	t.Helper()
	s.modules++
	reason := s.invalid(t, wasm)
	if reason == "" {
		s.valid++
	}
	m, err := checked(wasm)
	if err != nil {
		if reason == "" {
			s.refusedHere++
			if !errors.Is(err, wasmbin.ErrUnsupported) && !errors.Is(err, wasmbin.ErrLimit) && !strings.Contains(err.Error(), "name") {
				t.Errorf("%s: got %v for a valid module, want no error\n%x", what, err, wasm)
			}
		}
		return
	}
	s.read++
	s.sameInstructions(t, what, wasm)
	s.sameInstructions(t, what, m.Wasm())
	if after := s.invalid(t, m.Wasm()); (after == "") != (reason == "") && !excusedInvalid(reason) {
		t.Errorf("%s: got %q for the normal form, want %q\n%x\n%x", what, after, reason, wasm, m.Wasm())
	}
	for _, o := range []rewrite.Options{both, {Meter: true}} {
		if out, _, err := rewrite.Rewrite(m, o); err == nil {
			s.compiles(t, what, out)
		}
	}
}

// excusedInvalid excuses errors in custom sections, of which only names are rewritten.
func excusedInvalid(reason string) bool { return strings.Contains(reason, "UTF-8") }

// compiles fails if the compiler accepts a module that the oracle calls invalid.
func (s *second) compiles(t *testing.T, what string, out []byte) {
	t.Helper()
	c, err := s.compiler.CompileModule(context.Background(), out)
	if err != nil {
		return
	}
	_ = c.Close(context.Background())
	s.compiled++
	if reason := s.invalidPlain(t, out); reason != "" {
		t.Errorf("%s: got an invalid module that compiles (%s), want a valid one\n%x", what, reason, out)
	}
}

func (s *second) sameInstructions(t *testing.T, what string, wasm []byte) {
	t.Helper()
	a, b := ours(t, wasm, s.names), s.theirs(t, wasm)
	s.instructions += len(a)
	for i := range min(len(a), len(b)) {
		if strings.TrimSpace(a[i]) != strings.TrimSpace(b[i]) {
			t.Errorf("%s: got %q, want %q as the oracle reads\n%x", what, a[i], b[i], wasm)
			return
		}
	}
	if len(a) != len(b) {
		t.Errorf("%s: got %d instructions, want %d as the oracle reads\n%x", what, len(a), len(b), wasm)
	}
}

func (s *second) report(t *testing.T, of string) {
	t.Logf("%-22s %6d modules, %6d of them valid; %6d read here, with %8d instructions and operands compared; %6d results compiled; %d valid ones refused here",
		of, s.modules, s.valid, s.read, s.instructions, s.compiled, s.refusedHere)
	if s.modules == 0 || s.compiled == 0 {
		t.Errorf("%s: got %d modules, %d compiled; want some of both", of, s.modules, s.compiled)
	}
	s.modules, s.valid, s.read, s.instructions, s.compiled, s.refusedHere = 0, 0, 0, 0, 0, 0
}

// TestDecoders_agreeWithASecondDecoder compares boundaries and operands of instructions with a second decoder, and
// the compiled modules with a second validator: all instructions in all encodings, the specification's modules, and
// mutations of both.
func TestDecoders_agreeWithASecondDecoder(t *testing.T) {
	s := newSecond(t)
	all := w.Spellings()
	for _, x := range all {
		s.compare(t, x.Name, spelledModule(x.Odd))
	}
	if s.modules < 3000 {
		t.Errorf("got %d spellings, want at least 3000", s.modules)
	}
	s.report(t, "spellings")
	modules := everySpecModule(t)
	for name, wasm := range modules {
		s.compare(t, name, wasm)
	}
	s.report(t, "the specification's")
	s.operands(t)
	s.report(t, "operands")
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 20_000 {
		x := all[r.IntN(len(all))]
		s.compare(t, x.Name+", mutated", mutate(r, spelledModule(x.Odd)))
	}
	s.report(t, "mutated spellings")
	for range 4_000 {
		choices := make([]byte, 60)
		for i := range choices {
			choices[i] = byte(r.Uint32())
		}
		s.compare(t, "a program, mutated", mutate(r, generate(choices)))
	}
	s.report(t, "mutated programs")
}

// operands tests each instruction after values of all types, three at a time.
func (s *second) operands(t *testing.T) {
	push := [][]byte{w.I32Const(0), w.I64Const(0), {0x43, 0, 0, 0, 0}, {0x44, 0, 0, 0, 0, 0, 0, 0, 0},
		w.Code([]byte{0xfd, 12}, make([]byte, 16)), {0xd0, w.FuncRef}, {0xd0, w.ExternRef}}
	for _, x := range w.Spellings() {
		if !bytes.Equal(x.Odd, x.Short) && (x.Same || x.Short[0] != 0x1c) {
			continue
		}
		for n := range len(push) * len(push) * len(push) {
			stack := w.Code(push[n/49], push[n/7%7], push[n%7])
			m, err := checked(spelledModule(x.Odd, stack))
			if err != nil {
				continue
			}
			s.modules++
			if out, _, err := rewrite.Rewrite(m, both); err == nil {
				s.compiles(t, x.Name, out)
			}
		}
	}
}

// mutate changes some bytes, in half of the cases in the code only.
func mutate(r *rand.Rand, wasm []byte) []byte {
	from, to := 8, len(wasm)
	if b, err := wasmbin.Read(wasm); err == nil && r.IntN(2) == 0 {
		for _, s := range b.Sections() {
			if s.ID == 10 {
				from, to = s.Offset, s.Offset+len(s.Data)
			}
		}
	}
	interesting := []byte{0, 1, 0x40, 0x60, 0x63, 0x64, 0x69, 0x6f, 0x70, 0x7b, 0x7c, 0x7d, 0x7e, 0x7f, 0x80, 0xff, 0x1c, 0xd0, 0xd2, 0xfc, 0xfd, 0x0b, 0x02, 0x1b, 0x1a, 0x08, 0x0a, 0x12, 0x13, 0x1f, 3}
	for range 1 + r.IntN(3) {
		at := from + r.IntN(to-from)
		c := interesting[r.IntN(len(interesting))]
		if r.IntN(3) == 0 {
			c = byte(r.Uint32())
		}
		wasm[at] = c
	}
	return wasm
}

// everySpecModule returns all modules of the specification's scripts, including the invalid ones.
func everySpecModule(t *testing.T) map[string][]byte {
	modules := map[string][]byte{}
	for _, version := range []string{"v1", "v2", "exception-handling", "extended-const", "tail-call"} {
		files, _ := filepath.Glob(filepath.Join(specDir(t), version, "testdata", "*.wasm"))
		for _, file := range files {
			wasm, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			modules[version+"/"+filepath.Base(file)] = wasm
		}
	}
	if len(modules) < 5000 {
		t.Fatalf("got %d modules of the specification, want at least 5000", len(modules))
	}
	return modules
}

// FuzzDecoders does the same for generated modules.
func FuzzDecoders(f *testing.F) {
	s := newSecond(f)
	for _, wasm := range specModules(f, 60) {
		f.Add(wasm)
	}
	for i, x := range w.Spellings() {
		if i%20 == 0 {
			f.Add(spelledModule(x.Odd))
		}
	}
	f.Fuzz(func(t *testing.T, wasm []byte) { s.compare(t, "fuzzed", wasm) })
}
