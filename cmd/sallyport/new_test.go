package main

import (
	"strings"
	"testing"
)

func TestNew_listsWhatIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	var out strings.Builder
	if err := listLanguages(stdio{out: &out}, projects()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"c     missing: clang: apt install clang; wasm-ld: apt install lld\n",
		"rust  missing: cargo: rustup, or apt install cargo; rustc: ",
		"ts    needs no tools\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got %s, want %q", out.String(), want)
		}
	}
}
