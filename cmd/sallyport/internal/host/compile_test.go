package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// replaced is the variable of a child process that has a different program in place of its executable.
const replaced = "SALLYPORT_TEST_REPLACED"

func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 3 && os.Args[1] == CompileCommand:
		compileOrPlay()
		os.Exit(0)
	case os.Getenv(confined) != "":
		tryConfined(os.Getenv(confined))
		os.Exit(0)
	case os.Getenv(replaced) != "":
		if err := compileReplaced(os.Getenv(replaced)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// compileOrPlay is the child process: it compiles, or exits as scripted on standard input.
func compileOrPlay() {
	switch script, _ := io.ReadAll(os.Stdin); string(script) {
	case "fine":
	case "refuse":
		fmt.Print("the module is not fine")
		os.Exit(CompileRefused)
	case "panic":
		panic("secret/path/of/the/host")
	case "words":
		fmt.Print("secret words")
		os.Exit(2)
	case "signal":
		p, _ := os.FindProcess(os.Getpid())
		_ = p.Kill()
		select {}
	default:
		fine, err := CompileModule(context.Background(), os.Args[2], strings.NewReader(string(script)), os.Stdout)
		if !fine && err == nil {
			os.Exit(CompileRefused)
		}
	}
}

// compileReplaced compiles a module after this program's file was replaced.
func compileReplaced(dir string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	other := filepath.Join(dir, "other")
	err = os.WriteFile(other, []byte("#!/bin/sh\necho here >"+filepath.Join(dir, "was")+"\n"), 0o755)
	if err := errors.Join(err, os.Rename(other, self)); err != nil {
		return err
	}
	return CompileInChild(filepath.Join(dir, "cache"), slog.New(slog.DiscardHandler))(context.Background(), []byte("\x00asm\x01\x00\x00\x00"))
}

// A file that replaced this program's is not run: it may come from a plugin or an update.
func TestCompileInChild_startsTheRunningProgram(t *testing.T) {
	if goruntime.GOOS == "windows" {
		t.Skip("a program that runs cannot be replaced here")
	}
	self, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	copied := filepath.Join(dir, "host")
	if err := os.WriteFile(copied, self, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(copied)
	cmd.Env = append(os.Environ(), replaced+"="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("run of the copy: got %v, want success: %s", err, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "was")); err == nil {
		t.Errorf("a replaced program: got it started, want the one that runs")
	}
	if compiled, err := os.ReadDir(filepath.Join(dir, "cache")); err != nil || len(compiled) == 0 {
		t.Errorf("got modules %v, %v, want one compiled", compiled, err)
	}
}

// Without a path to the running executable, the file name is used only while the file is unchanged.
func TestExecutable_isUsedOnlyWhileUnchanged(t *testing.T) {
	name := filepath.Join(t.TempDir(), "program")
	write := func(text string) {
		if err := os.WriteFile(name+".new", []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(name+".new", name); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	f := executableOf(name, nil)
	if !f.same() {
		t.Errorf("the unchanged file: got same false, want true")
	}
	write("two")
	if f.same() {
		t.Errorf("a changed file: got same true, want false")
	}
	if os.Remove(name); f.same() || executableOf(name, nil).same() || executableOf(name, os.ErrNotExist).same() {
		t.Errorf("a missing file: got same true, want false")
	}
}

// lines collects log output; first is closed at the first write.
type lines struct {
	mu    sync.Mutex
	text  strings.Builder
	first chan struct{}
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.text.Len() == 0 {
		close(l.first)
	}
	return l.text.Write(p)
}

// logged returns the log without lines about a long compilation, which occur on a slow machine.
func (l *lines) logged() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var b strings.Builder
	for line := range strings.Lines(l.text.String()) {
		if !strings.Contains(line, "is being compiled") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// A long compilation is logged with its reason, and a short one is not.
func TestSayIfLong_logsLongCompilationsOnly(t *testing.T) {
	out := &lines{first: make(chan struct{})}
	log := slog.New(slog.NewTextHandler(out, nil))
	if !sayIfLong(log, time.Hour)() {
		t.Errorf("a short compilation: got a message, want none")
	}
	sayIfLong(log, 0)
	<-out.first
	out.mu.Lock()
	defer out.mu.Unlock()
	if text := out.text.String(); !strings.Contains(text, "being compiled") {
		t.Errorf("got %q, want %q in it", text, "being compiled")
	}
}

// The error has only the reason for a refused module; the trace of a compiler crash goes to the log.
func TestCompileInChild_returnsOnlyTheReason(t *testing.T) {
	for script, c := range map[string]struct{ want, logged string }{
		"fine":                            {"", ""},
		"refuse":                          {"the module is not fine", ""},
		"panic":                           {"the compiler cannot compile this module within its limits (exit status 2)", "secret/path/of/the/host"},
		"words":                           {"the compiler cannot compile this module within its limits (exit status 2)", "the compiler failed"},
		"signal":                          {"the compiler cannot compile this module within its limits (signal: killed)", "the compiler failed"},
		"no module":                       {"the sections of the rewritten module cannot be read", ""},
		"\x00asm\x01\x00\x00\x00":         {"", ""},
		"\x00asm\x01\x00\x00\x00\x01\x01": {"the sections of the rewritten module cannot be read", ""},
	} {
		out := &lines{first: make(chan struct{})}
		err := CompileInChild(t.TempDir(), slog.New(slog.NewTextHandler(out, nil)))(context.Background(), []byte(script))
		if got := fmt.Sprint(err); err == nil && c.want != "" || err != nil && got != c.want {
			t.Errorf("%q: %v, want %s", script, err, c.want)
		}
		if logged := out.logged(); !strings.Contains(logged, c.logged) || c.logged == "" && logged != "" {
			t.Errorf("%q: got log %q, want %q", script, logged, c.logged)
		}
	}
}
