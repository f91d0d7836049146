package runtime

import (
	"cmp"
	"slices"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin/rewrite"
)

// maxGap is the number of zero bytes between two data segments that are merged: about the cost of a segment.
const maxGap = 64

// merge copies data segments, and joins those that follow each other in order with few bytes between them: compilers of Go
// leave runs of zeros out, in tens of thousands of segments. Memory is zero at first, so the result is the same.
func merge(all []rewrite.Data) []rewrite.Data {
	all = inPlace(all)
	var j joiner
	size, n := 0, 0
	for _, d := range all {
		gap, joins := j.next(d)
		size += gap + len(d.Bytes)
		if !joins {
			n++
		}
	}
	out, bytes := make([]rewrite.Data, 0, n), make([]byte, 0, size) // one allocation, apart from the file
	j = joiner{}
	for _, d := range all {
		gap, joins := j.next(d)
		if !joins {
			out = append(out, rewrite.Data{Offset: d.Offset, From: d.From})
		}
		bytes = append(bytes[:len(bytes)+gap], d.Bytes...)
		last := &out[len(out)-1]
		from := len(bytes) - len(d.Bytes) - gap - len(last.Bytes)
		last.Bytes = bytes[from:len(bytes):len(bytes)]
	}
	return out
}

// inPlace returns the segments in the order of their offsets if none is written over another: Go's linker does not keep to
// that order. Otherwise it returns them as they are.
func inPlace(all []rewrite.Data) []rewrite.Data {
	if slices.ContainsFunc(all, func(d rewrite.Data) bool { return d.From != nil }) {
		return all
	}
	sorted := slices.SortedStableFunc(slices.Values(all), func(x, y rewrite.Data) int { return cmp.Compare(x.Offset, y.Offset) })
	end := uint64(0)
	for _, d := range sorted {
		if uint64(d.Offset) < end {
			return all
		}
		end = uint64(d.Offset) + uint64(len(d.Bytes))
	}
	return sorted
}

// joiner decides which segments join the one before.
type joiner struct {
	end  uint64 // the largest end of a segment so far
	last uint64 // the end of the last segment
	off  bool   // a segment has an unknown offset
	any  bool
}

// next returns whether a segment joins the one before, and the number of zeros between them.
func (j *joiner) next(d rewrite.Data) (gap int, joins bool) {
	from := uint64(d.Offset)
	joins = j.any && !j.off && d.From == nil && j.last == j.end && from >= j.end && from-j.end <= maxGap
	if joins {
		gap = int(from - j.end)
	}
	j.any, j.off, j.last = true, j.off || d.From != nil, from+uint64(len(d.Bytes))
	j.end = max(j.end, j.last)
	return gap, joins
}
