package review

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/registry/lock"
)

// cut truncates a text to most characters and appends the count of the rest.
func (d *difference) cut(text string, most int) string {
	runes := []rune(text)
	if d.all || len(runes) <= most {
		return text
	}
	d.long += len(runes) - most
	return string(runes[:most]) + more(len(runes)-most)
}

func more(n int) string { return fmt.Sprintf(" [… %s]", ui.Count(n, "more character")) }

// words writes two versions of a text as one, with new and removed words marked. New text has its own limit, which
// removed and unchanged text do not use up.
func (d *difference) words(before, after string) string {
	left := map[lock.PieceKind]int{lock.New: maxShownText, lock.Gone: maxShownGone, lock.Same: maxShownGone}
	cut := 0
	var out []string
	pieces := lock.Words(before, after)
	for _, p := range pieces {
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
	if !slices.ContainsFunc(pieces, func(p lock.Piece) bool { return p.Kind != lock.Same }) {
		text += " [… only blanks and line ends are others]"
	}
	if cut > 0 {
		d.long += cut
		text += more(cut)
	}
	return text
}

// ours breaks up difference marks in a plugin's text with a blank, so that new words cannot pose as old ones.
func ours(text string) string {
	return strings.NewReplacer("[-", "[ -", "-]", "- ]", "{+", "{ +", "+}", "+ }", "[…", "[ …").Replace(text)
}

// mark encloses new or removed text in marks that need no colours.
func mark(kind lock.PieceKind, text string) string {
	switch kind {
	case lock.Gone:
		return "[-" + text + "-]"
	case lock.New:
		return "{+" + text + "+}"
	}
	return text
}

// around shortens unchanged text to its beginning and end.
func around(text string) string {
	const words = 12
	all := strings.Fields(text)
	if len(all) <= 2*words+1 {
		return text
	}
	return strings.Join(all[:words], " ") + " […] " + strings.Join(all[len(all)-words:], " ")
}
