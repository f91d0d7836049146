package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// Problem is an error of a tool file at one of its values.
type Problem struct {
	Pointer string // of the value, as a JSON pointer
	Text    string
}

// Error returns the pointer and the problem.
func (p *Problem) Error() string { return p.Pointer + ": " + p.Text }

// place is a value of the tool file, by its JSON pointer.
type place string

func (p place) key(name string) place { return p + place("/"+jsonraw.EscapePointer(name)) }
func (p place) index(i int) place     { return p + place(fmt.Sprintf("/%d", i)) }

func (p place) fail(format string, args ...any) error {
	return &Problem{Pointer: string(p), Text: fmt.Sprintf(format, args...)}
}

// keys rejects unknown keys of an object.
func (p place) keys(o jsonraw.Object, known ...string) error {
	for _, m := range o {
		if !slices.Contains(known, m.Key) {
			return p.key(m.Key).fail("unknown key %q%s", clip(m.Key), suggestion(m.Key, known))
		}
	}
	return nil
}

// maxClip bounds a text of the file in a message, in bytes.
const maxClip = 80

func clip(s string) string {
	if len(s) > maxClip {
		return strings.ToValidUTF8(s[:maxClip], "") + "…"
	}
	return s
}

// suggestion returns a hint with the known name nearest to a text, or with all names if none is near.
func suggestion(got string, known []string) string {
	if len(known) == 0 {
		return ""
	}
	best, least := "", max(2, len(got)/3)+1
	for _, name := range known {
		if d := distance(clip(got), name); d < least {
			best, least = name, d
		}
	}
	if best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	return "; known are " + strings.Join(known, ", ")
}

// distance returns the number of bytes to insert, delete or replace to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j]+1, row[j+1]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
