package jail

import (
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

func TestAliasOnWindows_findsOtherSpellings(t *testing.T) {
	for _, name := range []string{
		"a.", "a ", "a. .", "NUL", "nul.txt", "con", "COM1", "com¹.log", "LPT9.x", "aux .txt", "CONIN$",
		`a\b`, "a:stream", "c:", "PROGRA~1", "a*", "a?b", "a|b", `a"b`,
	} {
		if !aliasOnWindows(name) {
			t.Errorf("%q: got no alias, want one", name)
		}
	}
	for _, name := range []string{"a", ".git", "..a", "a.b.c", "a b", "COM", "COM10", "COMMON", "null", "a~b", "~", "é", "console.log"} {
		if aliasOnWindows(name) {
			t.Errorf("%q: got an alias, want none", name)
		}
	}
}

func TestCheckName_rejectsLongAndNUL(t *testing.T) {
	for name, want := range map[string]wasi.Errno{
		"a": 0, strings.Repeat("a", maxName): 0, strings.Repeat("a", maxName+1): wasi.ENAMETOOLONG, "a\x00": wasi.EINVAL,
	} {
		if got := checkName(name); got != want {
			t.Errorf("%.10q: %v, want %v", name, got, want)
		}
	}
}

func TestSwapCase_swapsLetters(t *testing.T) {
	for in, want := range map[string]string{"aB1": "Ab1", "é": "É", "12": "12"} {
		if got := swapCase(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestClimb_countsLevelsAboveStart(t *testing.T) {
	for path, want := range map[string]int{"a": 0, "..": 1, "a/..": 0, "a/../..": 1, "../../a": 2, "a/b/../../../..": 2} {
		parts, _ := split(path)
		if got := climb(parts); got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
}
