//go:build postgres

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport-mcp/sallyport/internal/postgrestest"
	"github.com/sallyport-mcp/sallyport/transport/console"
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

// output runs a command, and returns the words of its output and its exit code.
func (m *machine) output(args ...string) (out string, code int) {
	m.t.Helper()
	cmd := m.program(args...)
	raw, _ := cmd.CombinedOutput() // the exit code is checked
	return strings.Join(strings.Fields(string(raw)), " "), cmd.ProcessState.ExitCode()
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

// put replaces the speaker of a machine.
func (m *machine) put(says string) {
	m.t.Helper()
	put(m.t, filepath.Join(m.dir, "speaker.wasm"), speaker("Speaks.", says))
}

// approve answers the question of a command with yes.
func (m *machine) approve(args ...string) {
	m.t.Helper()
	if screen, code := answer(m.t, m.program(append([]string{"approve", "speaker", m.dir}, args...)...), "y"); code != 0 {
		m.t.Fatalf("approve: got exit code %d, want 0\n%s", code, screen)
	}
}

// says waits until a host answers so.
func says(t *testing.T, s *mcp.ClientSession, want string) {
	t.Helper()
	eventually(t, "it says "+want, func() bool {
		r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "speaker-say"})
		return err == nil && text(r) == want
	})
}

// Three machines serve what one of them approved, also if their files are others, and a new one with a disk of its own too.
// No lock file is made.
func TestShared_oneApprovalIsForAllMachines(t *testing.T) {
	database := sharedDatabase(t)
	var all []*machine
	var hosts []*mcp.ClientSession
	for range 3 {
		m := newMachine(t, database)
		m.put("first")
		all, hosts = append(all, m), append(hosts, m.serve())
		says(t, hosts[len(hosts)-1], "first") // and is pinned from then on
	}
	all[1].put("second")
	fresh := newMachine(t, database)
	fresh.put("second")
	hosts = append(hosts, fresh.serve())
	for _, s := range hosts {
		says(t, s, "first")
	}
	if out, code := all[0].output("list", all[0].dir); code != 0 || strings.Contains(out, "held") {
		t.Errorf("list: got exit code %d, %s, want nothing held", code, out)
	}
	all[1].approve()
	for _, s := range hosts {
		says(t, s, "second")
	}
	if out, code := all[2].output("prune", "--unused", "0"); code != 0 || !strings.Contains(out, "copies of replaced plugins in the database: 2 files removed") {
		t.Errorf("prune: got exit code %d, %s, want the first bytes and their terms removed", code, out)
	}
	all[2].put("third")
	all[2].approve("--reject")
	if out, code := all[2].output("list", all[2].dir); code != 0 || !strings.Contains(out, "were rejected, and the approved ones serve") {
		t.Errorf("list after a rejection: got exit code %d, %s, want it said", code, out)
	}
	all[0].put("third")
	eventually(t, "the rejection is known elsewhere", func() bool {
		out, code := all[0].output("list", all[0].dir)
		return code == 0 && strings.Contains(out, "were rejected, and the approved ones serve")
	})
	says(t, hosts[0], "second")
	for _, m := range all {
		if _, err := os.Stat(filepath.Join(m.state, "sallyport.lock")); err == nil {
			t.Error("got a lock file, want none")
		}
	}
}

// The console of a machine approves for the others.
func TestShared_theConsoleApprovesForAllMachines(t *testing.T) {
	database := sharedDatabase(t)
	one, two := newMachine(t, database), newMachine(t, database)
	one.put("first")
	two.put("first")
	a, b := one.serve(), two.serve()
	says(t, a, "first")
	says(t, b, "first")
	one.put("second")
	address := consoleAt(t, one.state)
	var shown console.Review
	order := func(do string) (code int, said string) {
		for _, h := range shownBy(t, address).Hosts {
			code, said = atConsole(t, address, "POST", "/order", map[string]string{"do": do, "host": h.ID, "plugin": "speaker", "seen": shown.Seen})
		}
		return code, said
	}
	eventually(t, "the console shows it", func() bool {
		code, said := order("review")
		return code == http.StatusOK && json.Unmarshal([]byte(said), &shown) == nil && shown.Seen != ""
	})
	if code, said := order("approve"); code != http.StatusOK {
		t.Fatalf("got %d, %s, want %d", code, said, http.StatusOK)
	}
	says(t, a, "second")
	says(t, b, "second")
}

// askOperator asks the operator's address of a host; the code is 0 if there is no answer.
func askOperator(t *testing.T, socket, path string) (code int, said string) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	r, err := client.Get("http://localhost" + path)
	if err != nil {
		return 0, err.Error()
	}
	defer r.Body.Close()
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return 0, err.Error()
	}
	return r.StatusCode, string(raw)
}

// A host that starts while the database is away serves no plugin of the folder, and says so; one that runs serves what was
// approved. Both go on when it is back, without a restart.
func TestShared_withoutTheDatabaseNothingIsApproved(t *testing.T) {
	at, err := postgrestest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = at.Close() })
	m, late := newMachine(t, at.URL("owner", "public")), newMachine(t, at.URL("owner", "public"))
	m.put("first")
	late.put("other")
	running := m.serve()
	says(t, running, "first")
	if err := at.Crash(); err != nil {
		t.Fatal(err)
	}
	operator := filepath.Join(t.TempDir(), "admin")
	started := late.serve("--admin", "unix:"+operator)
	eventually(t, "it is not ready, and says why", func() bool {
		code, said := askOperator(t, operator, "/ready")
		return code == http.StatusServiceUnavailable && strings.Contains(said, "the approved plugins are not known: ")
	})
	if list, err := started.ListTools(t.Context(), nil); err != nil || len(list.Tools) > 0 {
		t.Errorf("a host that starts: got %+v, %v, want no tools", list, err)
	}
	if out, code := late.output("list", late.dir); code != 0 || !strings.Contains(out, "the approvals cannot be read, and nothing serves until then: ") {
		t.Errorf("list: got exit code %d, %s, want the reason", code, out)
	}
	m.put("second")
	says(t, running, "first")
	if err := at.Begin(); err != nil {
		t.Fatal(err)
	}
	says(t, started, "first") // the bytes of the other machine
	if code, said := askOperator(t, operator, "/ready"); code != http.StatusOK {
		t.Errorf("got %d %s, want it ready", code, said)
	}
	m.approve()
	says(t, running, "second")
	says(t, started, "second")
	_, counted := askOperator(t, operator, "/metrics")
	if !strings.Contains(counted, `sallyport_store_duration_seconds_count{operation="read"} `) || strings.Contains(counted, "\nsallyport_store_unavailable_total 0\n") {
		t.Errorf("got %s, want the reads of the database and its absence counted", counted)
	}
}

// A host that meets an older backup of its database serves what was approved then, and says so.
func TestShared_anOlderDatabaseIsTold(t *testing.T) {
	at := postgrestest.New(t)
	line := at.NewLine(t)
	m := newMachine(t, line.URL)
	m.put("first")
	var log bytes.Buffer
	p := m.program("serve", m.dir)
	p.Stderr = &log
	s := session(t, commandTransport(p), nil)
	says(t, s, "first") // and is pinned from then on
	backup, err := at.Dump()
	if err != nil {
		t.Fatal(err)
	}
	m.put("second")
	m.approve()
	says(t, s, "second")
	line.Cut()
	if err := at.Restore(backup); err != nil {
		t.Fatal(err)
	}
	line.Mend()
	says(t, s, "first")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	const want = "the lock in the database is an older one: plugins that were approved since are held, which sallyport list shows"
	if n := strings.Count(log.String(), want); n != 1 {
		t.Errorf("got the warning %d times, want once\n%s", n, log.String())
	}
}
