package grant

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// foldName is one spelling for all those that a file system without upper and lower case may take for the same name: the
// least of the letters that Unicode folds to each other, in lower case, without what HFS+ leaves out.
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

// ignored are the characters that do not count in a name of HFS+, by Apple's Technical Note 1150.
func ignored(r rune) bool {
	return r >= 0x200c && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x206a && r <= 0x206f || r == 0xfeff
}
