//go:build unix

package main

import (
	"bytes"
	"strings"
	"syscall"
	"testing"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/terminal/terminaltest"
)

// A tool that is called at a terminal may ask the person there, round after round; a no is a decline, and without a
// terminal nobody is asked, whatever stands on the standard input.
func TestCall_asksAtTheTerminal(t *testing.T) {
	args := []string{"call", bundled(t, "conformance"), "test_input_required_result_multi_round", "--grant", "elicitation"}
	run := func(talk func(p *terminaltest.Person)) (string, int) {
		cmd := program(t, "", args...)
		var out bytes.Buffer
		cmd.Stdin, cmd.Stdout = strings.NewReader("y\nAda\ny\nblue\n"), &out
		p := terminaltest.Start(t, cmd)
		talk(p)
		_ = p.Wait() // its code says it
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
		t.Errorf("%d %s", code, out)
	}
	out, _ = run(func(p *terminaltest.Person) {
		p.Expect("answer it? [y/N] ")
		p.Type("n")
	})
	if strings.Contains(out, "input_required") || strings.Contains(out, "Ada") {
		t.Errorf("%s", out)
	}
	alone := program(t, "", args...)
	alone.Stdin, alone.SysProcAttr = strings.NewReader("y\nAda\ny\nblue\n"), &syscall.SysProcAttr{Setsid: true}
	if said, _ := alone.CombinedOutput(); strings.Contains(string(said), "Ada") || !strings.Contains(string(said), "does not declare") {
		t.Errorf("%s", said)
	}
}
