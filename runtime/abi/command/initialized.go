package command

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/abi/native"
)

// A program of Go whose arguments differ between calls can start once up to its main function:
//
//	runtime, initialization of all packages │ main function, with the arguments of a call
//	             the image                  │ each call
//
// The guest tells where its main function begins: by GODEBUG=inittrace=1 its runtime reads the clock after the
// initialization of each package, and writes a line. A first run counts the readings up to the last such line, and a second
// one is suspended in that reading. Until then the guest has made-up arguments. It is left in that state only if all that
// it keeps of them are the lists of os.Args and of the runtime, which each call replaces.

// traceVariable makes the runtime of Go trace the initialization of packages.
const traceVariable = "GODEBUG=inittrace=1"

// madeUp are the arguments during the initialization, behind the program's name.
var madeUp = [...]string{"sallyport: the first argument of each call takes this place", "sallyport: and the second one this"}

// Go's linker leaves this part of the memory to wasm_exec.js, a host that is not WASI.
const argsStart, argsEnd = 4096, 4096 + 8192

const (
	wordSize   = 8            // of Go on WebAssembly
	stringSize = 2 * wordSize // pointer and length
	sliceSize  = 3 * wordSize // pointer, length and capacity
	startStack = 8192         // the stack that the runtime starts on, in bytes
)

// initialized is the note of an instance whose program has initialized its packages.
type initialized struct {
	name  [stringSize]byte // the program's name, as Go's string
	lists []uint32         // the addresses of the slices with the arguments
}

// The reasons why a program has no common start before its main function.
var (
	errNoTrace   = errors.New("its runtime does not tell where its main function begins")
	errKeepsArgs = errors.New("its memory refers to its arguments outside of os.Args when its packages are initialized")
	errTooLarge  = errors.New("its memory is too large to be searched for its arguments")
	errSpeaksOut = runtime.AskErrorf(runtime.KindDenied, "it writes while it initializes its packages")
)

// traces are the counts of clock readings before the main functions of tools.
type traces struct {
	mu     sync.Mutex
	counts map[string]int
}

func (t *traces) of(tool string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.counts[tool]
}

func (t *traces) set(tool string, count int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = map[string]int{}
	}
	t.counts[tool] = count
}

// trace is the standard error of a program that initializes its packages.
type trace struct {
	until    int // the reading of the clock that suspends the guest; 0 for none
	readings int
	last     int // the reading before the last line
	line     []byte
}

// tick is called before each reading of the clock.
func (t *trace) tick() {
	if t.readings++; t.readings == t.until {
		runtime.Suspend()
	}
}

// maxTraceLine limits a line of a trace, which has the path of a package.
const maxTraceLine = 4 << 10

// Write takes the lines of the trace. Others end the run.
func (t *trace) Write(p []byte) (int, error) {
	t.line = append(t.line, p...)
	for {
		line, rest, whole := bytes.Cut(t.line, []byte("\n"))
		known := bytes.HasPrefix(line, []byte("init "))
		if !whole {
			if len(t.line) > maxTraceLine || len(line) >= len("init ") && !known {
				runtime.Abort(errSpeaksOut)
			}
			return len(p), nil
		}
		if !known || !bytes.HasSuffix(line, []byte(" allocs")) {
			runtime.Abort(errSpeaksOut)
		}
		t.last, t.line = t.readings, rest
	}
}

// initialize runs the program of a tool until its packages are initialized. The first run finds out where that is.
func (p *Program) initialize(ctx context.Context, in *runtime.Instance, t *tool) (json.RawMessage, error) {
	gate, ok := runtime.GateFrom(ctx).(Launcher)
	switch {
	case !ok:
		return nil, errors.New("the gate cannot run programs")
	case !p.initializes:
		return nil, refused(errNotGo)
	}
	l := &line{given: t.read(nil)}
	if err := l.add("", p.name); err != nil {
		return nil, err
	}
	command, err := l.with(t.env)
	if err != nil {
		return nil, err
	}
	tr := &trace{until: p.traces.of(t.name)}
	command.Args = append(command.Args, madeUp[:]...)
	command.Env = append(command.Env, traceVariable)
	command.Clock = tr.tick
	gate.Launch(command, nil, silent{}, tr)
	defer native.Attach(in)()
	if err := in.Check(start, nil, nil); err != nil {
		return nil, err
	}
	var before []byte
	if tr.until > 0 {
		if in.Memory().Size() > maxSearched {
			return nil, refused(errTooLarge)
		}
		all, _ := in.Memory().Read(0, in.Memory().Size())
		before = bytes.Clone(all)
	}
	_, err = in.Call(ctx, start)
	switch {
	case ctx.Err() != nil:
		return nil, err
	case tr.until > 0 && errors.Is(err, runtime.ErrSuspended):
		dead := []stretch{{p.stack - startStack, p.stack}}
		if from, to, ok := in.Unused(); ok {
			dead = append(dead, stretch{from, to})
		}
		found, err := locate(in.Memory(), before, dead)
		if err != nil {
			return nil, refused(err)
		}
		in.Note(found)
		return json.RawMessage("null"), nil
	case tr.until > 0 || tr.last == 0:
		return nil, refused(errNoTrace)
	}
	p.traces.set(t.name, tr.last) // however the main function ended
	return nil, runtime.ErrAgain
}

// The copies of an argument and of the variable of the trace that a guest may have, and its lists of arguments: those that
// WASI gave, and those of the runtime and package os. Lists of variables are copied more often.
const maxCopies, maxVariables, maxLists = 2, 8, 2

const (
	// maxSearched bounds the memory that is copied and searched, in bytes: a fifth of a second or so.
	maxSearched = 64 << 20
	// maxReferences bounds the references to one thing. A guest has a few, and could fill its memory with them.
	maxReferences = 64
)

// stretch is a part of the memory, from an address to another one.
type stretch struct{ from, to uint32 }

// found is the search for the arguments in the memory of a guest.
type found struct {
	all, before []byte                // the memory, and as it was before the start
	dead        []stretch             // of which nothing is in use
	copies      [len(madeUp)][]uint64 // of the made-up arguments
	kept        map[int]bool          // the words that the lists have
	many        bool                  // there are over maxReferences to something
}

// locate finds the lists of arguments in the memory of a guest, which was before when the guest started. It has no
// reference to the arguments but in these lists and in its dead stretches, and no copy of one.
func locate(m runtime.Memory, before []byte, dead []stretch) (*initialized, error) {
	if m.Size() > maxSearched {
		return nil, errTooLarge
	}
	all, _ := m.Read(0, m.Size())
	if free, ok := m.Read(argsStart, argsEnd-argsStart); !ok || !bytes.Equal(free, make([]byte, len(free))) {
		return nil, errNoTrace
	}
	f := &found{all: all, before: before, dead: dead, kept: map[int]bool{}}
	variables := places(all, traceVariable)
	for i, text := range madeUp {
		f.copies[i] = places(all, text)
	}
	if len(f.copies[0]) > maxCopies || len(f.copies[1]) > maxCopies || len(variables) > maxVariables {
		return nil, errKeepsArgs
	}
	lists := f.lists()
	if len(lists) > maxLists {
		return nil, errKeepsArgs
	}
	note := &initialized{}
	for _, list := range lists {
		copy(note.name[:], all[list:])
		slices := f.slicesOf(list)
		if len(slices) != 1 {
			return nil, errKeepsArgs
		}
		note.lists = append(note.lists, uint32(slices[0]))
	}
	switch {
	case len(lists) == 0:
		return nil, errNoTrace
	case f.elsewhere(lists):
		return nil, errKeepsArgs
	}
	traces := f.references(equal(variables))
	if f.many {
		return nil, errKeepsArgs
	}
	for _, at := range traces {
		if f.word(at+wordSize) == uint64(len(traceVariable)) {
			m.Write(uint32(at), make([]byte, stringSize)) // as os.Unsetenv leaves it
		}
	}
	return note, nil
}

// lists returns the addresses of the lists of strings that are the made-up arguments behind another string.
func (f *found) lists() (lists []int) {
	for _, at := range f.references(equal(f.copies[0])) {
		list := at - stringSize
		if list < 0 || f.word(at+wordSize) != uint64(len(madeUp[0])) ||
			!slices.Contains(f.copies[1], f.word(at+stringSize)) || f.word(at+stringSize+wordSize) != uint64(len(madeUp[1])) {
			continue
		}
		lists = append(lists, list)
		f.kept[at], f.kept[at+stringSize] = true, true
	}
	return lists
}

// slicesOf returns the addresses of the slices of a list.
func (f *found) slicesOf(list int) (slices []int) {
	for _, at := range f.references(func(to uint64) bool { return to == uint64(list) }) {
		if n := uint64(1 + len(madeUp)); f.word(at+wordSize) == n && f.word(at+stringSize) == n {
			slices = append(slices, at)
			f.kept[at] = true
		}
	}
	return slices
}

// elsewhere reports whether the guest has other references to the lists or their arguments, or copies of these.
func (f *found) elsewhere(lists []int) bool {
	for i, text := range madeUp {
		for _, at := range f.references(func(to uint64) bool {
			return slices.ContainsFunc(f.copies[i], func(c uint64) bool { return to >= c && to < c+uint64(len(text)) })
		}) {
			if !f.kept[at] {
				return true
			}
		}
	}
	for _, at := range f.references(func(to uint64) bool {
		return slices.ContainsFunc(lists, func(l int) bool { return to >= uint64(l) && to < uint64(l+(1+len(madeUp))*stringSize) })
	}) {
		if !f.kept[at] {
			return true
		}
	}
	return false
}

// references returns the addresses of the words that the guest has written and that refer to something, up to
// maxReferences.
func (f *found) references(to func(uint64) bool) (at []int) {
	for a := 0; a+wordSize <= len(f.all); a += wordSize {
		w := f.word(a)
		switch {
		case w == 0 || !to(w):
		case slices.ContainsFunc(f.dead, func(s stretch) bool { return a >= int(s.from) && a < int(s.to) }):
		case a+wordSize <= len(f.before) && w == le.Uint64(f.before[a:]): // an equal number in a table
		case f.isSpan(a):
		case len(at) == maxReferences:
			f.many = true
			return at
		default:
			at = append(at, a)
		}
	}
	return at
}

// isSpan reports whether a word is the start of a page of the heap, in the allocator's own record of it: the number 1 of
// pages and a zero follow, and the end of its objects within a few words.
func (f *found) isSpan(at int) bool {
	const page, words = 8192, 16
	start := f.word(at)
	if start%page != 0 || f.word(at+wordSize) != 1 || f.word(at+2*wordSize) != 0 {
		return false
	}
	for n := 3; n <= words; n++ {
		if w := f.word(at + n*wordSize); w > start+page/2 && w <= start+page {
			return true
		}
	}
	return false
}

// word returns the word at an address; 0 behind the memory.
func (f *found) word(at int) uint64 {
	if at+wordSize > len(f.all) {
		return 0
	}
	return le.Uint64(f.all[at:])
}

func equal(places []uint64) func(uint64) bool {
	return func(w uint64) bool { return slices.Contains(places, w) }
}

// places returns the addresses of a text, up to one more than any text may have.
func places(all []byte, text string) (at []uint64) {
	for from := 0; ; {
		next := bytes.Index(all[from:], []byte(text))
		if next < 0 || len(at) > maxVariables {
			return at
		}
		at = append(at, uint64(from+next))
		from += next + 1
	}
}

var le = binary.LittleEndian

// fits reports whether there is room for the arguments.
func fits(args []string) bool {
	size := len(args) * stringSize
	for _, a := range args {
		size += len(a)
	}
	return size <= argsEnd-argsStart
}

// give replaces the arguments behind the program's name.
func (i *initialized) give(m runtime.Memory, args []string) {
	list := make([]byte, len(args)*stringSize, argsEnd-argsStart)
	copy(list, i.name[:])
	for n, a := range args {
		if n > 0 {
			le.PutUint64(list[n*stringSize:], uint64(argsStart+len(list)))
			le.PutUint64(list[n*stringSize+wordSize:], uint64(len(a)))
			list = append(list, a...)
		}
	}
	m.Write(argsStart, list)
	slice := make([]byte, 0, sliceSize)
	for _, w := range []int{argsStart, len(args), len(args)} {
		slice = le.AppendUint64(slice, uint64(w))
	}
	for _, at := range i.lists {
		m.Write(at, slice)
	}
}
