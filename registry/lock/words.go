package lock

import "strings"

// maxWords limits the words of each text that are compared one by one, between the common prefix and suffix: the work
// grows with its square.
const maxWords = 1500

// Piece is a part of two compared texts.
type Piece struct {
	Text string
	Kind PieceKind
}

// PieceKind is the side of a comparison that a piece is in.
type PieceKind byte

// The values of PieceKind.
const (
	Same PieceKind = iota
	Gone           // in the first only
	New            // in the second only
)

// Words compares two texts word by word. The pieces that are not New, joined by blanks, are the first text with single
// blanks between its words; those that are not Gone are the second.
func Words(before, after string) []Piece {
	a, b := strings.Fields(before), strings.Fields(after)
	first := 0
	for first < len(a) && first < len(b) && a[first] == b[first] {
		first++
	}
	last := 0
	for last < len(a)-first && last < len(b)-first && a[len(a)-1-last] == b[len(b)-1-last] {
		last++
	}
	var p pieces
	p.add(Same, a[:first]...)
	p.middle(a[first:len(a)-last], b[first:len(b)-last])
	p.add(Same, a[len(a)-last:]...)
	return p.joined()
}

// pieces are runs of words of one kind.
type pieces []run

type run struct {
	kind  PieceKind
	words []string
}

// add appends words, to the last run if it has the same kind.
func (p *pieces) add(k PieceKind, words ...string) {
	if len(words) == 0 {
		return
	}
	if n := len(*p); n == 0 || (*p)[n-1].kind != k {
		*p = append(*p, run{kind: k})
	}
	last := &(*p)[len(*p)-1]
	last.words = append(last.words, words...)
}

func (p pieces) joined() []Piece {
	var out []Piece
	for _, r := range p {
		out = append(out, Piece{strings.Join(r.words, " "), r.kind})
	}
	return out
}

// middle finds the longest common subsequence of words; very long texts are treated as entirely different.
func (p *pieces) middle(a, b []string) {
	if len(a) > maxWords || len(b) > maxWords {
		p.add(Gone, a...)
		p.add(New, b...)
		return
	}
	common := commonLengths(a, b)
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			p.add(Same, a[i])
			i, j = i+1, j+1
		case common[i+1][j] >= common[i][j+1]:
			p.add(Gone, a[i])
			i++
		default:
			p.add(New, b[j])
			j++
		}
	}
	p.add(Gone, a[i:]...)
	p.add(New, b[j:]...)
}

// commonLengths returns the length of the longest common subsequence of each pair of suffixes.
func commonLengths(a, b []string) [][]int16 {
	common := make([][]int16, len(a)+1)
	for i := range common {
		common[i] = make([]int16, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	return common
}
