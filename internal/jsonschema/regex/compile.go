package regex

import (
	"errors"
	"fmt"
	"math"

	"github.com/dlclark/regexp2/v2/syntax"
)

// Program is a compiled pattern. It is immutable and safe for concurrent use.
type Program struct {
	code     []instr
	regs     int  // registers of loops and groups
	anchored bool // matches only at the start
}

type op uint8

const (
	opMatch   op        = iota // end of the program or of an opLook
	opFail                     //
	opChar                     // one character
	opRun                      // min to max characters
	opSplit                    // x first, then y
	opJump                     // to x
	opSet                      // set register x to y
	opMark                     // set register x to the position
	opGroup                    // group x matched from the position in register y
	opForget                   // clear group x
	opRef                      // back reference to group x
	opAssert                   // assertion at the position
	opLook                     // lookaround over the code up to x
	opLoop                     // next iteration, see loop
	opBody                     // an iteration of a loop
	maxSource = 8 << 10        // bytes; see Compile
	noGroup   = -1             // a group without a match
)

// mode is the order in which a repetition tries its counts.
type mode uint8

const (
	greedy mode = iota
	lazy
	atomic // only the largest count
)

// look is the type of an opLook.
type look uint8

const (
	ahead look = iota // lookahead or lookbehind
	never             // negative
	keep              // atomic: consumes, and is not retried
)

type instr struct {
	op       op
	mode     mode
	look     look
	back     bool // right to left
	assert   syntax.NodeType
	options  syntax.RegexOptions // comparison options of an opRef and an opAssert
	char     class
	x, y     int
	min, max int
	empty    bool // of a loop with a body that may match the empty string
}

// class is a set of characters.
type class struct {
	set   *syntax.CharSet // nil: only r
	r     rune
	not   bool
	ascii [2]uint64
}

func (c *class) has(r rune) bool {
	switch {
	case c.set == nil:
		return (r == c.r) != c.not
	case r < 128:
		return c.ascii[r>>6]&(1<<(r&63)) != 0
	}
	return c.set.CharIn(r)
}

func setOf(s *syntax.CharSet) class {
	c := class{set: s}
	for r := range rune(128) {
		if s.CharIn(r) {
			c.ascii[r>>6] |= 1 << (r & 63)
		}
	}
	return c
}

// Compile compiles a pattern, with or without ECMAScript's u flag. Patterns over 8 KiB are refused.
func Compile(source string, unicode bool) (p *Program, err error) {
	defer func() {
		if fault := recover(); fault != nil { // a library panic on untrusted input
			p, err = nil, fmt.Errorf("%v", fault)
		}
	}()
	if len(source) > maxSource {
		return nil, errors.New("it is too long")
	}
	options := syntax.ECMAScript
	if unicode {
		options |= syntax.Unicode
	}
	tree, err := syntax.Parse(source, syntax.ParseOptions{RegexOptions: options})
	if err != nil {
		return nil, err
	}
	c := &compiler{groups: map[int]int{}, p: &Program{}}
	c.refs(tree.Root)
	c.p.anchored = beginsAnchored(tree.Root)
	if err := c.node(tree.Root); err != nil {
		return nil, err
	}
	c.emit(instr{op: opMatch})
	return c.p, nil
}

// compiler generates the program of a syntax tree.
type compiler struct {
	p      *Program
	groups map[int]int // the first of the two registers of each referenced group
}

// refs finds the referenced groups. The matches of others are not needed.
func (c *compiler) refs(n *syntax.RegexNode) {
	if _, known := c.groups[n.M]; n.T == syntax.NtRef && !known {
		c.groups[n.M] = c.register()
		c.register()
	}
	for _, child := range n.Children {
		c.refs(child)
	}
}

func (c *compiler) register() int {
	c.p.regs++
	return c.p.regs - 1
}

func (c *compiler) emit(i instr) (at int) {
	c.p.code = append(c.p.code, i)
	return len(c.p.code) - 1
}

func (c *compiler) here() int { return len(c.p.code) }

// node generates the code of a subtree.
func (c *compiler) node(n *syntax.RegexNode) error {
	switch n.T {
	case syntax.NtEmpty, syntax.NtUpdateBumpalong:
		return nil
	case syntax.NtNothing:
		c.emit(instr{op: opFail})
		return nil
	case syntax.NtConcatenate, syntax.NtGroup:
		for _, child := range n.Children {
			if err := c.node(child); err != nil {
				return err
			}
		}
		return nil
	case syntax.NtAlternate:
		return c.alternate(n)
	case syntax.NtLoop, syntax.NtLazyloop:
		return c.loop(n)
	case syntax.NtCapture:
		return c.group(n)
	case syntax.NtPosLook, syntax.NtNegLook, syntax.NtAtomic:
		return c.look(n)
	case syntax.NtRef:
		c.emit(instr{op: opRef, x: c.groups[n.M], back: behind(n), options: n.Options})
		return nil
	case syntax.NtResetCapture:
		if group, used := c.groups[n.M]; used {
			c.emit(instr{op: opForget, x: group})
		}
		return nil
	case syntax.NtBol, syntax.NtEol, syntax.NtBeginning, syntax.NtEndZ, syntax.NtEnd, syntax.NtECMABoundary, syntax.NtNonECMABoundary:
		c.emit(instr{op: opAssert, assert: n.T, options: n.Options})
		return nil
	}
	return c.chars(n)
}

// behind reports whether a part matches from right to left, as within a lookbehind.
func behind(n *syntax.RegexNode) bool { return n.Options&syntax.RightToLeft != 0 }

// chars generates characters and runs of one class.
func (c *compiler) chars(n *syntax.RegexNode) error {
	i := instr{op: opChar, back: behind(n), min: n.M, max: n.N, char: class{r: n.Ch}}
	switch n.T {
	case syntax.NtMulti:
		for at := range n.Str {
			if i.back {
				at = len(n.Str) - 1 - at
			}
			i.char.r = n.Str[at]
			c.emit(i)
		}
		return nil
	case syntax.NtOne, syntax.NtOneloop, syntax.NtOnelazy, syntax.NtOneloopatomic:
	case syntax.NtNotone, syntax.NtNotoneloop, syntax.NtNotonelazy, syntax.NtNotoneloopatomic:
		i.char.not = true
	case syntax.NtSet, syntax.NtSetloop, syntax.NtSetlazy, syntax.NtSetloopatomic:
		i.char = setOf(n.Set)
	default:
		return fmt.Errorf("a part of the kind %d is not known", n.T)
	}
	switch n.T {
	case syntax.NtOneloop, syntax.NtNotoneloop, syntax.NtSetloop:
		i.op, i.mode = opRun, greedy
	case syntax.NtOnelazy, syntax.NtNotonelazy, syntax.NtSetlazy:
		i.op, i.mode = opRun, lazy
	case syntax.NtOneloopatomic, syntax.NtNotoneloopatomic, syntax.NtSetloopatomic:
		i.op, i.mode = opRun, atomic
	}
	c.emit(i)
	return nil
}

func (c *compiler) alternate(n *syntax.RegexNode) error {
	var ends []int
	for i, child := range n.Children {
		split := -1
		if i < len(n.Children)-1 {
			split = c.emit(instr{op: opSplit, x: c.here() + 1})
		}
		if err := c.node(child); err != nil {
			return err
		}
		if split >= 0 {
			ends = append(ends, c.emit(instr{op: opJump}))
			c.p.code[split].y = c.here()
		}
	}
	for _, end := range ends {
		c.p.code[end].x = c.here()
	}
	return nil
}

// loop generates a repetition of more than characters. Without limits and without an empty body it needs no
// counter:
//
//	for +: jump to body, split body or end, body …, jump to split
//
// Otherwise:
//
//	set count 0, mark start, loop, body …, jump to loop
//
// Register x counts the iterations, and register x+1 has the start of the last one.
func (c *compiler) loop(n *syntax.RegexNode) error {
	if n.M <= 1 && n.N == math.MaxInt32 && !mayBeEmpty(n.Children[0]) {
		return c.star(n)
	}
	count := c.register()
	c.register()
	c.emit(instr{op: opSet, x: count})
	i := instr{op: opLoop, x: count, min: n.M, max: n.N, empty: mayBeEmpty(n.Children[0])}
	if n.T == syntax.NtLazyloop {
		i.mode = lazy
	}
	loop := c.emit(i)
	i.op = opBody
	c.emit(i)
	for _, child := range n.Children {
		if err := c.node(child); err != nil {
			return err
		}
	}
	c.emit(instr{op: opJump, x: loop})
	c.p.code[loop].y = c.here()
	return nil
}

// star generates a loop without a counter.
func (c *compiler) star(n *syntax.RegexNode) error {
	if n.M == 1 {
		c.emit(instr{op: opJump, x: c.here() + 2})
	}
	split := c.emit(instr{op: opSplit})
	if err := c.node(n.Children[0]); err != nil {
		return err
	}
	c.emit(instr{op: opJump, x: split})
	s := &c.p.code[split]
	if s.x, s.y = split+1, c.here(); n.T == syntax.NtLazyloop {
		s.x, s.y = s.y, s.x
	}
	return nil
}

// mayBeEmpty reports whether a part may match the empty string, or true if unknown.
func mayBeEmpty(n *syntax.RegexNode) bool {
	switch n.T {
	case syntax.NtOne, syntax.NtNotone, syntax.NtSet, syntax.NtMulti:
		return false
	case syntax.NtOneloop, syntax.NtNotoneloop, syntax.NtSetloop, syntax.NtOnelazy, syntax.NtNotonelazy, syntax.NtSetlazy,
		syntax.NtOneloopatomic, syntax.NtNotoneloopatomic, syntax.NtSetloopatomic:
		return n.M == 0
	case syntax.NtConcatenate, syntax.NtCapture, syntax.NtGroup, syntax.NtAtomic:
		for _, child := range n.Children {
			if !mayBeEmpty(child) {
				return false
			}
		}
	case syntax.NtAlternate:
		for _, child := range n.Children {
			if mayBeEmpty(child) {
				return true
			}
		}
		return false
	case syntax.NtLoop, syntax.NtLazyloop:
		return n.M == 0 || mayBeEmpty(n.Children[0])
	}
	return true
}

func (c *compiler) group(n *syntax.RegexNode) error {
	group, used := c.groups[n.M]
	if n.N != -1 {
		return errors.New("a group that takes another back is not known")
	}
	start := -1
	if used {
		start = c.register()
		c.emit(instr{op: opMark, x: start})
	}
	for _, child := range n.Children {
		if err := c.node(child); err != nil {
			return err
		}
	}
	if used {
		c.emit(instr{op: opGroup, x: group, y: start})
	}
	return nil
}

func (c *compiler) look(n *syntax.RegexNode) error {
	i := instr{op: opLook, look: ahead}
	switch n.T {
	case syntax.NtNegLook:
		i.look = never
	case syntax.NtAtomic:
		i.look = keep
	}
	at := c.emit(i)
	for _, child := range n.Children {
		if err := c.node(child); err != nil {
			return err
		}
	}
	c.emit(instr{op: opMatch})
	c.p.code[at].x = c.here()
	return nil
}

// beginsAnchored reports whether a pattern always begins with ^.
func beginsAnchored(n *syntax.RegexNode) bool {
	switch n.T {
	case syntax.NtBeginning:
		return true
	case syntax.NtConcatenate, syntax.NtCapture, syntax.NtGroup, syntax.NtAtomic:
		return len(n.Children) > 0 && beginsAnchored(n.Children[0])
	case syntax.NtAlternate:
		for _, child := range n.Children {
			if !beginsAnchored(child) {
				return false
			}
		}
		return len(n.Children) > 0
	}
	return false
}
