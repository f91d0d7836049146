package hostfuncs

import (
	"bytes"
	"strings"
	"testing"
)

func TestBehindLine_dropsTheFirstLineHoweverItIsWritten(t *testing.T) {
	for _, pieces := range [][]string{
		{"init a\n", "b\n", "c"}, {"init a\nb\nc"}, {"", "in", "it a", "\n", "b", "\nc"}, {"init a\nb", "\nc"}, {"\nb\nc"},
	} {
		var got bytes.Buffer
		out := &behindLine{Writer: &got}
		for _, piece := range pieces {
			if n, err := out.Write([]byte(piece)); n != len(piece) || err != nil {
				t.Errorf("%q of %q: got %d, %v, want all of it", piece, pieces, n, err)
			}
		}
		if want := "b\nc"; got.String() != want {
			t.Errorf("%q: got %q, want %q", strings.Join(pieces, "|"), &got, want)
		}
	}
}
