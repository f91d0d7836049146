// Package search finds tools by words, so that a client need not read the definitions of hundreds: it sees two tools,
// one that searches (Find) and one that calls what was found by its name (Call).
//
// The words of a query are looked for in each tool's name, title and description. A word in the name
// counts most, a word that only begins one counts less, and a rare word counts more than one that every
// tool has.
package search

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
)

// Tool is what is searched.
type Tool struct{ Name, Title, Description string }

// Bounds on a query: what somebody types, not a text.
const (
	maxQuery = 1 << 10 // bytes
	maxWords = 16
)

// Weights of a word, by where it is.
const (
	inName  = 8
	inTitle = 4
	inText  = 1
	partial = 0.5 // of a word that begins with the one asked for
)

// Rank returns the indices of the tools that have a word of the query, the best first; those alike are in
// the order they came. An empty query finds all.
func Rank(tools []Tool, query string) []int {
	asked := words(query[:min(len(query), maxQuery)])
	asked = asked[:min(len(asked), maxWords)]
	scores := make([]float64, len(tools))
	for _, word := range asked {
		addScores(scores, tools, word)
	}
	found := make([]int, 0, len(tools))
	for i, score := range scores {
		if score > 0 || len(asked) == 0 {
			found = append(found, i)
		}
	}
	slices.SortStableFunc(found, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	return found
}

// addScores adds what one word is worth to each tool.
func addScores(scores []float64, tools []Tool, word string) {
	worth := make([]float64, len(tools))
	have := 0
	for i, t := range tools {
		worth[i] = inName*weight(t.Name, word) + inTitle*weight(t.Title, word) + inText*weight(t.Description, word)
		if worth[i] > 0 {
			have++
		}
	}
	rare := 1 + math.Log(float64(1+len(tools))/float64(1+have))
	for i := range worth {
		scores[i] += worth[i] * rare
	}
}

// weight is 1 for a text with the word, less for one with a word that begins with it, else 0.
func weight(text, word string) float64 {
	best := 0.0
	for _, w := range words(text) {
		switch {
		case w == word:
			return 1
		case strings.HasPrefix(w, word), len(w) > 3 && strings.HasPrefix(word, w):
			best = partial
		}
	}
	return best
}

// words are the letters and digits of a text, in lower case; createIssue is two words, like create_issue.
func words(text string) []string {
	var out []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			out = append(out, strings.ToLower(string(word)))
			word = word[:0]
		}
	}
	lower := false
	for _, r := range text {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) || lower && unicode.IsUpper(r) {
			end()
		}
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			word = append(word, r)
		}
		lower = unicode.IsLower(r)
	}
	end()
	return out
}
