package regex

import (
	"unicode/utf8"

	"github.com/dlclark/regexp2/v2/syntax"
)

// maxPending is the maximum size of the backtracking stack, at 24 bytes per entry.
const maxPending = 2 << 20

// runShare is the number of characters in a run, or of skipped start positions, per step.
const runShare = 8

// pending is a backtracking entry: an alternative to try or a register to restore.
type pending struct {
	kind uint8
	at   int32 // instruction; a register for undo
	a, b int
}

const (
	choice  uint8 = iota // continue at an instruction, from position a
	undo                 // restore a register to a
	shorter              // a greedy run ends at a, and may end as early as b
	longer               // a lazy run has reached a with b characters, and takes one more
)

// matcher runs a program over a text.
type matcher struct {
	code  []instr
	text  []rune
	regs  []int
	stack []pending
	left  int // remaining steps
}

// Match reports whether a text contains a match, and the number of steps. The error is ErrSteps if they exceed
// bound.
func (p *Program) Match(text []byte, bound int) (ok bool, steps int, err error) {
	m := &matcher{code: p.code, text: make([]rune, 0, utf8.RuneCount(text)), regs: make([]int, p.regs), left: bound}
	for _, r := range string(text) {
		m.text = append(m.text, r)
	}
	ok = m.search(p.anchored)
	if m.left < 0 {
		return false, bound, ErrSteps
	}
	return ok, bound - m.left, nil
}

// search tries every start position.
func (m *matcher) search(anchored bool) bool {
	for i := range m.regs {
		m.regs[i] = noGroup
	}
	for start := 0; start <= len(m.text); start++ { // a failed match has restored all registers
		if start = m.possible(start); start > len(m.text) {
			return false
		}
		if _, ok := m.run(0, start); ok || anchored || m.left < 0 {
			return ok && m.left >= 0
		}
	}
	return false
}

// possible returns the next start position that the first character allows.
func (m *matcher) possible(start int) int {
	first := &m.code[0]
	if first.op != opChar || first.back {
		return start
	}
	at := start
	for at < len(m.text) && !first.char.has(m.text[at]) {
		at++
	}
	m.left -= (at - start) / runShare
	if at == len(m.text) {
		return at + 1
	}
	return at
}

// set sets a register, until backtracking restores it.
func (m *matcher) set(register, value int) {
	m.push(pending{undo, int32(register), m.regs[register], 0})
	m.regs[register] = value
}

func (m *matcher) push(p pending) {
	if len(m.stack) >= maxPending {
		m.left = -1
		return
	}
	m.stack = append(m.stack, p)
}

// run executes the program up to the next opMatch outside an opLook started within it. If it matches, its
// backtracking entries remain on the stack.
func (m *matcher) run(pc, pos int) (end int, ok bool) {
	base := len(m.stack)
	for {
		if m.left--; m.left < 0 {
			return 0, false
		}
		i := &m.code[pc]
		if i.op == opMatch {
			return pos, true
		}
		next, at, ok := m.step(i, pc, pos)
		if !ok {
			if next, at, ok = m.back(base); !ok {
				return 0, false
			}
		}
		pc, pos = next, at
	}
}

// step executes one instruction.
func (m *matcher) step(i *instr, pc, pos int) (next, at int, ok bool) {
	switch i.op {
	case opChar:
		at, ok = m.char(i, pos)
		return pc + 1, at, ok
	case opRun:
		at, ok = m.runs(i, pc, pos)
		return pc + 1, at, ok
	case opSplit:
		m.push(pending{choice, int32(i.y), pos, 0})
		return i.x, pos, true
	case opJump:
		return i.x, pos, true
	case opSet:
		m.set(i.x, i.y)
	case opMark:
		m.set(i.x, pos)
	case opGroup:
		m.set(i.x, min(pos, m.regs[i.y]))
		m.set(i.x+1, max(pos, m.regs[i.y]))
	case opForget:
		m.set(i.x, noGroup)
	case opRef:
		at, ok = m.again(i, pos)
		return pc + 1, at, ok
	case opAssert:
		return pc + 1, pos, m.holds(i, pos)
	case opLook:
		at, ok = m.looks(i, pc, pos)
		return i.x, at, ok
	case opLoop:
		return m.loop(i, pc, pos)
	case opBody:
		m.set(i.x, m.regs[i.x]+1)
		if i.empty {
			m.set(i.x+1, pos)
		}
	default:
		return 0, 0, false
	}
	return pc + 1, pos, true
}

// back returns to the last backtracking entry above base.
func (m *matcher) back(base int) (pc, pos int, ok bool) {
	for len(m.stack) > base {
		if m.left--; m.left < 0 {
			return 0, 0, false
		}
		p := m.stack[len(m.stack)-1]
		m.stack = m.stack[:len(m.stack)-1]
		i := &m.code[0]
		if p.kind != undo {
			i = &m.code[p.at]
		}
		switch p.kind {
		case choice:
			return int(p.at), p.a, true
		case undo:
			m.regs[p.at] = p.a
		case shorter:
			if p.a != p.b {
				less := p.a - 1
				if i.back {
					less = p.a + 1
				}
				m.push(pending{shorter, p.at, less, p.b})
			}
			return int(p.at) + 1, p.a, true
		case longer:
			if at, ok := m.char(i, p.a); ok {
				if p.b+1 < i.max {
					m.push(pending{longer, p.at, at, p.b + 1})
				}
				return int(p.at) + 1, at, true
			}
		}
	}
	return 0, 0, false
}

// char matches one character.
func (m *matcher) char(i *instr, pos int) (at int, ok bool) {
	if i.back {
		return pos - 1, pos > 0 && i.char.has(m.text[pos-1])
	}
	return pos + 1, pos < len(m.text) && i.char.has(m.text[pos])
}

// runs matches a run of characters of one class.
func (m *matcher) runs(i *instr, pc, pos int) (at int, ok bool) {
	limit := i.max
	if i.mode == lazy {
		limit = i.min
	}
	n, least := 0, pos
	for at = pos; n < limit; n++ {
		if n == i.min {
			least = at
		}
		next, ok := m.char(i, at)
		if !ok {
			break
		}
		at = next
	}
	m.left -= n / runShare
	switch {
	case n < i.min:
		return 0, false
	case i.mode == lazy && n < i.max:
		m.push(pending{longer, int32(pc), at, n})
	case i.mode == greedy && n > i.min:
		less := at - 1
		if i.back {
			less = at + 1
		}
		m.push(pending{shorter, int32(pc), less, least})
	}
	return at, true
}

// again matches the text of a group again, or the empty string for a group without a match.
func (m *matcher) again(i *instr, pos int) (at int, ok bool) {
	from, to := m.regs[i.x], m.regs[i.x+1]
	if from == noGroup {
		return pos, true
	}
	n := to - from
	m.left -= n / runShare
	begin, at := pos, pos+n
	if i.back {
		begin, at = pos-n, pos-n
	}
	if begin < 0 || begin+n > len(m.text) {
		return 0, false
	}
	for k := range n {
		if a, b := m.text[begin+k], m.text[from+k]; a != b && (i.options&syntax.IgnoreCase == 0 || !syntax.IsCaseEquivalent(a, b, i.options)) {
			return 0, false
		}
	}
	return at, true
}

// loop begins an iteration or ends the loop.
func (m *matcher) loop(i *instr, pc, pos int) (next, at int, ok bool) {
	count := m.regs[i.x]
	if i.empty && count > 0 && m.regs[i.x+1] == pos { // an empty iteration would repeat forever
		if count > i.min {
			return 0, 0, false
		}
		return i.y, pos, true
	}
	switch {
	case count < i.min:
		return pc + 1, pos, true
	case count >= i.max:
		return i.y, pos, true
	case i.mode == lazy:
		m.push(pending{choice, int32(pc) + 1, pos, 0})
		return i.y, pos, true
	}
	m.push(pending{choice, int32(i.y), pos, 0})
	return pc + 1, pos, true
}

// looks matches a lookaround or atomic part. Its backtracking entries are dropped.
func (m *matcher) looks(i *instr, pc, pos int) (at int, ok bool) {
	base := len(m.stack)
	end, found := m.run(pc+1, pos)
	m.left -= (len(m.stack) - base) / runShare
	if i.look == never {
		for len(m.stack) > base {
			if p := m.stack[len(m.stack)-1]; p.kind == undo {
				m.regs[p.at] = p.a
			}
			m.stack = m.stack[:len(m.stack)-1]
		}
		return pos, !found && m.left >= 0
	}
	kept := m.stack[:base]
	for _, p := range m.stack[base:] {
		if p.kind == undo {
			kept = append(kept, p)
		}
	}
	m.stack = kept
	if i.look == keep {
		return end, found
	}
	return pos, found
}

// holds reports whether an assertion holds at a position.
func (m *matcher) holds(i *instr, pos int) bool {
	switch i.assert {
	case syntax.NtBeginning:
		return pos == 0
	case syntax.NtEnd, syntax.NtEndZ:
		return pos == len(m.text)
	case syntax.NtBol:
		return pos == 0 || syntax.IsECMALineTerminator(m.text[pos-1])
	case syntax.NtEol:
		return pos == len(m.text) || syntax.IsECMALineTerminator(m.text[pos])
	}
	before := pos > 0 && syntax.IsECMAWordCharWithOptions(i.options, m.text[pos-1])
	behind := pos < len(m.text) && syntax.IsECMAWordCharWithOptions(i.options, m.text[pos])
	return (before != behind) == (i.assert == syntax.NtECMABoundary)
}
