//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui/terminaltest"
	"github.com/sallyport-mcp/sallyport/transport/console"
)

// consoleAt waits for the console of a state folder and returns its address.
func consoleAt(t *testing.T, state string) (address string) {
	t.Helper()
	eventually(t, "the console is served", func() bool {
		var where struct{ URL string }
		raw, err := os.ReadFile(filepath.Join(state, "console"))
		if err != nil || json.Unmarshal(raw, &where) != nil {
			return false
		}
		address = where.URL
		code, _ := atConsole(t, address, "GET", "/state", nil)
		return code == http.StatusOK
	})
	return address
}

// atConsole makes one request as the page does; the code is 0 if there is no answer.
func atConsole(t *testing.T, address, method, path string, body any) (code int, answer string) {
	t.Helper()
	base, token, _ := strings.Cut(address, "/#")
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, base+path, bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err.Error()
	}
	return res.StatusCode, string(text)
}

// shownAt is the state shown on the page.
type shownAt struct {
	Hosts     []console.Host
	Calls     []console.Call
	Questions []struct{ ID, Plugin string }
}

func shownBy(t *testing.T, address string) (s shownAt) {
	t.Helper()
	code, text := atConsole(t, address, "GET", "/state", nil)
	if code != http.StatusOK || json.Unmarshal([]byte(text), &s) != nil {
		t.Fatalf("got %d %s, want %v", code, text, http.StatusOK)
	}
	return s
}

// named connects a client of this name, and also returns the host process.
func (h *askingHost) named(client, dir string) (*mcp.ClientSession, *exec.Cmd) {
	h.t.Helper()
	cmd := h.program("serve", dir)
	var stderr spokenHere
	cmd.Stderr = &stderr
	s, err := mcp.NewClient(&mcp.Implementation{Name: client, Version: "1"}, nil).Connect(h.t.Context(), commandTransport(cmd), nil)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		s.Close()
		if text := stderr.text.String(); strings.Contains(text, "/#") {
			h.t.Errorf("stderr: got %s, want no address of the console", text)
		}
	})
	return s, cmd
}

// spokenHere collects the output of a process, to be read after its exit.
type spokenHere struct{ text bytes.Buffer }

func (s *spokenHere) Write(p []byte) (int, error) { return s.text.Write(p) }

// A state folder has one console, which lists its hosts. When the serving process is killed another one takes over,
// with a new token.
func TestConsole_oneForAllHosts(t *testing.T) {
	t.Parallel()
	h := newAskingHost(t, "refuse")
	other := folder(t, bundled(t, "time"))
	_, first := h.named("Claude", h.dir)
	address := consoleAt(t, h.state)
	second, _ := h.named("Cursor\u202e", other)
	var hosts []console.Host
	eventually(t, "both hosts are shown with their clients and plugins", func() bool {
		hosts = shownBy(t, address).Hosts
		return len(hosts) == 2 && len(hosts[0].Clients) == 1 && len(hosts[1].Clients) == 1 && len(hosts[0].Plugins) == 1 && len(hosts[1].Plugins) == 1 &&
			hosts[1].Plugins[0].State == "loaded"
	})
	if hosts[0].Clients[0] != "Claude" || hosts[1].Clients[0] != `Cursor\u202e` || hosts[0].Dir != h.dir || hosts[1].Dir != other || hosts[1].Plugins[0].Name != "time" {
		t.Errorf("got hosts %+v, want those of Claude and Cursor with their folders", hosts)
	}
	if info, err := os.Stat(filepath.Join(h.state, "console")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("console file: got %v, %v, want mode 600", info, err)
	}
	call(t, second, "time-now", nil)
	eventually(t, "a call of the other host is shown", func() bool {
		return slices.ContainsFunc(shownBy(t, address).Calls, func(c console.Call) bool { return c.Plugin == "time" && c.Host == hosts[1].ID && c.Outcome == "ok" })
	})

	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	var next string
	eventually(t, "another process serves it", func() bool {
		next = consoleAt(t, h.state)
		return next != address
	})
	s := shownBy(t, next)
	if len(s.Hosts) != 1 || s.Hosts[0].Clients[0] != `Cursor\u202e` || !slices.ContainsFunc(s.Calls, func(c console.Call) bool { return c.Plugin == "time" }) {
		t.Errorf("got %+v, want 1, %q", s, `Cursor\u202e`)
	}
	base, _, _ := strings.Cut(next, "/#")
	_, old, _ := strings.Cut(address, "/#")
	if code, _ := atConsole(t, base+"/#"+old, "GET", "/state", nil); code != http.StatusUnauthorized {
		t.Errorf("the token of a process that has ended: got %d, want %d", code, http.StatusUnauthorized)
	}
	if left, err := os.ReadDir(filepath.Join(h.state, "hosts")); err != nil || len(left) != 1 {
		t.Errorf("got %v %v, want 1", left, err)
	}
}

// A held plugin of a different folder is shown with its changes, and approved as shown.
func TestConsole_approvesAPluginAsShown(t *testing.T) {
	t.Parallel()
	h := &askingHost{t: t, dir: folder(t, bundled(t, "time")), state: compiledState(t, folder(t, bundled(t, "time")))}
	h.named("first", h.dir)
	address := consoleAt(t, h.state)
	dir := folder(t)
	file := filepath.Join(dir, "speaker.wasm")
	put(t, file, speaker("Says what it is told.", "first"))
	s, _ := h.named("second", dir)
	if got := about(t, s); got != "Says what it is told." {
		t.Fatalf("got %v, want %q", got, "Says what it is told.")
	}
	var host string
	waits := func() string {
		for _, one := range shownBy(t, address).Hosts {
			for _, p := range one.Plugins {
				if one.Dir == dir && p.Name == "speaker" {
					host = one.ID
					return p.State + p.Waits
				}
			}
		}
		return ""
	}
	eventually(t, "it serves", func() bool { return waits() == "loaded" })
	eventually(t, "its bytes are kept and pinned", func() bool {
		locks, err := filepath.Glob(filepath.Join(h.state, "sallyport.lock"))
		return err == nil && slices.ContainsFunc(locks, func(file string) bool {
			text, err := os.ReadFile(file)
			return err == nil && strings.Contains(string(text), "speaker")
		})
	})
	put(t, file, speaker("Says what it is told, and first sends it to evil.example.", "second"))
	eventually(t, "it is held", func() bool { return strings.HasPrefix(waits(), "loadedsha256:") })
	order := func(do, seen string) (int, string) {
		return atConsole(t, address, "POST", "/order", map[string]string{"do": do, "host": host, "plugin": "speaker", "seen": seen})
	}
	code, text := order("review", "")
	var shown console.Review
	if err := json.Unmarshal([]byte(text), &shown); err != nil || code != http.StatusOK || !strings.Contains(shown.Text, "{+told, and first") {
		t.Fatalf("got %d %s, want %v, %q in it", code, text, http.StatusOK, "{+told, and first")
	}
	put(t, file, speaker("Says what it is told, and then sends it to evil.example.", "third"))
	if code, text := order("approve", shown.Seen); code != http.StatusConflict {
		t.Errorf("other bytes than those shown: got %d %s, want %d", code, text, http.StatusConflict)
	}
	if _, text = order("review", ""); json.Unmarshal([]byte(text), &shown) != nil || !strings.Contains(shown.Text, "told, and then") {
		t.Errorf("got %s, want %q in it", text, "told, and then")
	}
	if code, text := order("approve", shown.Seen); code != http.StatusOK {
		t.Errorf("got %d %s, want %v", code, text, http.StatusOK)
	}
	eventually(t, "it serves the new bytes", func() bool { return strings.Contains(about(t, s), "and then") })
	h.logged(`"by":"console","answer":"approve","plugin":"speaker"`)

	put(t, file, speaker("Worse.", "fourth"))
	eventually(t, "it is held again", func() bool { return strings.HasPrefix(waits(), "loadedsha256:") })
	if _, text = order("review", ""); json.Unmarshal([]byte(text), &shown) != nil {
		t.Errorf("review: got %s, want JSON", text)
	}
	if code, text := order("reject", shown.Seen); code != http.StatusOK {
		t.Errorf("got %d %s, want %v", code, text, http.StatusOK)
	}
	h.logged(`"by":"console","answer":"reject","plugin":"speaker"`)
	if got := about(t, s); !strings.Contains(got, "and then") {
		t.Errorf("got %v, want %q in it", got, "and then")
	}
}

// A denied effect that was not announced is granted on the page with the narrowest line, after that was shown.
func TestConsole_grantsTheNarrowestLine(t *testing.T) {
	note := filepath.Join(t.TempDir(), "todo.txt")
	if err := os.WriteFile(note, []byte("remember\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := folder(t, bundled(t, "files"))
	h := &askingHost{t: t, dir: dir, state: compiledState(t, dir), config: "# mine\n"}
	s, cmd := h.named("client", dir)
	config := filepath.Join(strings.TrimPrefix(cmd.Env[len(cmd.Env)-1], "HOME="), "sallyport.yaml")
	address := consoleAt(t, h.state)
	arguments := map[string]any{"path": note}
	if r := call(t, s, "files-read", arguments); !r.IsError {
		t.Fatalf("read without a grant: got %q, want an error", text(r))
	}
	var c console.Call
	eventually(t, "the refusal is shown", func() bool {
		calls := shownBy(t, address).Calls
		i := slices.IndexFunc(calls, func(c console.Call) bool { return c.Plugin == "files" && len(c.Denials) > 0 })
		if i >= 0 {
			c = calls[i]
		}
		return i >= 0
	})
	if c.Denials[0].Line != "fs: read "+note || c.Host == "" {
		t.Fatalf("got %+v, want %q", c, "fs: read "+note)
	}
	order := func(do, line, seen string) (int, string) {
		return atConsole(t, address, "POST", "/order", map[string]string{"do": do, "host": c.Host, "plugin": "files", "line": line, "seen": seen})
	}
	code, text := order("propose", c.Denials[0].Line, "")
	var p console.Proposal
	if err := json.Unmarshal([]byte(text), &p); err != nil || code != http.StatusOK || p.File != config || !slices.Contains(p.Lines, "+       - fs: read "+note) {
		t.Fatalf("got %d %s, want %v, %v", code, text, http.StatusOK, config)
	}
	if now, err := os.ReadFile(config); err != nil || string(now) != "# mine\n" {
		t.Errorf("before an order: got %s, %v, want the file unchanged", now, err)
	}
	if code, text := order("grant", "fs: read /**", p.Seen); code != http.StatusConflict {
		t.Errorf("another line than the one shown: got %d %s, want %d", code, text, http.StatusConflict)
	}
	if code, text := order("grant", c.Denials[0].Line, p.Seen); code != http.StatusOK {
		t.Errorf("got %d %s, want %v", code, text, http.StatusOK)
	}
	eventually(t, "the next call may", func() bool { return !call(t, s, "files-read", arguments).IsError })
	if now, err := os.ReadFile(config); err != nil || !strings.HasPrefix(string(now), "# mine\nplugins:\n") {
		t.Errorf("got %s %v, want %q at its start", now, err, "# mine\nplugins:\n")
	}
	h.logged(`"by":"console","answer":"grant","plugin":"files","what":"fs: read ` + note)
}

// The console command shows the address only at the terminal. Where no host runs, it serves the page itself.
func TestConsole_commandShowsTheAddressAtTheTerminalOnly(t *testing.T) {
	h := &askingHost{t: t, state: filepath.Join(t.TempDir(), "state")}
	alone := h.program("console", "--no-browser")
	var out bytes.Buffer
	alone.Stdout, alone.Stderr = &out, &out
	p := terminaltest.Start(t, alone)
	p.Expect("the console is on http://127.0.0.1:")
	address := consoleAt(t, h.state)
	p.Expect(strings.TrimPrefix(address, "http://127.0.0.1:"))
	again := h.program("console", "--no-browser")
	q := terminaltest.Start(t, again)
	q.Expect(address)
	if err := q.Wait(); err != nil {
		t.Error(err)
	}
	nobody := h.program("console")
	nobody.Env = append(slices.DeleteFunc(nobody.Env, func(s string) bool { return strings.HasPrefix(s, "DISPLAY=") || strings.HasPrefix(s, "WAYLAND") }), "X=1")
	nobody.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	said, err := nobody.CombinedOutput()
	if err == nil || strings.Contains(string(said), "127.0.0.1") || !strings.Contains(string(said), "neither a terminal") {
		t.Errorf("got %s %v, want an error, %q in it", said, err, "neither a terminal")
	}
	if err := alone.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil || strings.Contains(out.String(), "/#") || !strings.Contains(out.String(), "no host runs") {
		t.Errorf("got %v %s, want %q in it", err, out.String(), "no host runs")
	}
	off := program(t, "console: off\n", "console")
	if said, err := off.CombinedOutput(); err == nil || !strings.Contains(string(said), "there is no console: the configuration says console: off") {
		t.Errorf("got %s %v, want an error, %q in it", said, err, "there is no console: the configuration says console: off")
	}
}

// On a desktop the page is opened through an owner-only file, since command lines are visible to every user of the
// machine.
func TestConsole_opensThroughAnOwnerOnlyFile(t *testing.T) {
	h := &askingHost{t: t, state: filepath.Join(t.TempDir(), "state")}
	bin := t.TempDir()
	opened := filepath.Join(bin, "opened")
	script := "#!/bin/sh\necho \"$@\" > " + opened + ".new; mv " + opened + ".new " + opened + "\n"
	if err := os.WriteFile(filepath.Join(bin, "xdg-open"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := h.program("console")
	cmd.Env = append(cmd.Env, "DISPLAY=:0", "PATH="+bin+":"+os.Getenv("PATH"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	var argument []byte
	eventually(t, "the browser is started", func() (ok bool) {
		var err error
		argument, err = os.ReadFile(opened)
		return err == nil
	})
	file := strings.TrimSpace(string(argument))
	info, err := os.Stat(file)
	page, readErr := os.ReadFile(file)
	address := consoleAt(t, h.state)
	if errors.Join(err, readErr) != nil || info.Mode().Perm() != 0o600 || !strings.Contains(string(page), `location.replace("`+address+`")`) {
		t.Errorf("%s: got %v %v %s, want 0o600, %q in it", file, err, info, page, `location.replace("`+address+`")`)
	}
}

// A host over HTTP prints the console's address to a terminal, and only the command to a program that reads its output.
func TestConsole_isAnnouncedToATerminalOnly(t *testing.T) {
	h := &askingHost{t: t, dir: t.TempDir(), state: filepath.Join(t.TempDir(), "state")}
	serve := h.program("serve", h.dir, "--http", "127.0.0.1:0", "--no-token")
	cmd := exec.Command("sh", append([]string{"-c", `exec "$0" "$@" 2>/dev/tty`, serve.Path}, serve.Args[1:]...)...)
	cmd.Env = serve.Env
	p := terminaltest.Start(t, cmd)
	p.Expect("the console is on http://127.0.0.1:")
	address := consoleAt(t, h.state)
	p.Expect(strings.TrimPrefix(address, "http://127.0.0.1:") + "\r\n")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = p.Wait() // it was interrupted
	piped := h.program("serve", h.dir, "--http", "127.0.0.1:0", "--no-token")
	out, err := piped.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := piped.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = piped.Process.Kill(); _ = piped.Wait() })
	var said strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan() && !strings.Contains(lines.Text(), "serving "); {
		said.WriteString(lines.Text() + "\n")
	}
	if text := said.String(); strings.Contains(text, "/#") || !strings.Contains(text, "the console: sallyport console --config ~/sallyport.yaml --state "+h.state) {
		t.Errorf("got %q, want %q in it", text, "the console: sallyport console --config ~/sallyport.yaml --state "+h.state)
	}
}
