package review

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/voice"
	"github.com/sallyport-mcp/sallyport/registry/lock"
)

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
