package command

import (
	"bytes"
	"errors"
	goruntime "runtime"
	"slices"
	"testing"

	"github.com/sallyport-mcp/sallyport/runtime"
)

// guestMemory is the memory of a guest.
type guestMemory []byte

var _ runtime.Memory = guestMemory(nil)

func (m guestMemory) Size() uint32                            { return uint32(len(m)) }
func (m guestMemory) Read(offset, size uint32) ([]byte, bool) { return m[offset : offset+size], true }
func (m guestMemory) Write(offset uint32, p []byte) bool {
	copy(m[offset:], p)
	return true
}

func (m guestMemory) words(at int, words ...int) {
	for i, w := range words {
		le.PutUint64(m[at+i*wordSize:], uint64(w))
	}
}

// The places in the memory of a test.
const (
	nameAt, firstAt, secondAt, traceAt   = 24000, 24576, 24640, 24700 // the first is at the start of a page
	listAt, otherListAt, variableAt      = 30000, 30104, 30200
	sliceAt, otherSliceAt, elsewhereAt   = 14000, 14104, 14200
	stackTop                             = 24000
	nameSize, firstSize, secondSize, all = 4, len("sallyport: the first argument of each call takes this place"), len("sallyport: and the second one this"), 3
)

// dead are the stack that the guest started on, and the unused part of that of its goroutine.
var dead = []stretch{{stackTop - startStack, stackTop}, {50000, 52000}}

// started returns the memory of a guest that has its arguments in two lists, and one variable.
func started() guestMemory {
	m := make(guestMemory, 1<<16)
	copy(m[nameAt:], "prog")
	copy(m[firstAt:], madeUp[0])
	copy(m[secondAt:], madeUp[1])
	copy(m[traceAt:], traceVariable)
	for list, slice := range map[int]int{listAt: sliceAt, otherListAt: otherSliceAt} {
		m.words(list, nameAt, nameSize, firstAt, firstSize, secondAt, secondSize)
		m.words(slice, list, all, all)
	}
	m.words(variableAt, traceAt, len(traceVariable))
	return m
}

func TestLocate_findsTheListsAndNothingElse(t *testing.T) {
	nothing := func(guestMemory) {}
	for name, c := range map[string]struct {
		change, before func(guestMemory)
		want           error
	}{
		"two lists":             {nothing, nothing, nil},
		"one list":              {func(m guestMemory) { m.words(otherListAt, 0, 0, 0, 0, 0, 0); m.words(otherSliceAt, 0, 0, 0) }, nothing, nil},
		"a string in use":       {func(m guestMemory) { m.words(elsewhereAt, secondAt, secondSize) }, nothing, errKeepsArgs},
		"a part of a string":    {func(m guestMemory) { m.words(elsewhereAt, firstAt+3, 1) }, nothing, errKeepsArgs},
		"a part of a list":      {func(m guestMemory) { m.words(elsewhereAt, listAt+stringSize, 2, 2) }, nothing, errKeepsArgs},
		"a pointer into a list": {func(m guestMemory) { m.words(elsewhereAt, otherListAt+stringSize) }, nothing, errKeepsArgs},
		"two slices of a list":  {func(m guestMemory) { m.words(elsewhereAt, listAt, all, all) }, nothing, errKeepsArgs},
		"a copy of WASI's":      {func(m guestMemory) { copy(m[40000:], madeUp[0]) }, nothing, nil},
		"a copy of the guest's": {func(m guestMemory) { copy(m[40000:], madeUp[0]); copy(m[41000:], "x"+madeUp[0]) }, nothing, errKeepsArgs},
		"many copies":           {func(m guestMemory) { copy(m[40000:], bytes.Repeat([]byte(madeUp[1]), 200)) }, nothing, errKeepsArgs},
		"many variables":        {func(m guestMemory) { copy(m[40000:], bytes.Repeat([]byte(traceVariable), 200)) }, nothing, errKeepsArgs},
		"three lists": {func(m guestMemory) {
			m.words(40000, nameAt, nameSize, firstAt, firstSize, secondAt, secondSize)
			m.words(elsewhereAt, 40000, all, all)
		}, nothing, errKeepsArgs},
		"a list at the end of memory": {func(m guestMemory) { m.words(len(m)-4*wordSize, nameAt, nameSize, firstAt, firstSize) }, nothing, errKeepsArgs},
		"half a list at the end":      {func(m guestMemory) { m.words(len(m)-6*wordSize, nameAt, nameSize, firstAt, firstSize, secondAt) }, nothing, errKeepsArgs},
		"an old stack":                {func(m guestMemory) { m.words(stackTop-800, secondAt, secondSize, listAt, all, all) }, nothing, nil},
		"a function's that returned":  {func(m guestMemory) { m.words(50000, listAt, all, all); m.words(51992, secondAt) }, nothing, nil},
		"a function's that runs":      {func(m guestMemory) { m.words(52000, listAt) }, nothing, errKeepsArgs},
		"an equal number in a table":  {func(m guestMemory) { m.words(elsewhereAt, listAt, 7) }, func(m guestMemory) { m.words(elsewhereAt, listAt) }, nil},
		"a page of the heap":          {func(m guestMemory) { m.words(elsewhereAt, firstAt, 1, 0, 5, 6, firstAt+8100) }, nothing, nil},
		"no page of the heap":         {func(m guestMemory) { m.words(elsewhereAt, firstAt, 1, 0, 5, 6, 7) }, nothing, errKeepsArgs},
		"no list":                     {func(m guestMemory) { m.words(listAt, 0, 0, 0, 0, 0, 0); m.words(otherListAt, 0, 0, 0, 0, 0, 0) }, nothing, errNoTrace},
		"a list without a slice":      {func(m guestMemory) { m.words(sliceAt, 0, 0, 0) }, nothing, errKeepsArgs},
		"no room for arguments":       {func(m guestMemory) { m[argsEnd-1] = 1 }, nothing, errNoTrace},
	} {
		m, before := started(), make(guestMemory, 1<<14)
		c.before(before)
		c.change(m)
		got, err := locate(m, before, dead)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: got error %v, want %v", name, err, c.want)
		}
		if err != nil {
			continue
		}
		if variable := m[variableAt : variableAt+stringSize]; !bytes.Equal(variable, make([]byte, stringSize)) {
			t.Errorf("%s: got a variable %v, want none", name, variable)
		}
		if one := name == "one list"; one != (len(got.lists) == 1) || len(got.lists) > 2 {
			t.Errorf("%s: got %d lists, want both unless there is one", name, len(got.lists))
		}
		got.give(m, []string{"", "", "ab"})
		for _, slice := range got.lists {
			if words := []uint64{le.Uint64(m[slice:]), le.Uint64(m[slice+wordSize:]), le.Uint64(m[slice+2*wordSize:])}; !slices.Equal(words, []uint64{argsStart, 3, 3}) {
				t.Errorf("%s: got a slice %v, want the three arguments at %d", name, words, argsStart)
			}
		}
		third := m[argsStart+2*stringSize:]
		if at, n := le.Uint64(third), le.Uint64(third[wordSize:]); string(m[at:at+n]) != "ab" {
			t.Errorf("%s: got %q, want the third argument", name, m[at:at+n])
		}
		if at := le.Uint64(m[argsStart:]); at != nameAt {
			t.Errorf("%s: got the name at %d, want it where it was, %d", name, at, nameAt)
		}
	}
}

// A guest that fills its memory with references, or has a large one, is no work of the host without bound.
func TestLocate_boundsItsWork(t *testing.T) {
	for name, words := range map[string][]int{
		"arguments": {firstAt},
		"lists":     {nameAt, nameSize, firstAt, firstSize, secondAt, secondSize},
		"slices":    {listAt, all, all},
		"variables": {traceAt, len(traceVariable)},
	} {
		m := append(started(), make(guestMemory, 8<<20)...)
		for at := 1 << 16; at+len(words)*wordSize <= len(m); at += len(words) * wordSize {
			m.words(at, words...)
		}
		var from, to goruntime.MemStats
		goruntime.ReadMemStats(&from)
		if _, err := locate(m, nil, dead); !errors.Is(err, errKeepsArgs) {
			t.Errorf("%s: got error %v, want %v", name, err, errKeepsArgs)
		}
		if goruntime.ReadMemStats(&to); to.TotalAlloc-from.TotalAlloc > 1<<20 {
			t.Errorf("%s: the search allocated %d bytes, want a megabyte or less", name, to.TotalAlloc-from.TotalAlloc)
		}
	}
	if _, err := locate(append(started(), make(guestMemory, 64<<20)...), nil, dead); err == nil {
		t.Error("a memory of over 64 MiB was searched")
	}
}

// Only lines of Go's trace may be written before the main function.
func TestTrace_countsReadingsBeforeItsLines(t *testing.T) {
	tr := &trace{}
	for _, step := range []struct {
		text string
		last int
	}{
		{"", 0}, {"init a @0 ms, 0 ms clock, 0 bytes, 0 allocs\n", 2}, {"init b", 2}, {" @0 ms, 0 ms clock, 0 bytes, 7 allocs", 2}, {"\n", 5},
	} {
		tr.tick()
		if n, err := tr.Write([]byte(step.text)); n != len(step.text) || err != nil || tr.last != step.last {
			t.Errorf("%q: got %d, %v, reading %d, want all of it and %d", step.text, n, err, tr.last, step.last)
		}
	}
	for _, text := range []string{"initial\n", "hello", "init a\n", "init " + string(make([]byte, maxTraceLine))} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%.20q: got it taken for a trace, want the end of the run", text)
				}
			}()
			_, _ = (&trace{}).Write([]byte(text))
		}()
	}
}
