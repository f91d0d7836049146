//go:build unix

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui/terminaltest"
)

// Ctrl-C at a question says that nothing was changed, and it is so.
func TestInterrupt_atAQuestionChangesNothing(t *testing.T) {
	for name, answers := range map[string][]string{"install it as time?": nil, "grant it?": {"y"}} {
		a := newAdded(t)
		cmd := a.program("add", bundled(t, "time"), a.dir)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		p := terminaltest.Start(t, cmd)
		for _, line := range answers {
			p.Expect("[y/N] ")
			p.Type(line)
		}
		p.Expect(name + " [y/N] ")
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if err := p.Wait(); err == nil || cmd.ProcessState.ExitCode() != exitError {
			t.Errorf("%s got %v, want exit code %d", name, err, exitError)
		}
		if !strings.HasSuffix(out.String(), "sallyport: interrupted: nothing was changed\n") {
			t.Errorf("%s got %s, want that nothing was changed", name, &out)
		}
		if _, err := os.Stat(a.dir); !os.IsNotExist(err) {
			t.Errorf("%s got a plugin folder, %v, want none", name, err)
		}
	}
}

// Ctrl-C is a way to end sallyport dev, and no failure.
func TestInterrupt_endsDev(t *testing.T) {
	dir := writeFiles(t, "hello.ts", helloDev)
	d, cmd := startedDev(t, filepath.Join(dir, "hello.ts"))
	d.wants("loaded " + filepath.Join(dir, "hello.ts"))
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	wantEnd(t, cmd)
	for line := range d.lines {
		if strings.Contains(line, "sallyport:") {
			t.Errorf("got %q, want an end without a complaint", line)
		}
	}
}
