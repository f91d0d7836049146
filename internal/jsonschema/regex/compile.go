package regex

import (
	"errors"
	"fmt"
	"math"

	"github.com/dlclark/regexp2/v2/syntax"
)

// Program is a compiled pattern. It does not change, and any number of goroutines may use it.
type Program struct {
	code     []instr
	regs     int  // registers: of loops and groups
	anchored bool // matches at the beginning or nowhere
}

type op uint8

const (
	opMatch   op        = iota // of the whole, or of the part that an opLook began
	opFail                     //
	opChar                     // one character
	opRun                      // from min to max characters
	opSplit                    // x first, then y
	opJump                     // to x
	opSet                      // register x becomes y
	opMark                     // register x becomes the position
	opGroup                    // group x was matched from the position in register y on
	opForget                   // group x has matched nothing
	opRef                      // what group x has matched, once more
	opAssert                   // what holds at a position
	opLook                     // what is up to x, ahead or behind, without moving
	opLoop                     // begins another iteration, see loop
	opBody                     // an iteration of a loop
	maxSource = 8 << 10        // bytes; see Compile
	noGroup   = -1             // a group that matched nothing
)

// mode is how a repetition tries its numbers.
type mode uint8

const (
	greedy mode = iota
	lazy
	atomic // the greatest number alone
)

// look is what an opLook does.
type look uint8

const (
	ahead look = iota // or behind
	never             // the negation
	keep              // moves, and is not tried again
)

type instr struct {
	op       op
	mode     mode
	look     look
	back     bool // goes to the left
	assert   syntax.NodeType
	options  syntax.RegexOptions // of an opRef and an opAssert: in which mode characters are compared
	char     class
	x, y     int
	min, max int
	empty    bool // of a loop: its body may match nothing
}

// class is which characters fit.
type class struct {
	set   *syntax.CharSet // nil: r alone
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

// Compile reads a pattern, with or without ECMAScript's u flag. Patterns over 8 KiB are refused.
func Compile(source string, unicode bool) (p *Program, err error) {
	defer func() {
		if fault := recover(); fault != nil { // the library's, on a stranger's input
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

// compiler makes a program of a tree.
type compiler struct {
	p      *Program
	groups map[int]int // the first of the two registers of each group that is referred to
}

// refs finds the groups that are referred to: of the others it does not matter what they match.
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

// node adds the code of a tree.
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

// behind reports whether a part is matched from the right to the left, as all of a lookbehind is.
func behind(n *syntax.RegexNode) bool { return n.Options&syntax.RightToLeft != 0 }

// chars adds characters, and runs of one class.
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

// loop adds a repetition of more than characters. One that has neither a bound nor an empty body counts nothing:
//
//	for +: jump to body, split body or end, body …, jump to split
//
// and others are:
//
//	set count 0, mark start, loop, body …, jump to loop
//
// The register x counts the iterations, and the one behind it has the position where the last of them began.
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

// star is a loop that counts nothing.
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

// mayBeEmpty reports whether a part could match nothing; true if that is not plain.
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

// beginsAnchored reports whether a pattern begins with ^ in every case.
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
