package jsonrpc

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestClip_cutsBetweenCharacters(t *testing.T) {
	if got := Clip("short"); got != "short" {
		t.Errorf("got %q, want \"short\"", got)
	}
	got := Clip(strings.Repeat("é", maxClip))
	if len(got) > maxClip+len("…") || !utf8.ValidString(got) {
		t.Errorf("got %q, want at most %d bytes of UTF-8 and an ellipsis", got, maxClip)
	}
	odd := Clip("x" + strings.Repeat("é", maxClip))
	if !utf8.ValidString(odd) {
		t.Errorf("got %q, want UTF-8", odd)
	}
}
