package shellword

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// powershell parses a double-quoted word as PowerShell does; ok is false if a part of it would run or follow the word.
func powershell(word string) (text string, ok bool) {
	marks := func(r rune) bool { return strings.ContainsRune("\"\u201c\u201d\u201e", r) }
	in := []rune(word)
	if len(in) < 2 || in[0] != '"' {
		return "", false
	}
	var b strings.Builder
	for i := 1; i < len(in); i++ {
		switch {
		case in[i] == '`' && i+1 < len(in):
			i++
			b.WriteRune(in[i])
		case marks(in[i]) && i+1 < len(in) && marks(in[i+1]):
			i++
			b.WriteRune(in[i])
		case marks(in[i]):
			return b.String(), i == len(in)-1
		case in[i] == '$':
			return "", false
		default:
			b.WriteRune(in[i])
		}
	}
	return "", false
}

// cmdRuns reports whether cmd sees a part of the word outside of quotes, where it may be a command.
func cmdRuns(word string) bool {
	inside := false
	for _, r := range word {
		if r == '"' {
			inside = !inside
		} else if !inside {
			return true
		}
	}
	return inside
}

// Text of a plugin in a grant is one word for the shell, and no part of it runs.
func TestQuotedOnWindows_isOneLiteralWord(t *testing.T) {
	for text, want := range map[string]string{
		"net: GET https://a.example/x": `"net: GET https://a.example/x"`, "": `""`, `C:\Users\me\`: `"C:\Users\me\\"`, "a'b": `"a'b"`,
		"x/$(calc)": "\"x/`$(calc)\"", "x`y": "\"x``y\"", `a "b" c`: `"a ""b"" c"`, `a\"`: `"a\\"""`, "x\u201d;calc": "\"x`\u201d;calc\"", "a&calc|%PATH%": `"a&calc|%PATH%"`,
	} {
		if got := quotedOnWindows(text); got != want {
			t.Errorf("%q is typed %s, want %s", text, got, want)
		}
	}
	r := rand.New(rand.NewPCG(20261122, 1))
	letters := []rune("a/ \"'`$\\(){};&|<>^%!\u201c\u201d\u201e\u2019#@,é")
	for range 20_000 {
		var b strings.Builder
		for range r.IntN(12) {
			b.WriteRune(letters[r.IntN(len(letters))])
		}
		text := b.String()
		word := quotedOnWindows(text)
		said, ok := powershell(word)
		// Backslashes in front of a quotation mark are doubled for the program that receives the word.
		if plain := strings.ReplaceAll(said, `\`, ""); !ok || plain != strings.ReplaceAll(text, `\`, "") || cmdRuns(word) {
			t.Fatalf("%q is typed %s, which is %q, %v", text, word, said, ok)
		}
	}
}
