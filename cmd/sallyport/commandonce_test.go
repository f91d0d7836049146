//go:build unix

package main

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// startsAt is the day of the clock in a program that started before its calls.
const startsAt = "2026-01-01"

var today = regexp.MustCompile(`2\d{3}-\d\d-\d\d`)

func TestProgram_startsOnceForAllCalls(t *testing.T) {
	s := connect(t, "plugins: {command: {workspace: "+t.TempDir()+", grants: ['fs: write {workspace}/**']}}", wrapped(t))
	for range 3 {
		for _, input := range []string{"", "abc", strings.Repeat("x", 300_000)} {
			want := fmt.Sprintf("%s 1 %d <nil> plain\n", startsAt, len(input))
			if got := text(call(t, s, "command-once", map[string]any{"text": input})); got != want {
				t.Errorf("input of %d bytes: got %q, want %q", len(input), got, want)
			}
		}
		if got, want := text(call(t, s, "command-once", nil)), startsAt+" 1 0 <nil> plain\n"; got != want {
			t.Errorf("no input: got %q, want %q", got, want)
		}
		r := call(t, s, "command-once", map[string]any{"text": "fail"})
		if got := text(r); kindOf(r) != "exit" || exitCodeOf(r) != 3 || !strings.HasSuffix(got, "\nas asked") {
			t.Errorf("a failure: got kind %q, code %d, %q, want exit, 3 and the end of standard error", kindOf(r), exitCodeOf(r), got)
		}
		if got := text(call(t, s, "command-count", nil)); got != "1\n" {
			t.Errorf("another tool of the file: got %q, want 1", got)
		}
	}
	var calls sync.WaitGroup
	for i := range 16 {
		calls.Go(func() {
			want := fmt.Sprintf("%s 1 %d <nil> plain\n", startsAt, i)
			if got := text(call(t, s, "command-once", map[string]any{"text": strings.Repeat("x", i)})); got != want {
				t.Errorf("call %d of 16 at a time: got %q, want %q", i, got, want)
			}
		})
	}
	calls.Wait()
}

func TestProgram_startsForEachCallIfItsStartIsNotTheSame(t *testing.T) {
	s := connect(t, "plugins: {command: {workspace: "+t.TempDir()+", grants: ['fs: write {workspace}/**']}}", wrapped(t))
	for tool, want := range map[string]string{
		"speaks": "ready\nDAY 1 2 <nil> plain\n",
		"warns":  "DAY 1 2 <nil> plain\n",
		"draws":  "DAY 1 2 <nil> plain\n",
		"looks":  "DAY 1 2 <nil> plain\n",
		"waits":  "DAY 1 2 <nil> plain\n",
		"ends":   "never read\n",
	} {
		for range 2 {
			got := text(call(t, s, "command-"+tool, map[string]any{"text": "ab"}))
			if strings.Contains(got, startsAt) || today.ReplaceAllString(got, "DAY") != want {
				t.Errorf("%s: got %q, want %q of today", tool, got, want)
			}
		}
	}
}
