package main

import (
	"bytes"
	"cmp"
	"slices"
)

// tail keeps the last lines by time.
type tail struct {
	room  int
	lines []timedLine
}

type timedLine struct {
	at   string // sorts by time
	text []byte
}

// add adds a line; old lines are dropped in batches.
func (t *tail) add(at string, text []byte) {
	t.lines = append(t.lines, timedLine{at, bytes.Clone(text)})
	if len(t.lines) >= 2*t.room+64 {
		t.lines = slices.Clone(t.sorted())
	}
}

func (t *tail) sorted() []timedLine {
	slices.SortStableFunc(t.lines, func(a, b timedLine) int { return cmp.Compare(a.at, b.at) })
	return t.lines[max(0, len(t.lines)-t.room):]
}
