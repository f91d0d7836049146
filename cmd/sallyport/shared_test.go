//go:build postgres

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport-mcp/sallyport/internal/postgrestest"
)

// machine is a host with a disk of its own, and a database that it shares.
type machine struct {
	t      *testing.T
	config string // file
	state  string
	dir    string // the plugin folder
}

// newMachine returns a machine with an empty plugin folder.
func newMachine(t *testing.T, database string) *machine {
	t.Helper()
	home := t.TempDir()
	m := &machine{t: t, config: filepath.Join(home, "sallyport.yaml"), state: filepath.Join(home, "state"), dir: filepath.Join(home, "plugins")}
	put(t, m.config, []byte("store: "+database+"\n"))
	if err := os.Mkdir(m.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return m
}

// program returns a command on the machine.
func (m *machine) program(args ...string) *exec.Cmd {
	m.t.Helper()
	self, err := os.Executable()
	if err != nil {
		m.t.Fatal(err)
	}
	cmd := exec.Command(self, append(args, "--config", m.config, "--state", m.state)...)
	cmd.Env = append(os.Environ(), asProgram+"=1", "HOME="+filepath.Dir(m.config))
	return cmd
}

// serve starts a host, and returns a session with it.
func (m *machine) serve(args ...string) *mcp.ClientSession {
	m.t.Helper()
	return session(m.t, commandTransport(m.program(append([]string{"serve", m.dir}, args...)...)), nil)
}

// output runs a command, and returns its output and exit code.
func (m *machine) output(args ...string) (out string, code int) {
	m.t.Helper()
	cmd := m.program(args...)
	raw, _ := cmd.CombinedOutput() // the exit code is checked
	return string(raw), cmd.ProcessState.ExitCode()
}

// lines makes calls that are recorded in the audit log.
func (m *machine) lines() {
	m.t.Helper()
	put(m.t, filepath.Join(m.dir, "speaker.wasm"), speaker("Speaks.", "hello"))
	s := m.serve()
	if got := text(call(m.t, s, "speaker-say", nil)); got != "hello" {
		m.t.Fatalf("got %q, want hello", got)
	}
	if err := s.Close(); err != nil {
		m.t.Fatal(err)
	}
}

// sharedDatabase is a schema of the test's own.
func sharedDatabase(t *testing.T) string {
	t.Helper()
	return postgrestest.Schema(t, t.Name())
}

// The audit log of a machine whose disk was lost is found out there, and named elsewhere.
func TestShared_auditTellsALostDisk(t *testing.T) {
	database := sharedDatabase(t)
	one, two := newMachine(t, database), newMachine(t, database)
	one.lines()
	two.lines()
	if out, code := one.output("audit", "verify"); code != 0 || !strings.Contains(out, "whole: ") || !strings.Contains(out, "not verified here: 1 chain of ") || !strings.Contains(out, ":"+two.state+", the last line of 20") {
		t.Errorf("got exit code %d, %s, want a whole log, and the other machine named", code, out)
	}
	files := filepath.Join(t.TempDir(), "lines")
	exported, err := one.program("audit", "export").Output()
	if err != nil {
		t.Fatal(err)
	}
	put(t, files, exported)
	if out, code := one.output("audit", "verify", files); code != 0 {
		t.Errorf("the lines of one machine: got exit code %d, %s, want 0", code, out)
	}
	if out, code := one.output("audit", "verify", files, "--heads"); code != 1 || !strings.Contains(out, "the chain is not in these files; it had ") || !strings.Contains(out, "as the database tells") {
		t.Errorf("the lines of one machine of two: got exit code %d, %s, want the chain of the other missing", code, out)
	}
	if err := os.RemoveAll(two.state); err != nil {
		t.Fatal(err)
	}
	two.lines()
	if out, code := two.output("audit", "verify"); code != 1 || !strings.Contains(out, "the chain is gone; the database has its line ") {
		t.Errorf("after its disk was lost: got exit code %d, %s, want the chain gone", code, out)
	}
}

// Without the database the log is verified, and the missing comparison is a finding.
func TestShared_auditNeedsItsHeads(t *testing.T) {
	at, err := postgrestest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = at.Close() })
	m := newMachine(t, at.URL("owner", "public"))
	m.lines()
	if err := at.Crash(); err != nil {
		t.Fatal(err)
	}
	if out, code := m.output("audit", "verify"); code != 1 || !strings.Contains(out, "the heads in the database cannot be read, so that a disk that was set back is not found out") || !strings.Contains(out, "in 1 chain") {
		t.Errorf("got exit code %d, %s, want the log without its heads", code, out)
	}
	if err := at.Begin(); err != nil {
		t.Fatal(err)
	}
	if out, code := m.output("audit", "verify"); code != 0 {
		t.Errorf("got exit code %d, %s, want 0", code, out)
	}
}
