package untrusted

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// span is a part of a text, in bytes.
type span struct{ from, to int }

func (s span) within(list []span) bool {
	for _, other := range list {
		if other.from <= s.from && s.to <= other.to {
			return true
		}
	}
	return false
}

// node is a trie node of phrases: the next words, complete or as prefixes.
type node struct {
	words, stems map[string]*node
	end          bool
}

func (n *node) add(phrase []string) {
	for _, word := range phrase {
		stem, open := strings.CutSuffix(word, "*")
		list := &n.words
		if open {
			list = &n.stems
		}
		if *list == nil {
			*list = map[string]*node{}
		}
		if (*list)[stem] == nil {
			(*list)[stem] = &node{}
		}
		n = (*list)[stem]
	}
	n.end = true
}

// find calls found with the end of each phrase that begins at the first word.
func (n *node) find(words []word, found func(to int)) {
	if len(words) == 0 {
		return
	}
	first := words[0]
	follow := func(next *node) {
		if next == nil {
			return
		}
		if next.end {
			found(first.to)
		}
		next.find(words[1:], found)
	}
	follow(n.words[first.text])
	for end := range len(first.text) + 1 {
		follow(n.stems[first.text[:end]])
	}
}

// lexicon finds a list of phrases in a text.
type lexicon struct {
	phrases node
	// parts match within other words, misspelt match with one differing letter, and alone match only the whole
	// text.
	parts, misspelt []string
	alone           map[string]bool
}

func newLexicon(list string) *lexicon {
	l := &lexicon{alone: map[string]bool{}}
	for line := range strings.Lines(list) {
		_, line, _ = strings.Cut(line, ":")
		for _, pattern := range split(strings.TrimSpace(line)) {
			for _, phrase := range expand(pattern) {
				l.add(phrase)
			}
		}
	}
	slices.Sort(l.parts)
	l.parts = slices.Compact(l.parts)
	return l
}

// add adds a phrase in three forms: as written, in skeleton form, and as one word.
func (l *lexicon) add(phrase string) {
	phrase, misspelt := strings.CutPrefix(phrase, "~")
	phrase, alone := strings.CutPrefix(phrase, "=")
	for _, form := range []string{folded(phrase, "*"), skeletonOf(folded(phrase, "*"))} {
		words := strings.Fields(form)
		if len(words) == 0 {
			continue
		}
		joined := strings.ReplaceAll(form, " ", "")
		if alone {
			l.alone[joined] = true
			continue
		}
		l.phrases.add(words)
		if plain := strings.TrimSuffix(joined, "*"); !strings.Contains(plain, "*") {
			l.phrases.add([]string{joined})
			if misspelt {
				l.misspelt = append(l.misspelt, withoutRuns(plain))
			}
			if standsOut(plain) {
				l.parts = append(l.parts, plain)
			}
		}
	}
}

// standsOut reports whether a word is unlikely to occur within other words by chance.
func standsOut(word string) bool {
	r, _ := utf8.DecodeRuneInString(word)
	switch length := utf8.RuneCountInString(word); {
	case r < 0x370:
		return length >= 8
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar):
		return length >= 2
	default:
		return length >= 4
	}
}

// split splits a pattern at the bars outside brackets.
func split(pattern string) (parts []string) {
	depth, from := 0, 0
	for i, r := range pattern {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		case '|':
			if depth == 0 {
				parts, from = append(parts, pattern[from:i]), i+1
			}
		}
	}
	return append(parts, pattern[from:])
}

// expand returns the phrases of a pattern with choices in brackets.
func expand(pattern string) (phrases []string) {
	open := strings.IndexByte(pattern, '(')
	if open < 0 {
		return []string{pattern}
	}
	depth, end := 0, open
	for ; end < len(pattern); end++ {
		if pattern[end] == '(' {
			depth++
		} else if pattern[end] == ')' {
			if depth--; depth == 0 {
				break
			}
		}
	}
	for _, choice := range split(pattern[open+1 : end]) {
		phrases = append(phrases, expand(pattern[:open]+choice+pattern[end+1:])...)
	}
	return phrases
}

// word is one word of a text and its position.
type word struct {
	text string
	span
}

// find returns the positions of all phrases in a text returned by folded.
func (l *lexicon) find(text string) (found []span) {
	words := wordsOf(text)
	for i, w := range words {
		l.phrases.find(words[i:], func(to int) { found = append(found, span{w.from, to}) })
		if l.isMisspelt(w.text) {
			found = append(found, w.span)
		}
	}
	for _, part := range l.parts {
		for from := 0; ; {
			at := strings.Index(text[from:], part)
			if at < 0 {
				break
			}
			found = append(found, span{from + at, from + at + len(part)})
			from += at + len(part)
		}
	}
	if l.alone[strings.ReplaceAll(text, " ", "")] {
		found = append(found, span{0, len(text)})
	}
	return found
}

func (l *lexicon) isMisspelt(text string) bool {
	text = withoutRuns(text)
	for _, right := range l.misspelt {
		if nearly(text, right) {
			return true
		}
	}
	return false
}

func wordsOf(text string) (words []word) {
	at := 0
	for part := range strings.SplitSeq(text, " ") {
		if part != "" {
			words = append(words, word{part, span{at, at + len(part)}})
		}
		at += len(part) + 1
	}
	return words
}

// withoutRuns removes repeated letters from a word.
func withoutRuns(word string) string {
	var last rune
	return strings.Map(func(r rune) rune {
		if r == last {
			return -1
		}
		last = r
		return r
	}, word)
}

// nearly reports whether two words differ by at most one letter replaced, inserted, removed, or swapped with its
// neighbour.
func nearly(a, b string) bool {
	if len(a) > len(b)+1 || len(b) > len(a)+1 {
		return false
	}
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for a != "" && b != "" && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return len(a) <= 1 && len(b) <= 1 || len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
}
