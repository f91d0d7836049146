package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

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

// printReview writes what an operator is asked about, the weightiest first: code, imports and wants, then entries that
// changed, then those that are new or gone, and all of that in short where it is long.
func printReview(out io.Writer, v *registry.Review, all bool) {
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

func (d *difference) printCode(w io.Writer) {
	switch before := d.Before.Digest; before {
	case d.After.Digest:
		fmt.Fprintf(w, "  code  %s, as it was approved\n", before)
	case "":
		fmt.Fprintf(w, "  code  - nothing was approved yet\n        + %s\n", d.After.Digest)
	default:
		fmt.Fprintf(w, "  code  - %s\n        + %s\n", before, d.After.Digest)
	}
}

// printImports writes the functions that the code asks the host for: names, all of them.
func (d *difference) printImports(w io.Writer) {
	for _, sign := range []string{"-", "+"} {
		var names []string
		for _, c := range d.imports {
			if name := c.Before + c.After; (sign == "+") == (c.Before == "") {
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			fmt.Fprintf(w, "  %s %s\n", sign, voice.Count(len(names), "import"))
			voice.Indent(w, strings.Join(names, " "))
		}
	}
}

func (d *difference) printWant(w io.Writer, c lock.Change, most int) {
	if c.After == "" {
		fmt.Fprintf(w, "  - want %s\n", voice.Line(d.cut(c.Before, min(most, maxShownGone))))
		return
	}
	fmt.Fprintf(w, "  + want %s\n", voice.Line(d.cut(c.After, most)))
}

// printChanged writes what is another in one entry: every text and everything outside of its schemas, and of the rest
// as much as a person reads.
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
		fmt.Fprintf(w, "    %s: and %s of its schemas, which are no texts\n", voice.Line(changes[0].Entry), voice.Count(more, "more value"))
	}
}

// weighty reports whether a change is always shown: of a text, which a model obeys, or of what is no schema, such as
// what a tool says it does.
func weighty(c lock.Change) bool {
	const word = 40 // characters, above which a value is no word of a schema
	first, _, _ := strings.Cut(c.Path, ".")
	last := c.Path[strings.LastIndexByte(c.Path, '.')+1:]
	text := func(s string) bool { return strings.ContainsAny(s, " \t\n") || utf8.RuneCountInString(s) > word }
	return first != "inputSchema" && first != "outputSchema" || last == "description" || last == "title" || text(c.Before) || text(c.After)
}

// printChange writes one change of a value: a text that is in both versions word by word.
func (d *difference) printChange(w io.Writer, c lock.Change) {
	switch {
	case c.After == "":
		fmt.Fprintf(w, "  - %s\n", voice.Line(c.What))
		voice.Indent(w, d.cut(c.Before, maxShownGone))
	case c.Before == "":
		fmt.Fprintf(w, "  + %s\n", voice.Line(c.What))
		voice.Indent(w, d.cut(c.After, maxShownText))
	default:
		fmt.Fprintf(w, "    %s\n", voice.Line(c.What))
		voice.Indent(w, d.words(c.Before, c.After))
	}
}

// printAdded writes a line for each new entry.
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
		fmt.Fprintf(w, "  + %s%s\n", voice.Line(entry), voice.Line(about))
	}
}

// printGone writes a line for each entry that is gone.
func (d *difference) printGone(w io.Writer) {
	for i, entry := range d.gone {
		if i == maxShownNew && !d.all {
			d.counted += len(d.gone) - i
			fmt.Fprintf(w, "  - and %d more: --all prints them\n", len(d.gone)-i)
			return
		}
		fmt.Fprintf(w, "  - %s\n", voice.Line(entry))
	}
}

// printShort writes what there is in a few lines, right above the question, with the wants again: no length of what
// stands before it takes them out of sight.
func (d *difference) printShort(w io.Writer) {
	added, gone := 0, 0
	for _, c := range d.wants {
		if c.After == "" {
			gone++
		} else {
			added++
		}
	}
	fmt.Fprintf(w, "\nin short: %s, %s new and %d gone, of its entries %d changed, %d new, %d gone\n", voice.Count(len(d.imports), "other import"),
		voice.Count(added, "want"), gone, len(d.changed), len(d.added), len(d.gone))
	shown := 0
	for _, c := range d.wants {
		if c.After != "" && shown < maxShownWant {
			shown++
			d.printWant(w, c, maxShownLine)
		}
	}
	if added > shown {
		fmt.Fprintf(w, "  + and %s, which stand above\n", voice.Count(added-shown, "more want"))
	}
	if hidden := d.counted + d.inside; hidden+d.long > 0 {
		fmt.Fprintf(w, "  not shown are %s and %s: --all prints everything\n", voice.Count(hidden, "value"), voice.Count(d.long, "character"))
	}
}

// cut bounds a text, and says how much more there is.
func (d *difference) cut(text string, most int) string {
	runes := []rune(text)
	if d.all || len(runes) <= most {
		return text
	}
	d.long += len(runes) - most
	return string(runes[:most]) + more(len(runes)-most)
}

func more(n int) string { return fmt.Sprintf(" [… %s]", voice.Count(n, "more character")) }

// words writes two versions of a text as one, with what is new and what is gone marked. What is new has a bound of its
// own, which neither what is gone nor what stayed uses up.
func (d *difference) words(before, after string) string {
	left := map[lock.PieceKind]int{lock.New: maxShownText, lock.Gone: maxShownGone, lock.Same: maxShownGone}
	cut := 0
	var out []string
	for _, p := range lock.Words(before, after) {
		if p.Text = ours(p.Text); p.Kind == lock.Same {
			p.Text = around(p.Text)
		}
		runes := []rune(p.Text)
		if !d.all && len(runes) > left[p.Kind] {
			cut += len(runes) - left[p.Kind]
			runes = runes[:left[p.Kind]]
		}
		if left[p.Kind] -= len(runes); len(runes) > 0 {
			out = append(out, mark(p.Kind, string(runes)))
		}
	}
	text := strings.Join(out, " ")
	if cut > 0 {
		d.long += cut
		text += more(cut)
	}
	return text
}

// ours leaves the marks to the program: what reads as one in a plugin's own text gets a blank, so that no new words look
// like old ones.
func ours(text string) string {
	return strings.NewReplacer("[-", "[ -", "-]", "- ]", "{+", "{ +", "+}", "+ }", "[…", "[ …").Replace(text)
}

// mark writes a piece so that it is told apart without colours.
func mark(kind lock.PieceKind, text string) string {
	switch kind {
	case lock.Gone:
		return "[-" + text + "-]"
	case lock.New:
		return "{+" + text + "+}"
	}
	return text
}

// around is the beginning and the end of a text that is the same in both versions.
func around(text string) string {
	const words = 12
	all := strings.Fields(text)
	if len(all) <= 2*words+1 {
		return text
	}
	return strings.Join(all[:words], " ") + " […] " + strings.Join(all[len(all)-words:], " ")
}
