package rewrite

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// dispatch is a function as Go's compiler writes it: parts of code in one loop. A table at the head of the loop jumps to
// the part that a local numbers, and all jumps of the function set that local and branch to the loop:
//
//	loop  block  block …  local.get P  br_table …  end part 0  end part 1 …  i32.const 7  local.set P  br loop
//
// A jump forward can branch to the end of the part's block instead, past the head and its fuel check: the code there
// belongs to the same turn of the loop, which is paid for.
//
// A jump back from part h to part b runs the parts from b to h and goes on at the next one, unless they jump elsewhere. A
// copy of these parts does the same in its place, and in the copy that jump is a turn of a loop of its own:
//
//	i32.const b  local.set P  loop  block …  part b  end … part h  end  br (to part h+1)
//
// So the values of such a loop do not meet those of the whole function at each turn, and a turn pays for its own code
// alone. The parts themselves stay, since a table may name them: Go returns into the middle of a loop when a goroutine
// continues.
type dispatch struct {
	body   []byte
	local  uint32   // P
	labels []uint32 // of the table, the default last
	parts  []part
	jumps  []jump // in the order of the code

	out []byte
	in  wasmbin.Instruction
}

// part is the range of a part in the function's body.
type part struct {
	begin, end int
	last       int // index of the last jump back to it, or -1
	// Of the parts up to this one, loops have a jump back to them, and kept are in no copy: they call a function outside of a
	// condition, that is not only where a pointer is nil, or have a loop of their own, as no part of Go has. They have so many
	// blocks.
	loops, kept, blocks int
}

// jump is the br of a jump from one part to another.
type jump struct {
	begin, end int // in the function's body
	from, to   int
	depth      int // number of blocks around it in its part
}

// Bounds of the loops of a function. The engine takes time that grows with the square of the number of blocks, of which
// they may add some to few, and few to many.
const (
	maxLoopBytes  = 2 << 10 // of one loop
	maxLoopBlocks = 32      // of all, and a blockShare of those that the function has
	blockShare    = 8
	maxJumpDepth  = 4 // of the blocks around a jump in its part, which the copy in their midst repeats
)

// direct returns the body of a function, whose code begins at first, with jumps past the table. It is valid until the next
// call.
func (d *dispatch) direct(body []byte, first int) []byte {
	if !d.read(body, first) || len(d.jumps) == 0 {
		return body
	}
	d.out = d.out[:0]
	from, blocks := 0, maxLoopBlocks+d.parts[len(d.parts)-1].blocks/blockShare
	for i := range d.jumps {
		j := &d.jumps[i]
		switch {
		case j.to > j.from:
			d.out = append(d.out, body[from:j.begin]...)
			d.out = binary.AppendUvarint(append(d.out, opBr), uint64(j.label()))
		case d.loops(j) && d.blocks(j) <= blocks:
			d.out = append(d.out, body[from:j.begin]...)
			d.loop(j)
			blocks -= d.blocks(j)
		default:
			continue
		}
		from = j.end
	}
	d.out = append(d.out, body[from:]...)
	return d.out
}

// label returns the label of the part that a jump forward leads to.
func (j *jump) label() uint32 { return uint32(j.depth + j.to - j.from - 1) }

// loops reports whether a jump back is replaced: that of an innermost loop, which is the last one to its part and has no
// jump back to a part between. So copies have no code in common. A loop that calls is left, since calls take more time
// than the jump, and so is one within or around others: the engine takes time that grows with the square of their nesting.
func (d *dispatch) loops(j *jump) bool {
	from, to := &d.parts[j.from], &d.parts[j.to]
	return &d.jumps[to.last] == j && j.depth <= maxJumpDepth && from.loops == to.loops && from.kept == d.before(j.to).kept &&
		from.end-to.begin <= maxLoopBytes && j.from+1 < len(d.parts)
}

// blocks returns the number of blocks that the loop for a jump back adds: itself, and those of its parts and between them.
func (d *dispatch) blocks(j *jump) int {
	return 1 + j.from - j.to + d.parts[j.from].blocks - d.before(j.to).blocks
}

// before returns the part before another, an empty one before the first.
func (d *dispatch) before(i int) part {
	if i == 0 {
		return part{}
	}
	return d.parts[i-1]
}

// read finds the parts and the jumps of a function whose first loop is a dispatch.
func (d *dispatch) read(body []byte, first int) bool {
	d.body, d.labels, d.parts, d.jumps = body, d.labels[:0], d.parts[:0], d.jumps[:0]
	code := wasmbin.NewDecoder(body, 0, "a function body")
	code.Bytes(uint32(first))
	blocks, ok := d.head(code)
	if !ok {
		return false
	}
	at, depth := -1, 0 // the current part, and the blocks that it has opened
	p := part{last: -1}
	var to target
	for at < blocks && code.Next(&d.in) {
		switch in := &d.in; in.Op {
		case opCall, opCallIndirect:
			if depth == 0 {
				p.kept = 1
			}
		case opLoop:
			p.kept = 1
			fallthrough
		case opBlock, opIf:
			depth++
			p.blocks++
		case opEnd:
			if depth > 0 {
				depth--
				break
			}
			if at >= 0 {
				p.end = in.Begin
				d.parts = append(d.parts, p)
			}
			at, p = at+1, part{begin: in.End, last: -1}
		case opBr:
			if part, ok := to.of(d); ok && int(in.X) == depth+blocks-1-at && part < blocks {
				d.jumps = append(d.jumps, jump{in.Begin, in.End, at, part, depth})
			}
		}
		to.follow(&d.in)
	}
	if at < blocks {
		return false
	}
	d.count()
	return true
}

// count completes the parts after all jumps are known.
func (d *dispatch) count() {
	for i, j := range d.jumps {
		if j.to <= j.from {
			d.parts[j.to].last = i
		}
	}
	for i := range d.parts {
		p, before := &d.parts[i], d.before(i)
		p.loops, p.kept, p.blocks = before.loops, p.kept+before.kept, p.blocks+before.blocks
		if p.last >= 0 {
			p.loops++
		}
	}
}

// head reads the code up to the table, and returns the number of blocks between.
func (d *dispatch) head(code *wasmbin.Decoder) (blocks int, ok bool) {
	for code.Next(&d.in) && d.in.Op != opLoop {
	}
	for d.in.Op == opLoop || d.in.Op == opBlock {
		if d.in.Typed || d.in.Type != wasmbin.NoResult || !code.Next(&d.in) || d.in.Op == opLoop {
			return 0, false
		}
		blocks++
	}
	d.local = d.in.X
	if d.in.Op != opLocalGet || !code.Next(&d.in) || d.in.Op != opBrTable {
		return 0, false
	}
	blocks-- // the loop
	d.labels = append(d.labels, d.in.Labels...)
	return blocks, blocks > 0
}

// target follows the instructions that set a local to the number of a part.
type target struct {
	number uint32
	local  uint32
	last   byte // the last instruction, if it is one of these
}

func (t *target) follow(in *wasmbin.Instruction) {
	switch {
	case in.Op == opI32Const:
		t.number, t.last = uint32(in.N), opI32Const
	case in.Op == opLocalSet && t.last == opI32Const:
		t.local, t.last = in.X, opLocalSet
	default:
		t.last = 0
	}
}

// of returns the part to which the table jumps, if the last instructions have set its local.
func (t *target) of(d *dispatch) (part int, ok bool) {
	if t.last != opLocalSet || t.local != d.local {
		return 0, false
	}
	return int(d.labels[min(int64(t.number), int64(len(d.labels)-1))]), true
}

// loop appends the loop that replaces a jump back.
func (d *dispatch) loop(j *jump) {
	d.out = append(d.out, opLoop, typeEmpty)
	for range j.from - j.to {
		d.out = append(d.out, opBlock, typeEmpty)
	}
	for i := j.to; i <= j.from; i++ {
		if i > j.to {
			d.out = append(d.out, opEnd)
		}
		d.part(i, j)
	}
	d.out = binary.AppendUvarint(append(d.out, opEnd, opBr), uint64(j.depth))
}

// part appends a part in the loop that replaces a jump back.
func (d *dispatch) part(i int, back *jump) {
	code := wasmbin.NewDecoder(d.body[:d.parts[i].end], 0, "a function body")
	code.Bytes(uint32(d.parts[i].begin))
	blocks := uint32(back.from - i) // that the loop has opened
	// label is a label as seen from the copy: the loop and the blocks around the jump are in between.
	label := func(l uint32) uint32 {
		if l >= blocks {
			l += 1 + uint32(back.depth)
		}
		return l
	}
	for !code.Done() && code.Next(&d.in) {
		in := &d.in
		switch in.Op {
		case opBlock, opLoop, opIf:
			blocks++
		case opEnd:
			blocks--
		case opBr:
			switch j := d.jumpAt(in.Begin); {
			case j == nil || j.to <= j.from && j.to != back.to:
				in.X = label(in.X)
			case j.to > j.from:
				in.X = label(j.label())
			default:
				in.X = blocks
			}
		case opBrIf:
			in.X = label(in.X)
		case opBrTable:
			for l := range in.Labels {
				in.Labels[l] = label(in.Labels[l])
			}
		}
		d.out = in.Append(d.out)
	}
}

// jumpAt returns the jump at a place in the function's body, nil if there is none.
func (d *dispatch) jumpAt(begin int) *jump {
	i, ok := slices.BinarySearchFunc(d.jumps, begin, func(j jump, begin int) int { return cmp.Compare(j.begin, begin) })
	if !ok {
		return nil
	}
	return &d.jumps[i]
}
