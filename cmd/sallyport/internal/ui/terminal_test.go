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

// asAsker is the variable that makes the test binary a program with one question.
const asAsker = "SALLYPORT_TEST_ASKS"

func TestMain(m *testing.M) {
	if os.Getenv(asAsker) == "" {
		os.Exit(m.Run())
	}
	t, err := ui.OpenTerminal()
	if err != nil {
		fmt.Println(err, errors.Is(err, ui.ErrNoTerminal))
		os.Exit(0)
	}
	defer t.Close()
	yes, err := t.Confirm(context.Background(), "weather wants the world\n", "allow it?")
	fmt.Println(yes, err)
}

// asker returns the command of that program. Its standard input holds a yes that must not count.
func asker(t *testing.T, out *strings.Builder) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), asAsker+"=1")
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
