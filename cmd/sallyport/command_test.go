//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// wasiProgram builds the program in testdata/NAME for WASI, once.
var wasiProgram = once(func(t *testing.T, name string) string {
	out := filepath.Join(sharedState(t), name+".wasm")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", out, "./testdata/"+name)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: got %v, want success: %s", name, err, text)
	}
	return out
})

// wrapped returns a plugin folder with the program in testdata/command and its tool file.
func wrapped(t *testing.T) string {
	t.Helper()
	return folder(t, wasiProgram(t, "command"), filepath.Join("testdata", "command", "command.tool.yaml"))
}

// exitCodeOf returns the exit code of a failed program; 0 if there is none.
func exitCodeOf(r *mcp.CallToolResult) int {
	data, _ := r.Meta["dev.sallyport/error"].(map[string]any)
	code, _ := data["exitCode"].(float64)
	return int(code)
}

// retryableOf reports whether a failed result says that it may be retried.
func retryableOf(r *mcp.CallToolResult) bool {
	data, _ := r.Meta["dev.sallyport/error"].(map[string]any)
	retryable, _ := data["retryable"].(bool)
	return retryable
}

// programEnds are the ends of a program, and the client's view of each.
var programEnds = []struct {
	tool string
	args map[string]any
	kind string
	want string // the whole text, or with … at its end its beginning
	code int
}{
	{"gigabyte", nil, "limit", "command-gigabyte: the program's output is over the limit of 8388608 bytes (limits.output)", 0},
	{"jsonline", nil, "limit", "command-jsonline: the program's output is over the limit of 8388608 bytes (limits.output)", 0},
	{"binary", nil, "guest", "command-binary: the program's output is not UTF-8: byte 3 of 5; its tool file can say output: {as: bytes, type: …}", 0},
	{"half", nil, "guest", "command-half: the program's output is not UTF-8: byte 3 of 4; its tool file can say output: {as: bytes, type: …}", 0},
	{"nojson", nil, "guest", "command-nojson: the program's output is empty, and not the JSON that its tool file announces", 0},
	{"silent", nil, "", "", 0},
	{"prompt", nil, "", `Name? hello "" EOF`, 0},
	{"reads", nil, "deadline", "command-reads: the guest did not answer in time: limits.deadline is 2s", 0},
	{"loop", nil, "deadline", "command-loop: the guest did not answer in time: limits.deadline is 2s", 0},
	{"sleep", nil, "deadline", "command-sleep: the guest did not answer in time: limits.deadline is 2s", 0},
	{"exit", map[string]any{"code": 0}, "", "", 0},
	{"exit", map[string]any{"code": 1}, "exit", "command-exit: the program exited with code 1", 1},
	{"exit", map[string]any{"code": 3}, "exit", "command-exit: the thing is missing (exit code 3)", 3},
	{"exit", map[string]any{"code": 75}, "unavailable", "command-exit: the thing is busy (exit code 75)", 75},
	{"exit", map[string]any{"code": 127}, "exit", "command-exit: the program exited with code 127", 127},
	{"exit", map[string]any{"code": 1<<32 - 1}, "exit", "command-exit: the program exited with code 255", 255},
	{"exit", map[string]any{"code": 256}, "", "", 0},
	{"exit", map[string]any{"code": -1}, "invalid", `command-exit: the argument "code" begins with a dash, so the program could read it as an option: this tool takes no such value`, 0},
	{"grep", nil, "", "", 0},
	{"fail", nil, "exit", "command-fail: the program exited with code 1\nstep one\ncannot open the thing", 1},
	{"failout", nil, "exit", "command-failout: the program exited with code 1: usage: command THING", 1},
	{"unread", map[string]any{"text": strings.Repeat("x", 4<<20)}, "", "done\n", 0},
	{"trap", nil, "exit", "command-trap: the program exited with code 2\npanic: as asked…", 2},
	{"fork", nil, "", "open /dev/null: No such file or directory\n", 0},
	{"colour", nil, "", "red", 0},
	{"echo", map[string]any{"one": "a\x00b"}, "invalid", `command-echo: the argument "one" has a NUL byte, which cannot be passed to a program`, 0},
	{"echo", map[string]any{"one": "--help"}, "invalid", `command-echo: the argument "one" begins with a dash, so the program could read it as an option: this tool takes no such value`, 0},
	{"echo", map[string]any{"one": strings.Repeat("x", 1<<20)}, "limit", "command-echo: the command line is over 1048576 bytes: pass large values by the standard input of the tool", 0},
}

func TestProgram_endsAreExact(t *testing.T) {
	t.Parallel()
	s := connect(t, "plugins: {command: {limits: {deadline: 2s, memory: 512MiB}}}", wrapped(t))
	for _, c := range programEnds {
		r := unhurried(t, s, c.kind, "command-"+c.tool, c.args)
		got := text(r)
		beginning, cut := strings.CutSuffix(c.want, "…")
		if strings.HasSuffix(c.want, "type: …}") {
			beginning, cut = c.want, false
		}
		if kindOf(r) != c.kind || r.IsError != (c.kind != "") || exitCodeOf(r) != c.code || got != beginning && !(cut && strings.HasPrefix(got, beginning)) {
			t.Errorf("%s %.60v: got kind %q, code %d, text %.300q, want kind %q, code %d, text %q", c.tool, c.args, kindOf(r), exitCodeOf(r), got, c.kind, c.code, c.want)
		}
		if want := slices.Contains([]string{"unavailable", "limit", "deadline"}, c.kind); retryableOf(r) != want {
			t.Errorf("%s %.60v: retryable is %v, want %v", c.tool, c.args, !want, want)
		}
		if next := text(unhurried(t, s, "", "command-count", nil)); next != "1\n" {
			t.Errorf("after %s the next call got %q, want a new instance", c.tool, next)
		}
	}
}

// trapping writes a program that traps, as those in C and Rust do, into a plugin folder. Go ends a panic with an exit
// code.
func trapping(t *testing.T, dir string) {
	t.Helper()
	var m wasmtest.Module
	m.Memory(1, wasmtest.None)
	m.Export("_start", m.Func(nil, nil, nil, wasmtest.Unreachable))
	put(t, filepath.Join(dir, "traps.wasm"), m.Bytes())
	put(t, filepath.Join(dir, "traps.tool.yaml"), []byte("tools: [{name: run}]\n"))
}

func TestProgram_trapIsNoExitCode(t *testing.T) {
	dir := t.TempDir()
	trapping(t, dir)
	r := call(t, connect(t, "", dir), "traps-run", nil)
	if !r.IsError || kindOf(r) != "trap" || exitCodeOf(r) != 0 || text(r) != "traps-run: the guest trapped: unreachable" {
		t.Errorf("got kind %q, exit code %d, text %q, want a trap", kindOf(r), exitCodeOf(r), text(r))
	}
}

func TestProgram_hasAFolderForTemporaryFiles(t *testing.T) {
	s := connect(t, "", wrapped(t))
	for range 2 { // it is empty at the start of each call
		if r := call(t, s, "command-scratch", nil); r.IsError || text(r) != "0 before, 1 after, content: temporary" {
			t.Errorf("got %q, want an empty folder that keeps a file", text(r))
		}
	}
	if _, err := os.Stat("/temp"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the host: got %v, want no folder /temp", err)
	}
}

func TestProgram_getsItsCommandLine(t *testing.T) {
	s := connect(t, "plugins: {command: {grants: ['config: {MODE: loud}']}}", wrapped(t))
	type echo struct {
		Args       []string
		Stdin, Err string
		Env        []string
		Terminal   bool
		Program    string
	}
	given := []string{"", " ", "a b", "$(id)", "`id`", "'x'", "\"", "--flag", "-", "line\nend", "*", "größe", "\\"}
	r := call(t, s, "command-echo", map[string]any{"one": "1", "values": given, "text": "in\nput", "zone": "Europe/Berlin"})
	var got echo
	raw, err := json.Marshal(r.StructuredContent)
	if err == nil {
		err = json.Unmarshal(raw, &got)
	}
	if err != nil {
		t.Fatalf("echo: got %s, %v, want its structured content", text(r), err)
	}
	if want := append([]string{"1", "--"}, given...); !slices.Equal(got.Args, want) {
		t.Errorf("arguments: got %q, want %q", got.Args, want)
	}
	env := []string{"MODE=loud", "NO_COLOR=1", "PWD=/workspace", "TERM=dumb", "TMPDIR=/temp", "TZ=Europe/Berlin"}
	slices.Sort(got.Env)
	if got.Stdin != "in\nput" || got.Err != "<nil>" || got.Terminal || got.Program != "command" || !slices.Equal(got.Env, env) {
		t.Errorf("got %+v, want the environment %q", got, env)
	}
}

func TestProgram_reachesFilesByItsGrants(t *testing.T) {
	work := t.TempDir()
	s := connect(t, "plugins: {command: {workspace: "+work+", grants: ['fs: write {workspace}/**']}}", wrapped(t))
	write := func(tool, path string, more map[string]any) *mcp.CallToolResult {
		args := map[string]any{"path": path, "text": "content of " + path}
		for k, v := range more {
			args[k] = v
		}
		return call(t, s, "command-"+tool, args)
	}
	if r := write("write", "/workspace/a.txt", nil); r.IsError || text(r) != "written\n" {
		t.Errorf("write: got %q, want written", text(r))
	}
	if raw, err := os.ReadFile(filepath.Join(work, "a.txt")); err != nil || string(raw) != "content of /workspace/a.txt" {
		t.Errorf("the written file: got %q, %v, want content of /workspace/a.txt", raw, err)
	}
	if r := write("write", "b.txt", map[string]any{"code": 4}); !r.IsError || exitCodeOf(r) != 4 {
		t.Errorf("a failing write: got exit code %d: %s, want 4", exitCodeOf(r), text(r))
	}
	if r := write("writeReadOnly", "b.txt", nil); !r.IsError {
		t.Errorf("a write by a read-only tool: got %q, want an error", text(r))
	}
	if r := write("write", filepath.Join(t.TempDir(), "b.txt"), nil); !r.IsError {
		t.Errorf("a write without a grant: got %q, want an error", text(r))
	}
	if r := write("made", "out.txt", nil); text(r) != "content of out.txt" {
		t.Errorf("output of a file: got %q, want content of out.txt", text(r))
	}
	if r := write("made", "other.txt", nil); !r.IsError || !strings.Contains(text(r), "its result /workspace/out.txt cannot be read: the file is older than this call, which did not write it") {
		t.Errorf("a file that was there before: got %q, want an error that says so", text(r))
	}
	if _, err := os.Stat(filepath.Join(work, "b.txt")); err == nil {
		t.Errorf("a call that failed: got its file on the host, want none")
	}
}

func TestProgram_sendsStderrAsProgress(t *testing.T) {
	told := make(chan string, 16)
	s := session(t, &mcp.CommandTransport{Command: program(t, "", "serve", wrapped(t))}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { told <- r.Params.Message },
	})
	p := &mcp.CallToolParams{Name: "command-steps"}
	p.SetProgressToken("p")
	if r, err := s.CallTool(t.Context(), p); err != nil || text(r) != "done\n" {
		t.Fatalf("got %q, %v, want done", text(r), err)
	}
	for _, want := range []string{"step 1", "step 2", "step 3"} {
		if got := soon(t, told); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestProgram_changedToolFileIsAChangedPlugin(t *testing.T) {
	dir := wrapped(t)
	file := filepath.Join(dir, "command.tool.yaml")
	before := statusIn(t, dir, "command")
	one := func(args string) []byte { return []byte("tools:\n  - name: count\n    args: [" + args + "]\n") }
	put(t, file, one("count"))
	if after := statusIn(t, dir, "command"); after["digest"] == before["digest"] || after["digest"] == "" {
		t.Errorf("digest with another tool file: got %v, want one other than %v", after["digest"], before["digest"])
	}
	changed := make(chan struct{}, 16)
	s := session(t, &mcp.CommandTransport{Command: program(t, "plugins: {command: {dev: true}}", "serve", dir)}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
	})
	if got := text(call(t, s, "command-count", nil)); got != "1\n" {
		t.Fatalf("command-count: got %q, want 1", got)
	}
	put(t, file, []byte("tools:\n  - name: hi\n    args: [count]\n"))
	hearsUntil(t, changed, func() bool {
		list, err := s.ListTools(t.Context(), nil)
		return err == nil && len(list.Tools) == 1 && list.Tools[0].Name == "command-hi"
	})
	if got := text(call(t, s, "command-hi", nil)); got != "1\n" {
		t.Errorf("command-hi: got %q, want 1", got)
	}
	put(t, file, []byte("tools:\n  - name: hi\n    arg: [count]\n"))
	eventually(t, "the error is told with its line", func() bool {
		r, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "sallyport://plugins"})
		return err == nil && strings.Contains(r.Contents[0].Text, `command.tool.yaml: line 3: unknown key \"arg\"; did you mean \"args\"?`)
	})
	if got := text(call(t, s, "command-hi", nil)); got != "1\n" {
		t.Errorf("with a broken tool file: got %q, want 1 by the last good one", got)
	}
}

func TestProgram_changedToolFileIsHeldUntilApproved(t *testing.T) {
	dir := wrapped(t)
	state := t.TempDir()
	file := filepath.Join(dir, "command.tool.yaml")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	serve := func() *mcp.ClientSession {
		return session(t, &mcp.CommandTransport{Command: program(t, "", "serve", dir, "--state", state)}, nil)
	}
	if got := text(call(t, serve(), "command-silent", nil)); got != "" {
		t.Fatalf("got %q, want no output", got)
	}
	put(t, file, bytes.Replace(before, []byte("args: [silent]"), []byte("args: [count]"), 1))
	if got := text(call(t, serve(), "command-silent", nil)); got != "" {
		t.Errorf("a changed command line without approval: got %q, want no output", got)
	}
	if screen, code := answer(t, program(t, "", "approve", "command", dir, "--state", state), "y"); code != 0 || !strings.Contains(screen, "silent") || !strings.Contains(screen, "count") {
		t.Fatalf("approve: got exit code %d: %s, want 0 and both command lines", code, screen)
	}
	if got := text(call(t, serve(), "command-silent", nil)); got != "1\n" {
		t.Errorf("after the approval: got %q, want 1", got)
	}
}

func TestProgram_withoutAToolFileSaysWhatToType(t *testing.T) {
	dir := folder(t, wasiProgram(t, "command"))
	out, err := program(t, "", "inspect", filepath.Join(dir, "command.wasm")).CombinedOutput()
	if want := "this is a WASI program (it exports _start) without a tool file beside it, which makes tools of its command line: sallyport wrap " + filepath.Join(dir, "command.wasm") + " writes a first one"; err == nil || !strings.Contains(strings.Join(strings.Fields(string(out)), " "), want) {
		t.Errorf("got %s, want %s", out, want)
	}
	a := newAdded(t)
	text := outputOfError(t, a.program("add", filepath.Join(dir, "command.wasm"), a.dir))
	wantInOrder(t, "add", text, []string{"sallyport wrap " + filepath.Join(dir, "command.wasm") + " writes a first one"})
}

func TestProgram_misnamedToolFileSaysWhatToRename(t *testing.T) {
	dir := wrapped(t)
	if err := os.Rename(filepath.Join(dir, "command.tool.yaml"), filepath.Join(dir, "command.tools.yaml")); err != nil {
		t.Fatal(err)
	}
	out, err := program(t, "", "inspect", filepath.Join(dir, "command.wasm")).CombinedOutput()
	if want := "rename command.tools.yaml to command.tool.yaml"; err == nil || !strings.Contains(strings.Join(strings.Fields(string(out)), " "), want) {
		t.Errorf("got %s, want %s", out, want)
	}
}

func TestWrap_draftsAToolFileFromTheHelp(t *testing.T) {
	dir := folder(t, wasiProgram(t, "command"))
	wasm := filepath.Join(dir, "command.wasm")
	out, err := program(t, "", "wrap", wasm).CombinedOutput()
	if want := "command.tool.yaml: 1 tool, 2 options"; err != nil || !strings.Contains(string(out), want) {
		t.Fatalf("got %v %s, want %s", err, out, want)
	}
	s := connect(t, "", dir)
	list, err := s.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 1 || list.Tools[0].Name != "command-run" || list.Tools[0].Description != "Does as it is told." {
		t.Errorf("got %+v, %v, want only command-run with its description", list, err)
	}
	if got := text(call(t, s, "command-run", map[string]any{"arguments": []string{"count"}})); got != "1\n" {
		t.Errorf("command-run: got %q, want 1", got)
	}
	before, err := os.ReadFile(filepath.Join(dir, "command.tool.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	out, err = program(t, "", "wrap", wasm).CombinedOutput()
	if after, _ := os.ReadFile(filepath.Join(dir, "command.tool.yaml")); err == nil || !strings.Contains(string(out), "--force replaces it") || string(after) != string(before) {
		t.Errorf("a second wrap: got %v %s, want a refusal that names --force, and the file unchanged", err, out)
	}
	if out, err = program(t, "", "wrap", wasm, "--force").CombinedOutput(); err != nil {
		t.Errorf("with --force: got %v %s, want success", err, out)
	}
	if out, err = program(t, "", "wrap", guest(t, "misbehave")).CombinedOutput(); err == nil || !strings.Contains(string(out), "this is no command-line program") {
		t.Errorf("a plugin: got %v %s, want a refusal of what is no command-line program", err, out)
	}
	native := writeFiles(t, "tool", "\x7fELF", "tool.wasm", "\x7fELF")
	for _, name := range []string{"tool", "tool.wasm"} {
		if out, err = program(t, "", "wrap", filepath.Join(native, name)).CombinedOutput(); err == nil || !strings.Contains(string(out), "hint: a program has to be built for WASI: sallyport build --go") {
			t.Errorf("%s: got %v %s, want the next step for a native program", name, err, out)
		}
	}
}

func TestProgram_changedCommandLineIsAnotherInterface(t *testing.T) {
	dir := wrapped(t)
	state := t.TempDir()
	file := filepath.Join(dir, "command.tool.yaml")
	serve := func() *mcp.ClientSession {
		return session(t, &mcp.CommandTransport{Command: program(t, "plugins: {command: {updates: same-interface}}", "serve", dir, "--state", state)}, nil)
	}
	if got := text(call(t, serve(), "command-silent", nil)); got != "" {
		t.Fatalf("got %q, want no output", got)
	}
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	put(t, file, bytes.Replace(before, []byte("args: [silent]"), []byte("args: [count]"), 1))
	if got := text(call(t, serve(), "command-silent", nil)); got != "" {
		t.Errorf("a changed command line under same-interface: got %q, want no output", got)
	}
}

func TestProgram_commandLineIsNotPublished(t *testing.T) {
	list, err := connect(t, "", wrapped(t)).ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(list.Tools)
	if err != nil || strings.Contains(string(raw), "gigabyte\"]") || strings.Contains(string(raw), "dev.sallyport/command") {
		t.Errorf("got tools %s, %v, want none with command lines", raw, err)
	}
}

func TestProgram_dryRunKeepsFiles(t *testing.T) {
	work := t.TempDir()
	s := connect(t, "plugins: {command: {workspace: "+work+", grants: ['fs: write {workspace}/**']}}", wrapped(t))
	p := &mcp.CallToolParams{Name: "command-write", Arguments: map[string]any{"path": "a.txt", "text": "x"}, Meta: mcp.Meta{"dev.sallyport/dryRun": true}}
	r, err := s.CallTool(t.Context(), p)
	if err != nil || r.IsError {
		t.Fatalf("dry run: got %q, %v, want success", text(r), err)
	}
	if _, err := os.Stat(filepath.Join(work, "a.txt")); err == nil {
		t.Errorf("dry run: got a file on the host, want none")
	}
}

// A kept instance would run a program in the memory that the last call left.
func TestProgram_stateNeverKeepsAnInstance(t *testing.T) {
	s := connect(t, "plugins: {command: {state: plugin}}", wrapped(t))
	for range 3 {
		if got := text(call(t, s, "command-count", nil)); got != "1\n" {
			t.Errorf("got %q, want a new instance", got)
		}
	}
}

// A program that has only its --help becomes a tool with a schema.
func TestChallenge21_discoverability(t *testing.T) {
	dir := folder(t, wasiProgram(t, "command"))
	if out, err := program(t, "", "wrap", filepath.Join(dir, "command.wasm")).CombinedOutput(); err != nil {
		t.Fatalf("wrap: got %v, want success: %s", err, out)
	}
	list, err := connect(t, "", dir).ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 1 {
		t.Fatalf("got tools %v, %v, want one", list, err)
	}
	schema, err := json.Marshal(list.Tools[0].InputSchema)
	for _, want := range []string{`"times":{"description":"as often as that","type":"integer"}`, `"loud":{"description":"louder","type":"boolean"}`} {
		if err != nil || !strings.Contains(string(schema), want) {
			t.Errorf("%v: %s is not in %s", err, want, schema)
		}
	}
}

func TestChallenge01_exitCodes(t *testing.T) {
	dir := wrapped(t)
	trapping(t, dir)
	s := connect(t, "plugins: {command: {limits: {deadline: 2s, memory: 64MiB}}}", dir)
	for _, code := range []int{0, 1, 3, 126, 127, 255} {
		r := unhurried(t, s, "", "command-exit", map[string]any{"code": code})
		if exitCodeOf(r) != code || r.IsError != (code != 0) {
			t.Errorf("exit code %d: got %d, isError %v, want isError %v: %s", code, exitCodeOf(r), r.IsError, code != 0, text(r))
		}
	}
	for _, c := range []struct{ tool, kind, text string }{
		{"command-loop", "deadline", ""}, {"command-gigabyte", "limit", ""}, {"command-fail", "exit", ""}, {"traps-run", "trap", ""},
		{"command-memory", "exit", "(limits.memory)"},
	} {
		if r := unhurried(t, s, c.kind, c.tool, nil); !r.IsError || kindOf(r) != c.kind || !strings.Contains(text(r), c.text) {
			t.Errorf("%s: got kind %q, text %.300q, want %s, %q", c.tool, kindOf(r), text(r), c.kind, c.text)
		}
	}
}

// A prompt of a program finds the end of its input at once.
func TestChallenge10_interactivity_ofPrograms(t *testing.T) {
	s := connect(t, "plugins: {command: {limits: {deadline: 60s}}}", wrapped(t))
	if r := call(t, s, "command-prompt", nil); r.IsError || text(r) != `Name? hello "" EOF` {
		t.Errorf("got %q, want the prompt at the end of its input", text(r))
	}
	r := call(t, s, "command-echo", nil)
	if got := text(r); !strings.Contains(got, `"terminal":false`) || !strings.Contains(got, `"NO_COLOR=1"`) || !strings.Contains(got, `"TERM=dumb"`) {
		t.Errorf("got %s, want no terminal", got)
	}
}

func TestGojq_filters(t *testing.T) {
	t.Parallel()
	wasm := bundled(t, "gojq")
	s := connect(t, "", folder(t, wasm, strings.TrimSuffix(wasm, ".wasm")+".tool.yaml"))
	r := call(t, s, "gojq-filter", map[string]any{"filter": ".[] | select(.n > 1) | {m: .n}", "input": `[{"n":1},{"n":2},{"n":3}]`})
	if got, want := text(r), `{"result":[{"m":2},{"m":3}]}`; got != want || r.IsError {
		t.Errorf("got %s, want %s", got, want)
	}
	r = call(t, s, "gojq-text", map[string]any{"filter": ".[", "input": "1"})
	if !r.IsError || exitCodeOf(r) != 3 || !strings.HasPrefix(text(r), "gojq-text: the filter is not valid (exit code 3)\ngojq: invalid query: .[\n") {
		t.Errorf("gojq with a bad filter: got %q, exit code %d, want 3 and its meaning", text(r), exitCodeOf(r))
	}
}
