package grant

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// foldName returns the same spelling for all names that a case-insensitive file system may treat as equal: the least
// rune of each Unicode case-folding orbit, in lower case, without the characters that HFS+ ignores.
func foldName(name string) string {
	for i := range len(name) {
		if name[i] >= utf8.RuneSelf {
			return strings.ToLower(strings.Map(foldRune, name))
		}
	}
	return strings.ToLower(name)
}

func foldRune(r rune) rune {
	if ignored(r) {
		return -1
	}
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return least
}

// ignored reports whether HFS+ ignores a character in a name, by Apple's Technical Note 1150.
func ignored(r rune) bool {
	return r >= 0x200c && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x206a && r <= 0x206f || r == 0xfeff
}
