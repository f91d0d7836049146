//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui/terminaltest"
)

// A tool called at a terminal may ask in several rounds. A no is a decline; without a terminal the call fails,
// independent of standard input.
func TestCall_asksAtTheTerminal(t *testing.T) {
	args := []string{"call", bundled(t, "conformance"), "test_input_required_result_multi_round", "--grant", "elicitation"}
	run := func(talk func(p *terminaltest.Person)) (string, int) {
		cmd := program(t, "", args...)
		var out bytes.Buffer
		cmd.Stdin, cmd.Stdout = strings.NewReader("y\nAda\ny\nblue\n"), &out
		p := terminaltest.Start(t, cmd)
		talk(p)
		_ = p.Wait() // its code is read below
		return out.String(), cmd.ProcessState.ExitCode()
	}
	out, code := run(func(p *terminaltest.Person) {
		p.Expect("the plugin asks you, in its own words:\r\n  | Plugin conformance asks:")
		p.Expect("answer it? [y/N] ")
		p.Type("y")
		p.Expect("name= ")
		p.Type("")
		p.Expect("that does not fit: the form does not take this: /name: is required")
		p.Expect("answer it? [y/N] ")
		p.Type("y")
		p.Expect("name= ")
		p.Type("Ada")
		p.Expect("answer it? [y/N] ")
		p.Type("y")
		p.Expect("color= ")
		p.Type("blue")
	})
	if code != 0 || !strings.Contains(out, "Ada") || !strings.Contains(out, "blue") {
		t.Errorf("got %d %s, want 0, %q in it, %q in it", code, out, "Ada", "blue")
	}
	out, _ = run(func(p *terminaltest.Person) {
		p.Expect("answer it? [y/N] ")
		p.Type("n")
	})
	if strings.Contains(out, "input_required") || strings.Contains(out, "Ada") {
		t.Errorf("got %s", out)
	}
	alone := program(t, "", args...)
	alone.Stdin, alone.SysProcAttr = strings.NewReader("y\nAda\ny\nblue\n"), &syscall.SysProcAttr{Setsid: true}
	said, _ := alone.CombinedOutput()
	if strings.Contains(string(said), "Ada") || !strings.Contains(string(said), "sallyport: the tool asks you something: there is no terminal to ask at\nhint: ") {
		t.Errorf("got %s, want %q in it", said, "sallyport: the tool asks you something: there is no terminal to ask at\nhint: ")
	}
	if code := alone.ProcessState.ExitCode(); code != exitError {
		t.Errorf("got %v, want %v", code, exitError)
	}
}

func TestCall_dryRunChangesNothing(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.txt")
	for _, format := range [][]string{{`"would": [ "write `}, {"would write ", "--text"}} {
		args := append([]string{"call", bundled(t, "files"), "write", fmt.Sprintf(`{"path":%q,"text":"x"}`, file), "--grant", "fs: write " + dir + "/**", "--dry-run"}, format[1:]...)
		out, err := program(t, "", args...).Output()
		if got := strings.Join(strings.Fields(string(out)), " "); err != nil || !strings.Contains(got, format[0]) || !strings.Contains(got, "a.txt (1 byte") {
			t.Errorf("got %v %s, want %s", err, got, format[0])
		}
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want no file", err)
	}
}

// A protocol error from the tool is exit code 1, one from the host is exit code 2.
func TestCall_exitCodeTellsWhoseErrorItIs(t *testing.T) {
	for tool, want := range map[string]struct {
		code int
		said string
	}{
		"protocol_error_job": {exitTool, "sallyport: the tool answered error -32603: the job cannot be done\n"},
		"no_such_tool":       {exitError, "sallyport: unknown tool: no_such_tool\n"},
	} {
		cmd := program(t, "", "call", bundled(t, "conformance"), tool)
		said, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != want.code || !strings.Contains(string(said), want.said) {
			t.Errorf("%s: got %d %s, want %v, %q in it", tool, code, said, want.code, want.said)
		}
	}
}
