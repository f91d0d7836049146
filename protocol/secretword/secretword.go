// Package secretword tells by their names what is a secret: what a plugin must not ask for by form, and what a tool
// should not have repeated in a header.
//
//	secretword.In("apiKey")    // true
//	secretword.In("passenger") // false
//
// This package is internal to Sallyport: it is not promised to others.
package secretword

import (
	"regexp"
	"strings"
	"sync"
)

// In reports whether a text, such as the name of a field, names something that proves who somebody is.
func In(text string) bool { return secretWords().MatchString(splitCamel(text)) }

// secretWords match after splitCamel.
var secretWords = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(pass ?(word|wd|phrase|code)s?|pwd|pin|secret|credentials?|(api|access|private|secret|ssh|signing) ?keys?|` +
		`(access|auth|bearer|refresh|session|api|security) ?tokens?|token|otp|one ?time ?(code|password)|cvv|cvc|(credit ?)?card ?number|` +
		`ssn|social ?security ?number|seed ?phrase|recovery ?(code|phrase))\b`)
})

// splitCamel writes apiKey, api_key and api-key as api Key, api key and api key.
func splitCamel(text string) string {
	var b strings.Builder
	var lower bool
	for _, r := range text {
		switch upper := r >= 'A' && r <= 'Z'; {
		case r == '_' || r == '-' || r == '.':
			r = ' '
		case upper && lower:
			b.WriteByte(' ')
		}
		lower = r >= 'a' && r <= 'z' || r >= '0' && r <= '9'
		b.WriteRune(r)
	}
	return b.String()
}
