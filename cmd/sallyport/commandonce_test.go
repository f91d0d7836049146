//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
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

// initializedCall calls a tool whose program tells its arguments, its variables and when its packages were initialized.
func initializedCall(t *testing.T, s *mcp.ClientSession, tool string, args map[string]any) (got struct {
	Args, Env               []string
	Counter                 int
	Initialized, Now, Debug string
}) {
	t.Helper()
	r := call(t, s, "command-"+tool, args)
	if err := json.Unmarshal([]byte(text(r)), &got); err != nil || r.IsError {
		t.Fatalf("%s: got %v, %s, want a JSON object", tool, err, text(r))
	}
	slices.Sort(got.Env)
	return got
}

// Only the packages are initialized once: the arguments are those of the call, of any number and size.
func TestProgram_initializesItsPackagesOnceForAllCalls(t *testing.T) {
	s := connect(t, "plugins: {command: {workspace: "+t.TempDir()+", grants: ['fs: write {workspace}/**']}}", wrapped(t))
	env := []string{"MODE=plain", "NO_COLOR=1", "PWD=/workspace", "TERM=dumb", "TMPDIR=/temp"}
	const room = 8192 // for arguments
	for name, c := range map[string]struct {
		args map[string]any
		want []string
		anew bool
	}{
		"none":      {nil, []string{"--"}, false},
		"one":       {map[string]any{"one": "ä"}, []string{"--one=ä", "--"}, false},
		"an empty":  {map[string]any{"one": "", "values": []string{""}}, []string{"--one=", "--", ""}, false},
		"many":      {map[string]any{"values": slices.Repeat([]string{"ab"}, 300)}, append([]string{"--"}, slices.Repeat([]string{"ab"}, 300)...), false},
		"large":     {map[string]any{"one": strings.Repeat("x", room/2)}, []string{"--one=" + strings.Repeat("x", room/2), "--"}, false},
		"too large": {map[string]any{"one": strings.Repeat("x", room)}, []string{"--one=" + strings.Repeat("x", room), "--"}, true},
		"too many":  {map[string]any{"values": slices.Repeat([]string{"a"}, room/16)}, append([]string{"--"}, slices.Repeat([]string{"a"}, room/16)...), true},
	} {
		for range 2 {
			got := initializedCall(t, s, "main", c.args)
			want := append([]string{"command", "initialized"}, c.want...)
			if !slices.Equal(got.Args, want) {
				t.Errorf("%s: got arguments %.200q, want %.200q", name, got.Args, want)
			}
			if !slices.Equal(got.Env, env) || got.Debug != "" {
				t.Errorf("%s: got variables %q and GODEBUG %q, want %q and none", name, got.Env, got.Debug, env)
			}
			if (got.Initialized == startsAt) == c.anew || got.Now == startsAt || got.Counter != 1 {
				t.Errorf("%s: got packages of %s, %s, call %d, want them initialized before the calls: %t, and each call the first, today",
					name, got.Initialized, got.Now, got.Counter, !c.anew)
			}
		}
	}
	r := call(t, s, "command-main", map[string]any{"fail": true})
	if got := text(r); kindOf(r) != "exit" || exitCodeOf(r) != 3 || !strings.HasSuffix(got, "\ninit as asked") || strings.Contains(got, "allocs") {
		t.Errorf("a failure: got kind %q, code %d, %q, want exit, 3 and the program's own standard error", kindOf(r), exitCodeOf(r), got)
	}
	var calls sync.WaitGroup
	for i := range 16 {
		calls.Go(func() {
			got := initializedCall(t, s, "main", map[string]any{"one": strings.Repeat("x", i)})
			if want := "--one=" + strings.Repeat("x", i); got.Args[2] != want {
				t.Errorf("call %d of 16 at a time: got %q, want %q", i, got.Args[2], want)
			}
		})
	}
	calls.Wait()
}

// A program that keeps an argument while its packages are initialized, or does not come to its main function, starts for
// each call.
func TestProgram_startsForEachCallIfItsPackagesKeepArguments(t *testing.T) {
	s := connect(t, "plugins: {command: {workspace: "+t.TempDir()+", grants: ['fs: write {workspace}/**']}}", wrapped(t))
	for _, tool := range []string{"keeps", "copies", "tells", "exits"} {
		for _, one := range []string{"a", "b"} {
			got := initializedCall(t, s, tool, map[string]any{"one": one})
			if want := []string{"command", "initialized", "--one=" + one}; !slices.Equal(got.Args, want) || got.Initialized == startsAt {
				t.Errorf("%s: got %q of %s, want %q of today", tool, got.Args, got.Initialized, want)
			}
		}
	}
}

// The unused stack of a small program refers to the arguments of its start, which is no reason for a start in each call.
func TestProgram_startsOnceIfItIsSmall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ args, want string }{
		"hello": {`["{greeting}", --, "{values}"]`, "hello [hey -- a b]\n"},
		"flags": {`["--greeting={greeting}", --, "{values}"]`, "hey [a b]\n"},
		"cobra": {`[greet, "--greeting={greeting}", --, "{values}"]`, "hey [a b]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, wasiProgram(t, "starts/"+name))
			tool := func(name, more string) string {
				return "  - {name: " + name + ", inputSchema: {type: object, properties: {greeting: {type: string}, values: {type: array, items: {type: string}}}}, args: " + c.args + more + "}\n"
			}
			put(t, filepath.Join(dir, name+".tool.yaml"), []byte("tools:\n"+tool("once", ", start: once")+tool("anew", "")))
			s := connect(t, "", dir)
			fuel := map[string]float64{}
			for _, tool := range []string{"once", "anew", "once"} {
				r := call(t, s, name+"-"+tool, map[string]any{"greeting": "hey", "values": []string{"a", "b"}})
				if got := text(r); got != c.want {
					t.Errorf("%s: got %q, want %q", tool, got, c.want)
				}
				fuel[tool] = r.Meta["dev.sallyport/receipt"].(map[string]any)["fuel"].(float64)
			}
			const start = 2_000_000 // or more: of Go's runtime and the packages
			if fuel["once"] > fuel["anew"]-start {
				t.Errorf("got %.0f units of fuel, and %.0f with a start in the call, want %d less", fuel["once"], fuel["anew"], start)
			}
		})
	}
}
