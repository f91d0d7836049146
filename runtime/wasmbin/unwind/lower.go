package unwind

import (
	"encoding/binary"
	"fmt"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// Lower returns the module without exceptions. A module that has none is returned as it is. The errors are those of
// package wasmbin.
func Lower(m *wasmbin.Checked) (*wasmbin.Checked, error) {
	if !m.Unwinds() {
		return m, nil
	}
	l := &lowering{m: m, types: make(map[string]uint32), wrapperOf: make(map[uint32]uint32)}
	l.survey()
	l.assignSlots()
	if l.err != nil {
		return nil, l.err
	}
	wasm := l.write()
	if l.err != nil {
		return nil, l.err
	}
	out, err := m.Again(wasm)
	if err == nil && out.Unwinds() {
		err = fmt.Errorf("%w: an exception reference in this place", wasmbin.ErrUnsupported)
	}
	return out, err
}

// lowering is the state of compiling the exceptions of one module. err is the first error.
type lowering struct {
	m   *wasmbin.Checked
	err error

	refers bool   // it has exception references
	throws []bool // functions and, after them, types, as callGraph numbers them
	calls  callGraph

	exception uint32   // the global of the exception in flight
	slots     []byte   // types of the globals with its values, which follow that global
	tags      [][]slot // the values of each tag

	types     map[string]uint32 // added types
	added     []byte            // their encoding
	wrappers  []uint32          // exported functions that may throw
	wrapperOf map[uint32]uint32 // the functions that are exported in their place
}

// slot is the global of a value, and its type in the tag.
type slot struct {
	global uint32
	typ    byte
}

// note records the first error.
func (l *lowering) note(err error) {
	if l.err == nil {
		l.err = err
	}
}

// unsupported records that the module has something of exceptions that is not compiled.
func (l *lowering) unsupported(format string, args ...any) {
	l.note(fmt.Errorf("%w: %s", wasmbin.ErrUnsupported, fmt.Sprintf(format, args...)))
}

// functions returns the number of functions, including imported ones.
func (l *lowering) functions() int { return l.m.ImportedFuncs() + l.m.Funcs }

// mayThrow reports whether an exception may leave a function. Host functions throw none.
func (l *lowering) mayThrow(fn uint32) bool {
	return uint64(fn) < uint64(l.functions()) && l.throws[fn]
}

// typeThrows reports whether an exception may leave a function of this type.
func (l *lowering) typeThrows(typ uint32) bool {
	return uint64(typ) < uint64(l.m.Types()) && l.throws[l.calls.typeNode(typ)]
}

// maxValues bounds the values of a tag. Compilers use one.
const maxValues = 16

// assignSlots gives the values of each tag their globals: the first value of a type has the first global of that type,
// in every tag. With references, all tags share one global of 32 bits.
func (l *lowering) assignSlots() {
	if l.refers {
		l.slots = []byte{typeI32}
	}
	for i, typ := range l.m.Tags() {
		params, _, _ := l.m.Signature(typ)
		taken := make(map[byte]int)
		var values []slot
		for _, t := range params {
			if len(params) > maxValues {
				l.note(fmt.Errorf("%w: tag %d has %d values, at most %d are allowed", wasmbin.ErrLimit, i, len(params), maxValues))
				return
			}
			if t < typeV128 {
				l.unsupported("tag %d, which has a value of type %#x", i, t)
			}
			if l.refers && (len(params) > 1 || t != typeI32 && t != typeF32) {
				l.unsupported("tag %d, whose values have more than 32 bits, in a module with exception references", i)
			}
			values = append(values, slot{l.slot(t, taken), t})
		}
		l.tags = append(l.tags, values)
	}
}

// slot returns the global of the next value of a type.
func (l *lowering) slot(t byte, taken map[byte]int) uint32 {
	if l.refers {
		return l.exception + 1
	}
	n := taken[t]
	taken[t]++
	for i, s := range l.slots {
		if s != t {
			continue
		}
		if n == 0 {
			return l.exception + 1 + uint32(i)
		}
		n--
	}
	l.slots = append(l.slots, t)
	return l.exception + uint32(len(l.slots))
}

// typeIndex returns the index of a function type, and adds the type if it is new.
func (l *lowering) typeIndex(params, results []byte) uint32 {
	key := string(params) + ">" + string(results)
	typ, ok := l.types[key]
	if !ok {
		typ = uint32(l.m.Types() + len(l.types))
		l.types[key] = typ
		l.added = wasmbin.AppendBytes(wasmbin.AppendBytes(append(l.added, typeFunc), plainTypes(params)), plainTypes(results))
	}
	return typ
}

// plain returns the type that represents a value type.
func plain(t byte) byte {
	if t == wasmbin.ExnRef {
		return typeI64
	}
	return t
}

// plainTypes is plain for a list.
func plainTypes(types []byte) []byte {
	out := make([]byte, len(types))
	for i, t := range types {
		out[i] = plain(t)
	}
	return out
}

func appendU32(out []byte, n uint32) []byte { return binary.AppendUvarint(out, uint64(n)) }
