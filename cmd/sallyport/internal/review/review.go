// Package review prints the difference between the approved and the current version of a plugin for its operator: most
// important changes first, changed texts word by word, within a screen or two. Omitted parts are counted.
package review

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/registry"
	"github.com/sallyport-mcp/sallyport/registry/lock"
)

// Limits of the printed difference, so that it fits on a screen or two. Omissions are always counted in the output.
const (
	maxShownText = 4000 // characters of a new text or want
	maxShownGone = 1000 // characters of a removed text, or of unchanged text around a change
	maxShownLine = 200  // characters of the description of a new entry
	maxShownNew  = 30   // lines for new entries, and for removed ones
	maxShownTail = 5    // changed values of schemas per entry, besides texts
	maxShownWant = 10   // wants repeated at the end
	maxShownCode = 120  // lines of changed sources of a script
	maxGlance    = 20   // lines above which a summary is printed
)

// difference is a review sorted for printing.
type difference struct {
	*registry.Review
	all           bool // print everything in full
	imports       []lock.Change
	wants         []lock.Change
	changed       []string                 // entries of both versions
	added, gone   []string                 // entries
	of            map[string][]lock.Change // changes by entry
	counted, long int                      // entries and values, and characters, that are counted and not printed
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

// file sorts an entry into changed, added or gone.
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

// Print writes the review: code, imports and wants, then changed entries, then added and removed ones, and a summary if
// it is long. With all nothing is omitted.
func Print(out io.Writer, v *registry.Review, all bool) {
	d := differenceOf(v, all)
	w := &strings.Builder{}
	fmt.Fprintf(w, "%s (%s)\n", ui.Line(v.Name), ui.Line(v.File))
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
	d.printSources(w)
	switch lines := strings.Count(w.String(), "\n"); {
	case len(d.imports)+len(d.wants)+len(d.of) == 0:
		fmt.Fprintln(w, "  imports, wants and definitions are unchanged: only the code changed, which can use its grants differently")
	case lines > maxGlance || d.counted+d.long > 0:
		d.printShort(w)
	}
	_, _ = io.WriteString(out, w.String())
}

// rank sorts entries with a changed description or title before the others.
func rank(changes []lock.Change) int {
	if slices.ContainsFunc(changes, func(c lock.Change) bool { return c.Path == "description" || c.Path == "title" }) {
		return 0
	}
	return 1
}
