// Package secretword tells by their names what is a secret, which a plugin must not ask for by form.
//
//	secretword.In("apiKey")       // true
//	secretword.In("pаsswоrd")     // true, with Cyrillic letters
//	secretword.In("Ihr Passwort") // true
//	secretword.In("passvvrd")     // true, misspelt
//	secretword.In("passenger")    // false
//
// A text is compared in the form in which people read it: compatibility characters, accents, case, letters that look like
// others, digits in the place of letters and blanks between the letters make no difference, nor does one wrong letter in a long word.
// It is a help for people and no boundary: a question can be put without the word, or with the word written backwards.
//
// This package is internal to Sallyport and may change.
package secretword

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// In reports whether a text, such as the name of a field, names something that proves who somebody is.
func In(text string) bool {
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

// formsOf are the ways in which a text is read: as it is, with blanks where a new word begins in its middle, and with the letters
// that its characters look like.
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
	// capitals are those that look like another letter than their small ones.
	capitals = strings.NewReplacer("Ν", "n", "Υ", "y")
	// pairs are two letters that look like one.
	pairs = strings.NewReplacer("vv", "w", "rn", "m", "()", "o", `\/\/`, "w")
)

// signs are those that are written for letters.
const signs = `@$!|()\/€£¢`

// apart writes blanks around numbers.
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

// folded is a text in small letters and digits without accents, with single blanks between words. Of other signs it keeps some.
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

// likeness is alike the other way round, with the digits and signs that are written for letters.
var likeness = sync.OnceValue(func() map[rune]rune {
	all := map[rune]rune{'0': 'o', '1': 'i', '3': 'e', '4': 'a', '5': 's', '7': 't', '8': 'b', '@': 'a', '$': 's', '!': 'i', '|': 'i', '€': 'e', '£': 'l', '¢': 'c'}
	for letter, list := range alike {
		for _, r := range list {
			all[r] = letter
		}
	}
	return all
})

// skeletonOf is a folded text with the Latin letters that its characters look like.
func skeletonOf(text string) string {
	return strings.Map(func(r rune) rune {
		if letter, ok := likeness()[r]; ok {
			return letter
		}
		return r
	}, text)
}

// spelt is a word whose letters stand apart.
var spelt = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b\w( \w){2,}\b`) })

// together joins the letters of words that are spelt.
func together(text string) string {
	return spelt().ReplaceAllStringFunc(text, func(word string) string { return strings.ReplaceAll(word, " ", "") })
}

// splitCamel writes apiKey as api Key.
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
