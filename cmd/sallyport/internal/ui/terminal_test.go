//go:build unix

package ui_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui/terminaltest"
)

// asAsker is the variable that makes the test binary a program with one question, about its value.
const asAsker = "SALLYPORT_TEST_ASKS"

func TestMain(m *testing.M) {
	text := os.Getenv(asAsker)
	if text == "" {
		os.Exit(m.Run())
	}
	t, err := ui.OpenTerminal()
	if err != nil {
		fmt.Println(err, errors.Is(err, ui.ErrNoTerminal))
		os.Exit(0)
	}
	defer t.Close()
	yes, err := t.Confirm(context.Background(), ui.Fit(text), "allow it?")
	fmt.Println(yes, err)
}

// asker returns the command of that program. Its standard input holds a yes that must not count.
func asker(t *testing.T, out *strings.Builder) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), asAsker+"=weather wants the world\n")
	cmd.Stdin, cmd.Stdout = strings.NewReader("y\ny\n"), out
	return cmd
}

func TestConfirm_isTrueForYesOnly(t *testing.T) {
	for typed, want := range map[string]string{
		"y": "true <nil>", "Yes": "true <nil>", " yes ": "true <nil>",
		"": "false <nil>", "n": "false <nil>", "yess": "false <nil>", "\x04": "false <nil>", strings.Repeat("y", 1000): "false <nil>",
	} {
		var out strings.Builder
		p := terminaltest.Start(t, asker(t, &out))
		p.Expect("weather wants the world\r\n\r\nallow it? [y/N] ")
		p.Type(typed)
		if err := p.Wait(); err != nil || out.String() != want+"\n" {
			t.Errorf("%.20q: got %q, %v, want %q", typed, out.String(), err, want+"\n")
		}
	}
}

// A terminal of few columns does not break the lines of a plugin: the rest of a line is indented.
func TestFit_isNoWiderThanTheTerminal(t *testing.T) {
	const columns = 40
	var out, text strings.Builder
	ui.Indent(&text, "a forecast for "+strings.Repeat("x", columns-len("    a forecast for "))+"signed  by ann@acme.example, as its source requires")
	cmd := asker(t, &out)
	cmd.Env = append(cmd.Env, asAsker+"="+text.String())
	p := terminaltest.StartSized(t, cmd, columns)
	p.Expect("allow it? [y/N] ")
	lines := strings.Split(p.Seen(), "\r\n")
	for _, line := range lines[:len(lines)-2] {
		if len(line) > columns || !strings.HasPrefix(line, "    ") {
			t.Errorf("got the line %q, want it indented, with %d columns at most", line, columns)
		}
	}
	p.Type("n")
	if err := p.Wait(); err != nil {
		t.Error(err)
	}
}

// Input typed before the question is shown does not answer it.
func TestConfirm_ignoresEarlierInput(t *testing.T) {
	var out strings.Builder
	cmd := asker(t, &out)
	hold := exec.Command("/bin/sh", "-c", `sleep 1; exec "$0"`, cmd.Path)
	hold.Env, hold.Stdin, hold.Stdout = cmd.Env, cmd.Stdin, cmd.Stdout
	p := terminaltest.Start(t, hold)
	p.Type("y")
	p.Expect("allow it? [y/N] ")
	p.Type("n")
	if err := p.Wait(); err != nil || out.String() != "false <nil>\n" {
		t.Errorf("got %q, %v, want %q", out.String(), err, "false <nil>\n")
	}
}

// OpenTerminal fails in a process without a controlling terminal, independent of its standard input.
func TestOpenTerminal_failsWithoutOne(t *testing.T) {
	var out strings.Builder
	cmd := asker(t, &out)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Run(); err != nil || out.String() != "there is no terminal to ask at true\n" {
		t.Errorf("got %q, %v, want %q", out.String(), err, "there is no terminal to ask at true\n")
	}
}
