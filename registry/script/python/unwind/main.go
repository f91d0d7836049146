// Command unwind makes a module return from frames that longjmp left: the part of setjmp that no compiler does without
// exception handling. It is a step of the build of the Python engine, and unwind.c describes the whole.
//
//	unwind IN.wasm OUT.wasm
//
// After each call that may jump it adds "if the flag is set, return". The flag is the i32 at the address that the exported
// function sp_unwinding_at returns. A function may jump if it calls emscripten_longjmp, calls a pointer, or calls a
// function that may jump. Functions named invoke_… catch the jump: they stay as they are.
package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "unwind:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: unwind IN.wasm OUT.wasm")
	}
	wasm, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	out, err := unwound(wasm)
	if err != nil {
		return err
	}
	return os.WriteFile(args[1], out, 0o644)
}

// unwound returns a module with the tests added, without custom sections.
func unwound(wasm []byte) (out []byte, err error) {
	defer func() {
		if e, ok := recover().(error); ok {
			out, err = nil, fmt.Errorf("a malformed module: %w", e)
		}
	}()
	m := readModule(wasm)
	flag, err := m.flag()
	if err != nil {
		return nil, err
	}
	jumps := m.jumping()
	if !slices.Contains(slices.Collect(maps.Values(m.names)), "emscripten_longjmp") {
		return nil, errors.New("no function has the name emscripten_longjmp: is it inlined, or are the names gone?")
	}
	out = append(out, wasm[:8]...)
	for _, s := range m.sections {
		switch s.id {
		case customSection:
			continue
		case exportSection:
			s.body = m.exportsWithout(flagFunction)
		case codeSection:
			s.body = m.code(jumps, flag)
		}
		out = binary.AppendUvarint(append(out, s.id), uint64(len(s.body)))
		out = append(out, s.body...)
	}
	return out, nil
}

// flagFunction is the export that returns the address of the flag.
const flagFunction = "sp_unwinding_at"

// flag returns the address of the flag: the constant that the function returns.
func (m *module) flag() (uint64, error) {
	for _, e := range m.exports {
		if e.name != flagFunction {
			continue
		}
		r := reader{m.function(e.index).body}
		if r.u() == 0 && r.byte() == opConst {
			return r.u(), nil // an address has no sign below 64 MiB, and its LEB128 is that of an unsigned number
		}
	}
	return 0, fmt.Errorf("no exported function %s returns a constant", flagFunction)
}

// jumping returns by function whether it may jump.
func (m *module) jumping() []bool {
	callers := make([][]int, m.imports+len(m.functions))
	jumps := make([]bool, len(callers))
	var work []int
	mark := func(i int) {
		if !jumps[i] && !strings.HasPrefix(m.names[i], "invoke_") {
			jumps[i] = true
			work = append(work, i)
		}
	}
	for n, f := range m.functions {
		i := m.imports + n
		if m.names[i] == "emscripten_longjmp" {
			mark(i)
		}
		walk(f.body, func(op byte, callee int, _ []byte) {
			if op == opCall {
				callers[callee] = append(callers[callee], i)
			} else if op == opCallIndirect {
				mark(i)
			}
		})
	}
	for len(work) > 0 {
		i := work[len(work)-1]
		work = work[:len(work)-1]
		for _, caller := range callers[i] {
			mark(caller)
		}
	}
	return jumps
}

// code returns the section of code with the tests.
func (m *module) code(jumps []bool, flag uint64) []byte {
	out := binary.AppendUvarint(nil, uint64(len(m.functions)))
	for n, f := range m.functions {
		body := f.body
		if jumps[m.imports+n] {
			body = withTests(f, m.types[f.typ], jumps, flag)
		}
		out = binary.AppendUvarint(out, uint64(len(body)))
		out = append(out, body...)
	}
	return out
}

// withTests returns the body of a function with a test after each call that may jump.
func withTests(f function, results []byte, jumps []bool, flag uint64) []byte {
	test := []byte{opConst, 0, 0x28, 2} // i32.const 0, i32.load align=4
	test = binary.AppendUvarint(test, flag)
	test = append(test, 0x04, 0x40) // if
	for _, t := range results {
		test = append(test, zero(t)...)
	}
	test = append(test, 0x0f, opEnd) // return, end
	var out []byte
	walk(f.body, func(op byte, callee int, raw []byte) {
		out = append(out, raw...)
		if op == opCallIndirect || op == opCall && jumps[callee] {
			out = append(out, test...)
		}
	})
	return out
}

// zero returns the instruction that pushes a zero of a type.
func zero(t byte) []byte {
	switch t {
	case 0x7f:
		return []byte{0x41, 0}
	case 0x7e:
		return []byte{0x42, 0}
	case 0x7d:
		return append([]byte{0x43}, make([]byte, 4)...)
	case 0x7c:
		return append([]byte{0x44}, make([]byte, 8)...)
	}
	panic(fmt.Errorf("a result of type %#x", t))
}
