// Package review writes down what is new about a plugin for the person who is asked whether it may serve: on a screen or
// two, the weightiest first, every changed text word by word, and what is only counted is said to be.
package review

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/voice"
	"github.com/sallyport-mcp/sallyport/registry"
	"github.com/sallyport-mcp/sallyport/registry/lock"
)

// What an operator is asked about fits on a screen or two, and what weighs most stands at its beginning and again at its
// end, above the question. Of one thing there may be much; that there is more is always said.
const (
	maxShownText = 4000 // characters of one new text or want
	maxShownGone = 1000 // of one that is gone, or of what stayed around a change
	maxShownLine = 200  // of the description of a new entry
	maxShownNew  = 30   // new entries, and entries that are gone, that have a line
	maxShownTail = 5    // values of a schema that changed in one entry, besides its texts
	maxShownWant = 10   // wants that are repeated at the end
	maxGlance    = 20   // lines that are read at a glance, and need no short form
)

// difference is what an operator is asked about.
type difference struct {
	*registry.Review
	all           bool // print everything in full
	imports       []lock.Change
	wants         []lock.Change
	changed       []string                 // entries that both versions have
	added, gone   []string                 // entries
	of            map[string][]lock.Change // the changes of an entry
	counted, long int                      // entries and values, and characters, that are only counted
	inside        int                      // values of new entries besides their line
}

func differenceOf(v *registry.Review, all bool) *difference {
	d := &difference{Review: v, all: all, of: map[string][]lock.Change{}}
	for _, c := range lock.Difference(v.Before, v.After) {
		switch {
		case c.What == "import" && c.Entry == "":
			d.imports = append(d.imports, c)
		case c.Entry == "":
			d.wants = append(d.wants, c)
		default:
			if d.of[c.Entry] == nil {
				d.file(c.Entry)
			}
			d.of[c.Entry] = append(d.of[c.Entry], c)
		}
	}
	return d
}

// file puts an entry where it belongs.
func (d *difference) file(entry string) {
	switch {
	case d.After.Definitions[entry] == nil:
		d.gone = append(d.gone, entry)
	case d.Before.Definitions[entry] == nil:
		d.added = append(d.added, entry)
	default:
		d.changed = append(d.changed, entry)
	}
}

// Print writes what an operator is asked about, the weightiest first: code, imports and wants, then entries that
// changed, then those that are new or gone, and all of that in short where it is long. With all nothing is left out.
func Print(out io.Writer, v *registry.Review, all bool) {
	d := differenceOf(v, all)
	w := &strings.Builder{}
	fmt.Fprintf(w, "%s (%s)\n", voice.Line(v.Name), voice.Line(v.File))
	if v.Rejected {
		fmt.Fprintln(w, "these bytes were rejected before")
	}
	d.printCode(w)
	d.printImports(w)
	for _, c := range d.wants {
		d.printWant(w, c, maxShownText)
	}
	slices.SortStableFunc(d.changed, func(a, b string) int { return rank(d.of[a]) - rank(d.of[b]) })
	for _, entry := range d.changed {
		d.printChanged(w, d.of[entry])
	}
	d.printAdded(w)
	d.printGone(w)
	switch lines := strings.Count(w.String(), "\n"); {
	case len(d.imports)+len(d.wants)+len(d.of) == 0:
		fmt.Fprintln(w, "  it imports, wants and offers the same: only the code is another, which can do other things with its grants")
	case lines > maxGlance || d.counted+d.long > 0:
		d.printShort(w)
	}
	_, _ = io.WriteString(out, w.String())
}

// rank has entries whose own description changed stand before the others.
func rank(changes []lock.Change) int {
	if slices.ContainsFunc(changes, func(c lock.Change) bool { return c.Path == "description" || c.Path == "title" }) {
		return 0
	}
	return 1
}
