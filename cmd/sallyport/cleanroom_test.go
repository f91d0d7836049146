package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The promises about clean instances; see challenges_test.go.

// With a seed a call has the same result and effects in every process.
func TestChallenge07_nonDeterminism(t *testing.T) {
	file := guest(t, "misbehave")
	facts := func(args ...string) string {
		t.Helper()
		out, err := program(t, "", append([]string{"call", file, "facts"}, args...)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	a, b, c := facts("--seed", "1"), facts("--seed", "1"), facts("--seed", "2")
	if cutReceipt(a) != cutReceipt(b) || cutReceipt(a) == cutReceipt(c) || !strings.Contains(a, "slept 1h0m0s") {
		t.Errorf("seed 1: got %s\nagain: %s\nseed 2: %s\nwant the first two alike, the third not", a, b, c)
	}
	if fuel := member(a, `"fuel": `); fuel == "" || fuel != member(b, `"fuel": `) {
		t.Errorf("got fuel %q and %q, want the same", fuel, member(b, `"fuel": `))
	}
}

// cutReceipt returns a printed result up to its _meta.
func cutReceipt(s string) string {
	before, _, _ := strings.Cut(s, `"_meta"`)
	return before
}

// member returns the rest of the line behind a key.
func member(s, key string) string {
	_, after, _ := strings.Cut(s, key)
	line, _, _ := strings.Cut(after, "\n")
	return strings.TrimSuffix(line, ",")
}

// An endless loop ends at its deadline or at the caller's, and the next call works.
func TestChallenge11_hanging(t *testing.T) {
	s := connect(t, "plugins: {misbehave: {limits: {deadline: 300ms}}}", folder(t, guest(t, "misbehave")))
	unhurried(t, s, "", "misbehave-fine", nil) // compiled from here on
	for range 3 {
		begin := time.Now()
		if r := call(t, s, "misbehave-loop", nil); kindOf(r) != "deadline" {
			t.Errorf("a loop: got kind %q: %s, want deadline", kindOf(r), text(r))
		}
		t.Logf("ended after %v of 300ms", time.Since(begin))
		if got := text(unhurried(t, s, "", "misbehave-fine", map[string]any{"text": "a"})); got != "a" {
			t.Errorf("the next call: got %q, want a", got)
		}
	}
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{
		Meta: mcp.Meta{"dev.sallyport/timeoutMs": 50}, Name: "misbehave-loop"})
	if err != nil || kindOf(r) != "deadline" || !strings.Contains(text(r), "the deadline was exceeded") {
		t.Errorf("with the caller's deadline: got %v, %s, want a deadline exceeded", err, text(r))
	}
}

// Concurrent calls are isolated, and the limits of running and waiting calls hold.
func TestChallenge15_concurrency(t *testing.T) {
	s := connect(t, "plugins: {misbehave: {limits: {concurrency: 3, deadline: 20s}}}", folder(t, guest(t, "misbehave")))
	call(t, s, "misbehave-fine", nil)
	var wg sync.WaitGroup
	var served, refused atomic.Int32
	for i := range 60 {
		wg.Go(func() {
			r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "misbehave-remember", Arguments: map[string]any{"text": fmt.Sprint("secret ", i)}})
			switch {
			case err != nil:
				t.Error(err)
			case kindOf(r) == "limit":
				refused.Add(1)
			case text(r) != "" || r.IsError:
				t.Errorf("call %d: got %q, isError %t, want no memory", i, text(r), r.IsError)
			default:
				served.Add(1)
			}
		})
	}
	wg.Wait()
	t.Logf("%d served, %d refused", served.Load(), refused.Load())
	if served.Load() < 3 {
		t.Errorf("got %d calls served, want 3 or more", served.Load())
	}
	kept := connect(t, "plugins: {misbehave: {state: session}}", folder(t, guest(t, "misbehave")))
	for _, want := range []string{"", "0", "1"} {
		next := map[string]string{"": "0", "0": "1", "1": "2"}[want]
		if got := text(call(t, kept, "misbehave-remember", map[string]any{"text": next})); got != want {
			t.Errorf("a session remembers %q, want %q", got, want)
		}
	}
}

// After many calls, some of which fail, the host has no child process and no more open files than before.
func TestChallenge17_childProcesses(t *testing.T) {
	t.Parallel()
	cmd := program(t, "plugins: {misbehave: {limits: {concurrency: 8, deadline: 100ms}}}", "serve", folder(t, guest(t, "misbehave")))
	s := session(t, commandTransport(cmd), nil)
	proc := filepath.Join("/proc", fmt.Sprint(cmd.Process.Pid))
	if _, err := os.Stat(proc); err != nil {
		t.Skip("this system does not tell")
	}
	count := func() (files int, children string) {
		fds, _ := os.ReadDir(filepath.Join(proc, "fd"))
		lists, _ := filepath.Glob(filepath.Join(proc, "task", "*", "children"))
		for _, l := range lists {
			text, _ := os.ReadFile(l)
			children += string(text)
		}
		return len(fds), children
	}
	calls := 10_000
	if testing.Short() {
		calls = 1_000
	}
	many := func(n int) {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for i := range n / 8 {
					tool := "fine"
					switch {
					case i%200 == 7:
						tool = "trap"
					case i%400 == 9:
						tool = "exit"
					}
					if _, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "misbehave-" + tool, Arguments: map[string]any{"text": "a"}}); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
	}
	many(80)
	before, _ := count()
	many(calls)
	after, children := count()
	t.Logf("%d files before %d calls, %d after", before, calls, after)
	if after > before+8 || children != "" {
		t.Errorf("got %d files open, children %q, want at most %d, none", after, children, before+8)
	}
}
