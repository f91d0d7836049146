package untrusted

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// NamesSecret reports whether a text, such as the name of a field, names an authentication secret.
func NamesSecret(text string) bool {
	for _, form := range formsOf(text) {
		if spans := secretLexicon().find(form); len(spans) > 0 {
			others := honestLexicon().find(form)
			for _, s := range spans {
				if !s.within(others) {
					return true
				}
			}
		}
	}
	return false
}

var (
	secretLexicon = sync.OnceValue(func() *lexicon { return newLexicon(secrets) })
	honestLexicon = sync.OnceValue(func() *lexicon { return newLexicon(honest) })
)

// formsOf returns the readings of a text: as it is, with camel case split, and with look-alike characters replaced.
func formsOf(text string) (forms []string) {
	text = norm.NFKC.String(text)
	add := func(form string) {
		for _, form := range []string{form, together(form)} {
			if form != "" && !slices.Contains(forms, form) {
				forms = append(forms, form)
			}
		}
	}
	for _, text := range []string{text, splitCamel(text), capitals.Replace(text)} {
		add(folded(apart(text), ""))
		skeleton := skeletonOf(folded(text, signs))
		add(folded(skeleton, ""))
		add(folded(pairs.Replace(skeleton), ""))
	}
	return forms
}

var (
	// capitals are upper-case letters that look like another letter than their lower-case forms.
	capitals = strings.NewReplacer("Ν", "n", "Υ", "y")
	// pairs are sequences that look like one letter.
	pairs = strings.NewReplacer("vv", "w", "rn", "m", "()", "o", `\/\/`, "w")
)

// signs are characters used in place of letters.
const signs = `@$!|()\/€£¢`

// apart adds blanks around numbers.
func apart(text string) string {
	var b strings.Builder
	var last rune
	for _, r := range text {
		if unicode.IsDigit(r) != unicode.IsDigit(last) {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
		last = r
	}
	return b.String()
}

// folded returns a text in lower case without accents, with single blanks between words. Characters other than
// letters, digits, look-alikes and those in keep become blanks.
func folded(text, keep string) string {
	var b strings.Builder
	blank := true
	for _, r := range norm.NFD.String(strings.ToLower(norm.NFKC.String(text))) {
		switch {
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
			continue
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mc, r) || likeness()[r] != 0 && r > unicode.MaxASCII || strings.ContainsRune(keep, r):
			b.WriteRune(r)
			blank = false
		case !blank:
			b.WriteByte(' ')
			blank = true
		}
	}
	return strings.TrimSuffix(b.String(), " ")
}

// likeness is the inverse of alike, plus the digits and signs used in place of letters.
var likeness = sync.OnceValue(func() map[rune]rune {
	all := map[rune]rune{'0': 'o', '1': 'i', '3': 'e', '4': 'a', '5': 's', '7': 't', '8': 'b', '@': 'a', '$': 's', '!': 'i', '|': 'i', '€': 'e', '£': 'l', '¢': 'c'}
	for letter, list := range alike {
		for _, r := range list {
			all[r] = letter
		}
	}
	return all
})

// skeletonOf replaces look-alike characters in a folded text with Latin letters.
func skeletonOf(text string) string {
	return strings.Map(func(r rune) rune {
		if letter, ok := likeness()[r]; ok {
			return letter
		}
		return r
	}, text)
}

// spelt matches a word with blanks between its letters.
var spelt = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b\w( \w){2,}\b`) })

// together joins the letters of words with blanks between them.
func together(text string) string {
	return spelt().ReplaceAllStringFunc(text, func(word string) string { return strings.ReplaceAll(word, " ", "") })
}

// splitCamel converts apiKey to api Key.
func splitCamel(text string) string {
	var b strings.Builder
	var lower bool
	for _, r := range text {
		if r >= 'A' && r <= 'Z' && lower {
			b.WriteByte(' ')
		}
		lower = r >= 'a' && r <= 'z' || r >= '0' && r <= '9'
		b.WriteRune(r)
	}
	return b.String()
}
