package sanitize

import (
	"bytes"
	"flag"
	"fmt"
	"go/format"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write tables.go anew")

// unicodeData is the parsed testdata/unicode/data.txt.
type unicodeData struct {
	ignorable, format, viramas map[rune]bool
	joining                    map[rune]byte
	variants                   map[rune]uint32
}

func readUnicodeData(t testing.TB) *unicodeData {
	t.Helper()
	raw, err := os.ReadFile("testdata/unicode/data.txt")
	if err != nil {
		t.Fatal(err)
	}
	d := &unicodeData{map[rune]bool{}, map[rune]bool{}, map[rune]bool{}, map[rune]byte{}, map[rune]uint32{}}
	for line := range strings.Lines(string(raw)) {
		f := strings.Fields(line)
		if f[0] == "#" {
			continue
		}
		first, last, isRange := strings.Cut(f[1], "..")
		if !isRange {
			last = first
		}
		for r := hex(t, first); r <= hex(t, last); r++ {
			switch f[0] {
			case "ignorable":
				d.ignorable[r] = true
			case "format":
				d.format[r] = true
			case "virama":
				d.viramas[r] = true
			case "joining":
				d.joining[r] = f[2][0]
			case "variation":
				bit := hex(t, f[2]) - 0xfe00
				if bit < 0 {
					bit += 0xfe00 - 0x180b + 16
				}
				d.variants[r] |= 1 << bit
			}
		}
	}
	return d
}

func hex(t testing.TB, s string) rune {
	t.Helper()
	n, err := strconv.ParseUint(s, 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	return rune(n)
}

// The tables of this package match Unicode.
func TestTables_matchUnicode(t *testing.T) {
	want := tables(t, readUnicodeData(t))
	if *update {
		if err := os.WriteFile("tables.go", want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile("tables.go"); err != nil || !bytes.Equal(got, want) {
		t.Errorf("tables.go is not what Unicode's data gives (%v): write it with -update", err)
	}
}

func tables(t testing.TB, d *unicodeData) []byte {
	var b bytes.Buffer
	b.WriteString("package sanitize\n\n// The tables are written by TestTables_matchUnicode of testdata/unicode/data.txt, Unicode 15.0.\n\n")
	before := func(kinds string) func(rune) bool {
		return func(r rune) bool { return d.joining[r] != 0 && strings.IndexByte(kinds, d.joining[r]) >= 0 }
	}
	writeRanges(&b, "joinNext are the characters that join with one behind them.", "joinNext", before("DLC"))
	writeRanges(&b, "joinBefore are the characters that join with one before them.", "joinBefore", before("DRC"))
	writeRanges(&b, "viramas are the characters that take the vowel from the consonant before them.", "viramas", func(r rune) bool { return d.viramas[r] })
	var bases []rune
	for r := range d.variants {
		bases = append(bases, r)
	}
	slices.Sort(bases)
	b.WriteString("// variants are the characters with standardized variations, and their selectors: from the lowest bit on U+FE00 to U+FE0F,\n// then U+180B to U+180F.\nvar variants = [...][2]uint32{")
	for i, r := range bases {
		separate(&b, i)
		fmt.Fprintf(&b, "{%#x, %#x},", r, d.variants[r])
	}
	b.WriteString("\n}\n")
	source, err := format.Source(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return source
}

func writeRanges(b *bytes.Buffer, comment, name string, has func(rune) bool) {
	fmt.Fprintf(b, "// %s\nvar %s = [...][2]rune{", comment, name)
	n := 0
	for r := rune(0); r <= 0x10ffff; r++ {
		if !has(r) {
			continue
		}
		first := r
		for has(r + 1) {
			r++
		}
		separate(b, n)
		n++
		fmt.Fprintf(b, "{%#x, %#x},", first, r)
	}
	b.WriteString("\n}\n\n")
}

func separate(b *bytes.Buffer, i int) {
	if i%8 == 0 {
		b.WriteByte('\n')
	} else {
		b.WriteByte(' ')
	}
}
