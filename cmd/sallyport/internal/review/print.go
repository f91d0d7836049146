package review

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/registry/lock"
)

func (d *difference) printCode(w io.Writer) {
	switch before := d.Before.Digest; before {
	case d.After.Digest:
		fmt.Fprintf(w, "  code %s, as it was approved\n", before)
	case "":
		fmt.Fprintf(w, "  code - nothing was approved yet\n       + %s\n", d.After.Digest)
	default:
		fmt.Fprintf(w, "  code - %s\n       + %s\n", before, d.After.Digest)
	}
}

// printImports writes the names of all added and removed imports, which are host functions.
func (d *difference) printImports(w io.Writer) {
	for _, sign := range []string{"-", "+"} {
		var names []string
		for _, c := range d.imports {
			if name := c.Before + c.After; (sign == "+") == (c.Before == "") {
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			fmt.Fprintf(w, "  %s %s\n", sign, ui.Count(len(names), "import"))
			ui.Indent(w, strings.Join(names, " "))
		}
	}
}

func (d *difference) printWant(w io.Writer, c lock.Change, most int) {
	if c.After == "" {
		fmt.Fprintf(w, "  - want %s\n", ui.Line(d.cut(c.Before, min(most, maxShownGone))))
		return
	}
	fmt.Fprintf(w, "  + want %s\n", ui.Line(d.cut(c.After, most)))
}

// printChanged writes the changes of one entry: all weighty ones, and of the rest the first maxShownTail.
func (d *difference) printChanged(w io.Writer, changes []lock.Change) {
	tail := 0
	for _, c := range changes {
		if !weighty(c) {
			if tail++; tail > maxShownTail && !d.all {
				continue
			}
		}
		d.printChange(w, c)
	}
	if more := tail - maxShownTail; more > 0 && !d.all {
		d.counted += more
		fmt.Fprintf(w, "    %s: and %s of its schemas, which are no texts\n", ui.Line(changes[0].Entry), ui.Count(more, "more value"))
	}
}

// weighty reports whether a change is always shown: a text, which a model obeys, a default or const that a model passes
// on, an address, or anything outside the schemas, such as a tool's annotations.
func weighty(c lock.Change) bool {
	const word = 40 // in characters; a longer value is a text and not a word of a schema
	first, _, _ := strings.Cut(c.Path, ".")
	last := c.Path[strings.LastIndexByte(c.Path, '.')+1:]
	text := func(s string) bool {
		return strings.ContainsFunc(s, unicode.IsSpace) || strings.Contains(s, "://") || strings.Contains(s, "@") || utf8.RuneCountInString(s) > word
	}
	return first != "inputSchema" && first != "outputSchema" || slices.Contains([]string{"description", "title", "default", "const"}, last) ||
		text(c.Before) || text(c.After)
}

// printChange writes one changed value; texts of both versions are compared word by word.
func (d *difference) printChange(w io.Writer, c lock.Change) {
	switch {
	case c.After == "":
		fmt.Fprintf(w, "  - %s\n", ui.Line(c.What))
		ui.Indent(w, d.cut(c.Before, maxShownGone))
	case c.Before == "":
		fmt.Fprintf(w, "  + %s\n", ui.Line(c.What))
		ui.Indent(w, d.cut(c.After, maxShownText))
	default:
		fmt.Fprintf(w, "    %s\n", ui.Line(c.What))
		ui.Indent(w, d.words(c.Before, c.After))
	}
}

// printAdded writes one line for each new entry.
func (d *difference) printAdded(w io.Writer) {
	for i, entry := range d.added {
		if d.all {
			for _, c := range d.of[entry] {
				d.printChange(w, c)
			}
			continue
		}
		if i == maxShownNew {
			d.counted += len(d.added) - i
			for _, unseen := range d.added[i:] {
				d.inside += len(d.of[unseen])
			}
			fmt.Fprintf(w, "  + and %d more: --all prints them\n", len(d.added)-i)
			return
		}
		d.inside += len(d.of[entry]) - 1
		about := ""
		if i := slices.IndexFunc(d.of[entry], func(c lock.Change) bool { return c.Path == "description" }); i >= 0 {
			about = ": " + d.cut(d.of[entry][i].After, maxShownLine)
		}
		fmt.Fprintf(w, "  + %s%s\n", ui.Line(entry), ui.Line(about))
	}
}

// printGone writes one line for each removed entry.
func (d *difference) printGone(w io.Writer) {
	for i, entry := range d.gone {
		if i == maxShownNew && !d.all {
			d.counted += len(d.gone) - i
			fmt.Fprintf(w, "  - and %d more: --all prints them\n", len(d.gone)-i)
			return
		}
		fmt.Fprintf(w, "  - %s\n", ui.Line(entry))
	}
}

// printSources writes the changed lines of a script, and counts those of the packages that it imports.
func (d *difference) printSources(w io.Writer) {
	shown := 0
	for _, c := range d.Sources() {
		fmt.Fprintf(w, "    %s: %s new, %d gone\n", ui.Line(c.Path), ui.Count(c.Added, "line"), c.Gone)
		for _, l := range c.Lines {
			if shown++; shown > maxShownCode && !d.all {
				d.counted++
				continue
			}
			if l.Sign == 0 {
				fmt.Fprintln(w, "      …")
				continue
			}
			fmt.Fprintf(w, "      %c %s\n", l.Sign, ui.Line(l.Text))
		}
	}
}

// printShort writes a summary with the wants directly above the question, so that a long difference cannot scroll them
// out of sight.
func (d *difference) printShort(w io.Writer) {
	added, gone := 0, 0
	for _, c := range d.wants {
		if c.After == "" {
			gone++
		} else {
			added++
		}
	}
	fmt.Fprintf(w, "\nin short: %s, %s new and %d gone, of its entries %d changed, %d new, %d gone\n", ui.Count(len(d.imports), "other import"),
		ui.Count(added, "want"), gone, len(d.changed), len(d.added), len(d.gone))
	shown := 0
	for _, c := range d.wants {
		if c.After != "" && shown < maxShownWant {
			shown++
			d.printWant(w, c, maxShownLine)
		}
	}
	if added > shown {
		fmt.Fprintf(w, "  + and %s, which stand above\n", ui.Count(added-shown, "more want"))
	}
	var hidden []string
	if n := d.counted + d.inside; n > 0 {
		hidden = append(hidden, ui.Count(n, "value"))
	}
	if d.long > 0 {
		hidden = append(hidden, ui.Count(d.long, "character"))
	}
	if len(hidden) > 0 {
		fmt.Fprintf(w, "  not shown are %s: --all prints everything\n", strings.Join(hidden, " and "))
	}
}
