package plugin

import (
	"strings"
	"testing"
)

func TestLastLine_isBeforeTheStack(t *testing.T) {
	for stderr, want := range map[string]string{
		"": "", "\n \n": "", "one\ntwo\n\n": "two", "no \x1b[31mkey\x1b[0m\u202e\n": "no key", "a\xff": "a\uFFFD",
		"panic: no key\n\ngoroutine 1 [running]:\nmain.main()\n\t/x/main.go:3 +0x2\nexit status 2\n": "panic: no key",
		"n.main()\n\t/x/main.go:3 +0x2\nmain.other()\n\t/x/main.go:5 +0x2\n":                         "",
		strings.Repeat("a", maxSaid+1): strings.Repeat("a", maxSaid) + "…",
	} {
		if got := lastLine([]byte(stderr)); got != want {
			t.Errorf("%.40q: got %q, want %q", stderr, got, want)
		}
	}
}
