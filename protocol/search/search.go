// Package search finds tools by words. Instead of hundreds of definitions a client sees two tools, one for the
// search (Find) and one that calls a found tool by name (Call).
//
// A query is matched against name, title and description of each tool. Words in the name have the highest weight,
// prefix matches have less, and rare words have more than common ones.
package search

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
)

// entry is the searchable text of a tool.
type entry struct{ Name, Title, Description string }

// Limits of a query.
const (
	maxQuery = 1 << 10 // bytes
	maxWords = 16
)

// Weights of a word by field.
const (
	inName  = 8
	inTitle = 4
	inText  = 1
	partial = 0.5 // factor for a prefix match
)

// rank returns the indices of the tools that match a word of the query, best first and stable for equal scores. An
// empty query matches all.
func rank(tools []entry, query string) []int {
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

// addScores adds the score of one word to each tool.
func addScores(scores []float64, tools []entry, word string) {
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

// weight returns 1 if the text has the word, less if it has a word with that prefix, else 0.
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

// words returns the words of a text in lower case, split at other characters than letters and digits, and within
// camel case: createIssue gives two words, like create_issue.
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
