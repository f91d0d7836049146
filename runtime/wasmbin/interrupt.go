package wasmbin

import (
	"encoding/binary"
	"slices"
)

// What may happen between two points at which a guest can be stopped, in bytes of code that run.
const (
	// maxStride is some milliseconds.
	maxStride = 1 << 20
	// smallCall is what a call costs at most in a function that makes too many of them.
	smallCall = 1 << 10
	// bulkCost stands for an instruction whose time depends on its operands, up to the whole memory,
	// and for a call that leads nobody knows where: to the host, or through a table.
	bulkCost = 1 << 14
	// maxTotal is where adding up ends.
	maxTotal = 1 << 30
)

// Interruptible returns the module with a stop wherever a guest could run for long without one. The
// engine looks at the time at the head of each loop, and nowhere else: forty functions, each of which
// calls the next one twice, would run for hours. A stop is an empty loop, put at the start of such
// functions and before instructions that copy or call too much. Most modules need few, and some none:
// those are returned as they are. b must have passed Check.
func Interruptible(b *Binary) ([]byte, error) {
	s := stops{b: b, c: &checker{b: b, grown: make(map[uint32]bool)}}
	if b.code == nil {
		return b.wasm, nil
	}
	if err := s.read(); err != nil {
		return nil, err
	}
	for i := range s.bodies {
		s.visit(i)
	}
	return s.write(), nil
}

// stops finds where a module needs stops.
type stops struct {
	b      *Binary
	c      *checker
	bodies []body
}

// body is one function.
type body struct {
	code  []byte // with its locals
	first int    // where its instructions begin
	size  int
	// calls are the functions that it calls, by their number among those with a body.
	calls []uint32
	// bulk is where it does what may take long by itself.
	bulk []int
	// indirect says that it calls through a table, so that nobody knows which functions are above it.
	indirect bool
	// loops says that every call of it begins with a loop.
	loops bool

	state byte // of visit
	cost  int  // of one call, up to the first stop
	stop  bool // at its start
	dense bool // and before each of bulk
}

// read walks the code.
func (s *stops) read() error {
	r := s.b.reader(s.b.code)
	n := r.count(2)
	s.bodies = make([]body, n)
	for i := range s.bodies {
		code := r.bytes(r.u32())
		if r.err != nil {
			return r.err
		}
		s.bodies[i].code = code
		if err := s.walk(&s.bodies[i]); err != nil {
			return err
		}
	}
	return r.err
}

// walk notes what a function does.
func (s *stops) walk(f *body) error {
	r := &reader{b: f.code, what: "a function body"}
	for n := r.count(2); n > 0 && r.err == nil; n-- {
		r.u32()
		r.u8()
	}
	f.first, f.size = r.pos, len(f.code)
	straight := true // nothing before can have left the function, called or taken another way
	for !r.done() {
		at := r.pos
		op := r.u8()
		switch opcodes[op] {
		case index:
			r.u32()
		case twoIndex:
			r.u32()
			r.u32()
		case blockSig:
			f.loops = f.loops || op == 0x03 && straight
			straight = straight && op != 0x04
			if t := r.u8(); t < 0x40 || t >= 0x80 {
				r.pos--
				r.u32()
			}
		case branch:
			straight = false
			r.u32()
		case branches:
			straight = false
			for n := r.count(1); n >= 0 && r.err == nil; n-- {
				r.u32()
			}
		case call:
			straight = false
			f.call(r.u32(), s.b.imported, at)
		case indirect:
			straight, f.indirect = false, true
			f.bulk = append(f.bulk, at)
			r.u32()
			r.u32()
		default:
			if op == 0xfc && isBulk(f.code[r.pos:]) {
				f.bulk = append(f.bulk, at)
			}
			straight = straight && op != 0x0f
			s.c.immediate(r, op, at)
		}
	}
	slices.Sort(f.calls)
	return r.err
}

func (f *body) call(fn uint32, imported, at int) {
	if int(fn) < imported {
		f.bulk = append(f.bulk, at)
	} else {
		f.calls = append(f.calls, fn-uint32(imported))
	}
}

// isBulk tells whether what follows 0xfc fills or copies memory or tables, or grows a table.
func isBulk(code []byte) bool {
	op := (&reader{b: code}).u32()
	return op == 8 || op == 10 || op == 11 || op == 12 || op >= 14 && op != 16
}

// The states of a function while the calls are followed.
const (
	unseen = iota
	open
	done
)

// visit finds what a call of a function costs, its callees first. A call that leads back to a
// function that is open closes a cycle, which has a stop there.
func (s *stops) visit(i int) {
	f := &s.bodies[i]
	f.state = open
	for _, to := range f.calls {
		switch callee := &s.bodies[to]; callee.state {
		case unseen:
			s.visit(int(to))
		case open:
			callee.stop = true
		}
	}
	f.stop = f.stop || f.indirect
	if f.cost = s.total(f); f.cost > maxStride {
		for _, to := range f.calls {
			callee := &s.bodies[to]
			callee.stop = callee.stop || callee.cost > smallCall
		}
		f.stop, f.dense = true, true
		f.cost = s.total(f)
	}
	f.state = done
}

// total adds up what a call of a function costs.
func (s *stops) total(f *body) int {
	sum := f.size
	if !f.dense {
		sum += bulkCost * len(f.bulk)
	}
	for _, to := range f.calls {
		if callee := &s.bodies[to]; !callee.stop && !callee.loops {
			sum = min(sum+callee.cost, maxTotal)
		}
	}
	return sum
}

// places is where a function gets its stops, in order.
func (f *body) places() []int {
	var at []int
	if f.stop && !f.loops {
		at = append(at, f.first)
	}
	if f.dense {
		at = append(at, f.bulk...)
	}
	return at
}

// stop is an empty loop.
const stop = "\x03\x40\x0b"

// write puts the stops in.
func (s *stops) write() []byte {
	if !slices.ContainsFunc(s.bodies, func(f body) bool { return len(f.places()) > 0 }) {
		return s.b.wasm
	}
	code := binary.AppendUvarint(make([]byte, 0, s.b.code.end-s.b.code.body), uint64(len(s.bodies)))
	for i := range s.bodies {
		code = s.bodies[i].append(code)
	}
	wasm := s.b.wasm
	out := append(make([]byte, 0, len(wasm)+len(code)/4), wasm[:s.b.code.begin]...)
	out = append(out, sectionCode)
	out = binary.AppendUvarint(out, uint64(len(code)))
	out = append(out, code...)
	return append(out, wasm[s.b.code.end:]...)
}

func (f *body) append(out []byte) []byte {
	places := f.places()
	out = binary.AppendUvarint(out, uint64(len(f.code)+len(stop)*len(places)))
	from := 0
	for _, at := range places {
		out = append(out, f.code[from:at]...)
		out = append(out, stop...)
		from = at
	}
	return append(out, f.code[from:]...)
}
