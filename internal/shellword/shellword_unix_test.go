//go:build unix

package shellword

import (
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// The shell of this system reads each word as the text.
func TestQuoted_isOneWordOfTheShell(t *testing.T) {
	texts := []string{"", "plain", "/a/b-1.wasm", "a b", "$(calc)", "`calc`", "it's", `a\b`, `\'`, "a\nb", "~", "*", "é", "-n", "a;calc", "#"}
	r := rand.New(rand.NewPCG(20261127, 1))
	letters := []rune("a/ \"'`$\\(){};&|<>~!*?[]#@,é\n\t")
	for range 2_000 {
		var b strings.Builder
		for range r.IntN(12) {
			b.WriteRune(letters[r.IntN(len(letters))])
		}
		texts = append(texts, b.String())
	}
	var script strings.Builder
	script.WriteString(`printf '%s\0'`)
	for _, text := range texts {
		script.WriteString(" " + Quoted(text))
	}
	out, err := exec.Command("sh", "-c", script.String()).Output()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	if !slices.Equal(got, texts) {
		t.Errorf("got %q, want %q", got, texts)
	}
}
