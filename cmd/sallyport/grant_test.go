//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui/terminaltest"
)

// commandOf returns the command printed in a denial.
func commandOf(t *testing.T, said string) string {
	t.Helper()
	_, rest, found := strings.Cut(said, "to allow it: ")
	line, _, _ := strings.Cut(rest, "\n")
	if !found {
		t.Fatalf("got %q", said)
	}
	return line
}

// typed runs a command line in a shell at a terminal, from a different folder.
func typed(t *testing.T, line, home, answer string) (seen, out string, err error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	script := "#!/bin/sh\n" + asProgram + "=1 exec '" + self + "' \"$@\"\n"
	if err := os.WriteFile(filepath.Join(bin, "sallyport"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir, cmd.Env = t.TempDir(), []string{"PATH=" + bin + ":" + os.Getenv("PATH"), home}
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	p := terminaltest.Start(t, cmd)
	if answer != "" {
		p.Expect("[y/N] ")
		p.Type(answer)
	}
	err = p.Wait()
	return p.Seen(), text.String(), err
}

// A denial of an effect that was not announced has a command that, typed as printed, adds the grant to the
// configuration. The host applies it, comments stay, and a quotation mark in a path is escaped.
func TestGrant_printedCommandAddsTheLine(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	note := filepath.Join(work, "it's $(touch no) a note.txt")
	if err := os.WriteFile(note, []byte("remember\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := &askingHost{t: t, dir: folder(t, bundled(t, "files")), state: filepath.Join(t.TempDir(), "state"), config: "# mine\nplugins:\n  time:\n    disabled: true # really\n"}
	serve := h.program("serve", h.dir)
	home := serve.Env[len(serve.Env)-1]
	file := filepath.Join(strings.TrimPrefix(home, "HOME="), "sallyport.yaml")
	s := h.connect(serve)
	read := func() (string, bool) {
		r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "files-read", Arguments: map[string]any{"path": note}})
		if err != nil {
			t.Fatal(err)
		}
		return text(r), r.IsError
	}
	said, failed := read()
	line := commandOf(t, said)
	if !failed || !strings.HasPrefix(line, "sallyport grant files 'fs: read ") || !strings.Contains(line, " --config ~/sallyport.yaml") {
		t.Fatalf("got %q, want %q at its start, %q in it", said, "sallyport grant files 'fs: read ", " --config ~/sallyport.yaml")
	}
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	seen, out, err := typed(t, line, home, "n")
	if now, _ := os.ReadFile(file); err == nil || !bytes.Equal(now, before) || !strings.Contains(seen, "+     grants:") || out != "nothing was changed\n" {
		t.Errorf("no: %v %q %q", err, seen, out)
	}
	if seen, out, err = typed(t, line, home, "y"); err != nil || !strings.Contains(out, "from its next call on") {
		t.Fatalf("yes: %v %q %q", err, seen, out)
	}
	now, err := os.ReadFile(file)
	if err != nil || !strings.HasPrefix(string(now), string(before)) || !strings.Contains(string(now), "\n  files:\n    grants:\n      - ") {
		t.Errorf("got %s %v, want %q at its start, %q in it", now, err, string(before), "\n  files:\n    grants:\n      - ")
	}
	eventually(t, "the grant is in force", func() bool {
		said, failed = read()
		return !failed
	})
	if !strings.Contains(said, "remember") {
		t.Errorf("got %q, want %q in it", said, "remember")
	}
	if _, out, err = typed(t, line, home, ""); err == nil || !strings.Contains(out, "allow it already") {
		t.Errorf("twice: %v %q", err, out)
	}
	h.logged(`"by":"terminal","answer":"grant","plugin":"files","what":"fs: read `)
}

// Without a terminal no grant is written.
func TestGrant_needsATerminal(t *testing.T) {
	h := &askingHost{t: t, dir: t.TempDir(), state: filepath.Join(t.TempDir(), "state"), config: "# mine\n"}
	cmd := h.program("grant", "files", "fs: read ~/a")
	cmd.Stdin, cmd.SysProcAttr = strings.NewReader("y\ny\n"), &syscall.SysProcAttr{Setsid: true}
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "there is no terminal to ask at") {
		t.Errorf("got %s %v, want an error, %q in it", out, err, "there is no terminal to ask at")
	}
	file := filepath.Join(strings.TrimPrefix(cmd.Env[len(cmd.Env)-1], "HOME="), "sallyport.yaml")
	if text, err := os.ReadFile(file); err != nil || string(text) != "# mine\n" {
		t.Errorf("got %s %v, want %q", text, err, "# mine\n")
	}
}

// A denial in the call command names the flag to add, quoted for a shell.
func TestCall_refusalSaysWhichFlag(t *testing.T) {
	note := filepath.Join(t.TempDir(), "it's a note.txt")
	if err := os.WriteFile(note, []byte("remember\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	files := bundled(t, "files")
	arguments := `{"path":"` + note + `"}`
	out, err := program(t, "", "call", files, "read", arguments).Output()
	_, rest, found := strings.Cut(string(out), "to allow it: ")
	flag, _, _ := strings.Cut(rest, `"`)
	flag = strings.ReplaceAll(flag, `\\`, `\`)
	if err == nil || !found || !strings.HasPrefix(flag, "--grant 'fs: read ") || strings.Count(string(out), "refused: plugin") != 1 {
		t.Fatalf("got %s %v, want an error, %q at its start, 1", out, err, "--grant 'fs: read ")
	}
	cmd := exec.Command("sh", "-c", `exec "$0" "$@" `+flag, "x")
	full := program(t, "", "call", files, "read", arguments)
	cmd.Args = append([]string{"sh", "-c", `exec "$0" "$@" ` + flag}, full.Args...)
	cmd.Args[3] = full.Path
	cmd.Env = full.Env
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "remember") {
		t.Errorf("%s: got %s %v, want %q in it", flag, out, err, "remember")
	}
}

// A grant for an unknown plugin is written, with a note.
func TestGrant_notesAnUnknownPlugin(t *testing.T) {
	dir := folder(t, bundled(t, "files"))
	h := &askingHost{t: t, dir: dir, state: filepath.Join(t.TempDir(), "state"), config: "dir: " + dir + "\n"}
	gone := &askingHost{t: t, dir: dir, state: h.state, config: "dir: " + dir + "/gone\n"}
	if seen, _, _ := gone.answer("n", "grant", "nosuch", "fs: read ~/a"); !strings.Contains(seen, "the configuration has no plugin nosuch, and no plugin folder") {
		t.Errorf("got %q, want %q in it", seen, "the configuration has no plugin nosuch, and no plugin folder")
	}
	for name, strange := range map[string]bool{"files": false, "flies": true} {
		seen, _, _ := h.answer("n", "grant", name, "fs: read ~/a")
		if got := strings.Contains(seen, "there is no plugin flies in"); got != strange {
			t.Errorf("%s: got %q, want %v", name, seen, strange)
		}
	}
}
