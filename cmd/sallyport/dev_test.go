package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// helloDev is a script with one tool, and a key that it may not use.
const helloDev = "import { kv, tool } from \"sallyport\";\ntool(\"hello\", \"\", { name: \"string\" }, ({ name }) => `Hello, ${name}!`);\ntool(\"keep\", \"\", async () => { await kv.set(\"a\", 1); return \"kept\"; });\n"

// devSession is a running sallyport dev.
type devSession struct {
	t     *testing.T
	in    io.Writer
	lines chan string
}

// ended stands for the end of the output.
const ended = "\x00"

// wants waits for a line that has a text.
func (d devSession) wants(text string) {
	d.t.Helper()
	for {
		line := soon(d.t, d.lines)
		if line == ended {
			d.t.Fatalf("got the end of the output, want %q", text)
		}
		if strings.Contains(line, text) {
			return
		}
	}
}

func (d devSession) types(line string) { io.WriteString(d.in, line+"\n") }

func startDev(t *testing.T, args ...string) (d devSession, end func()) {
	t.Helper()
	d, cmd := startedDev(t, args...)
	return d, func() {
		d.in.(io.Closer).Close()
		wantEnd(t, cmd)
		for range d.lines {
		}
	}
}

// startedDev is startDev for a test that ends the program itself.
func startedDev(t *testing.T, args ...string) (d devSession, cmd *exec.Cmd) {
	t.Helper()
	cmd = program(t, "", append([]string{"dev"}, args...)...)
	both, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = write, write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	d = devSession{t: t, in: in, lines: make(chan string, 1000)}
	go func() { // ends with the program
		defer close(d.lines)
		for s := bufio.NewScanner(both); s.Scan(); {
			t.Log(s.Text())
			d.lines <- s.Text()
		}
		d.lines <- ended
	}()
	return d, cmd
}

// A saved script is loaded, its cases run, and a line calls a tool. A version that fails is reported with its place, and
// the one before it goes on.
func TestDev_loadsOnSaveAndCalls(t *testing.T) {
	dir := writeFiles(t, "hello.ts", helloDev, "hello.cases.yaml", "cases: [{call: hello, with: {name: Ada}, text: \"Hello, Ada!\"}]")
	file := filepath.Join(dir, "hello.ts")
	save := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d, end := startDev(t, file)
	defer end()
	d.wants("hello.ts: hello, keep")
	d.wants("1 case passed")
	d.types(`hello {"name": "Bob"}`)
	d.wants("Hello, Bob!")
	d.types("keep")
	d.wants("may not store a value")
	d.wants("--grant 'kv: 1MiB'")
	save(strings.Replace(helloDev, "Hello,", "Good day,", 1))
	d.wants("1 of 1 case failed")
	save(helloDev + "const = 1;\n")
	d.wants("hello.ts:4:7: ")
	d.types(`hello {"name": "Bob"}`)
	d.wants("Good day, Bob!")
	d.types("hello x")
	d.wants("the arguments are no JSON object")
	d.types("nowhere")
	d.wants("unknown tool")
}

// The folder of a project is built by its Makefile, and its one plugin is loaded.
func TestDev_buildsAFolder(t *testing.T) {
	dir := writeFiles(t, "Makefile", "hello.py: hello.txt\n\tcp hello.txt hello.py\n", "hello.txt", "from sallyport import tool\n\n@tool\ndef hello(): return 'built'\n")
	d, end := startDev(t, dir)
	defer end()
	d.wants("hello.py: hello")
	d.types("hello")
	d.wants("built")
	if err := os.WriteFile(filepath.Join(dir, "Makefile"), []byte("hello.py:\n\tfalse\n\n.PHONY: hello.py\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.wants("make: ")
	d.types("hello")
	d.wants("built")
}

// A file that is saved while make runs is built too.
func TestDev_seesASaveDuringABuild(t *testing.T) {
	dir := writeFiles(t, "hello.txt", "from sallyport import tool\n\n@tool\ndef hello(): return 'old'\n", "Makefile", `.PHONY: hello.py
hello.py:
	echo run >>.runs
	cp hello.txt hello.py
	test -e .saved || { touch .saved; sed s/old/new/ hello.py >hello.txt; }
`)
	d, end := startDev(t, dir)
	d.wants("hello.py: hello")
	d.types("hello")
	d.wants("new")
	end()
	if runs, err := os.ReadFile(filepath.Join(dir, ".runs")); err != nil || string(runs) != "run\nrun\nrun\n" {
		t.Errorf("got %v and the runs %q, want three: a change, another during it, and none", err, runs)
	}
}

// savingWriter saves a file when a text is written.
type savingWriter struct {
	at   string
	save func()
	to   chan string
}

func (w savingWriter) Write(p []byte) (int, error) {
	if strings.Contains(string(p), w.at) {
		w.save()
	}
	w.to <- string(p)
	return len(p), nil
}

// A file that is saved while the cases run is loaded.
func TestDev_seesASaveDuringItsCases(t *testing.T) {
	t.Setenv(asProgram, "1")
	right := "import { tool } from \"sallyport\";\ntool(\"hello\", \"\", () => \"right\");\n"
	dir := writeFiles(t, "hello.ts", strings.Replace(right, "right", "wrong", 1), "hello.cases.yaml", "cases: [{call: hello, text: right}]")
	file := filepath.Join(dir, "hello.ts")
	in, typed := io.Pipe()
	defer typed.Close()
	d := devSession{t: t, in: typed, lines: make(chan string, 1000)}
	out := savingWriter{at: "1 of 1 case failed", to: d.lines, save: func() {
		if err := os.WriteFile(file, []byte(right), 0o600); err != nil {
			t.Error(err)
		}
	}}
	code := make(chan int)
	go func() {
		code <- run(t.Context(), []string{"dev", file, "--state", filepath.Join(dir, "state")}, stdio{in: in, out: out, err: out})
	}()
	d.wants("1 case passed")
	typed.Close()
	if got := soon(t, code); got != 0 {
		t.Errorf("got exit code %d, want 0", got)
	}
}

func TestDev_wantsOnePlugin(t *testing.T) {
	d, end := startDev(t, writeFiles(t, "a.py", "", "b.py", ""))
	defer end()
	d.wants("has 2 plugins, and dev works on one")
	d.types("hello")
	d.wants("no version of the plugin could be loaded yet")
}
