//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui/terminaltest"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// askingHost is a host under test: a plugin folder, a configuration and a state folder.
type askingHost struct {
	t          *testing.T
	dir, state string
	config     string
	site       string
}

// newAskingHost serves a plugin that announces requests to a local site; ask is the setting of that name.
func newAskingHost(t *testing.T, ask string) *askingHost {
	t.Helper()
	site, file := announced(t)
	h := &askingHost{t: t, dir: folder(t, file), state: filepath.Join(t.TempDir(), "state"), config: "ask: " + ask + "\n", site: site}
	copyCompiled(t, filepath.Join(filepath.Dir(file), "state"), h.state) // compiled once for all tests
	return h
}

// announced returns a local site and a compiled plugin that announces it, shared by all tests.
var announced = func() func(t *testing.T) (site, file string) {
	var once sync.Once
	var site, file string
	return func(t *testing.T) (string, string) {
		t.Helper()
		once.Do(func() {
			site = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("page " + r.URL.Path)) })).URL
			file = announcing(t, site)
			compile := program(t, "", "compile", filepath.Dir(file))
			ownState(compile, filepath.Join(filepath.Dir(file), "state"))
			if out, err := compile.CombinedOutput(); err != nil {
				t.Fatalf("compile: got %v, want success: %s", err, out)
			}
		})
		return site, file
	}
}()

// announcing returns the bundled plugin fetch with its wants narrowed to one site.
func announcing(t *testing.T, site string) string {
	t.Helper()
	wasm, err := os.ReadFile(bundled(t, "fetch"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := wasmbin.Read(wasm)
	if err != nil {
		t.Fatal(err)
	}
	m, _ := b.CustomSection(wasmbin.ManifestSection)
	narrow := strings.Replace(string(m), `"GET https://**"`, `"GET `+site+`/**"`, 1)
	wasm, err = wasmbin.SetCustomSection(wasm, wasmbin.ManifestSection, []byte(narrow))
	if err != nil || narrow == string(m) {
		t.Fatal(err, string(m))
	}
	out := filepath.Join(sharedState(t), "announcing", "fetch.wasm")
	if err := errors.Join(os.RemoveAll(filepath.Dir(out)), os.Mkdir(filepath.Dir(out), 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(out, wasm, 0o644); err != nil {
		t.Fatal(err)
	}
	return out
}

func (h *askingHost) program(args ...string) *exec.Cmd {
	cmd := program(h.t, h.config, args...)
	ownState(cmd, h.state)
	return cmd
}

// serve starts a host process and connects a client.
func (h *askingHost) serve() *mcp.ClientSession {
	h.t.Helper()
	return h.connect(h.program("serve", h.dir))
}

// connect starts a process and connects a client.
func (h *askingHost) connect(serve *exec.Cmd) *mcp.ClientSession {
	h.t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	ctx, cancel := context.WithTimeout(h.t.Context(), time.Minute)
	defer cancel()
	session, err := client.Connect(ctx, commandTransport(serve), nil)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { session.Close() })
	return session
}

// fetch calls the plugin for a page.
func (h *askingHost) fetch(s *mcp.ClientSession, path string) (string, bool) {
	h.t.Helper()
	r, err := s.CallTool(h.t.Context(), &mcp.CallToolParams{Name: "fetch-fetch", Arguments: map[string]any{"url": h.site + path}})
	if err != nil {
		h.t.Fatal(err)
	}
	return text(r), r.IsError
}

// pending returns the open questions, from the command's JSON.
func (h *askingHost) pending() []questionJSON {
	h.t.Helper()
	out, err := h.program("pending", "--json").Output()
	var all []questionJSON
	if err == nil {
		err = json.Unmarshal(out, &all)
	}
	if err != nil {
		h.t.Fatalf("pending: got %s, %v, want questions", out, err)
	}
	return all
}

// one waits for exactly one question.
func (h *askingHost) one() questionJSON {
	h.t.Helper()
	return h.asked("")
}

// asked waits for exactly one question whose effect contains a text.
func (h *askingHost) asked(about string) questionJSON {
	h.t.Helper()
	var all []questionJSON
	eventually(h.t, "one question about "+strconv.Quote(about), func() bool {
		all = slices.DeleteFunc(h.pending(), func(q questionJSON) bool { return !strings.Contains(q.Effect, about) })
		return len(all) == 1
	})
	return all[0]
}

// answer runs a command at a terminal, with a yes on its standard input that must not count.
func (h *askingHost) answer(typed string, args ...string) (seen, out string, code int) {
	h.t.Helper()
	return h.answerAs(func(cmd *exec.Cmd) *exec.Cmd { return cmd }, typed, args...)
}

// answerAs is answer with a change to the command.
func (h *askingHost) answerAs(change func(*exec.Cmd) *exec.Cmd, typed string, args ...string) (seen, out string, code int) {
	h.t.Helper()
	cmd := change(h.program(args...))
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("y\nyes\n"), &stdout, &stderr
	p := terminaltest.Start(h.t, cmd)
	p.Expect("[y/N] ")
	p.Type(typed)
	_ = p.Wait() // its code is read below
	return p.Seen(), stdout.String() + stderr.String(), cmd.ProcessState.ExitCode()
}

// An announced effect is asked about, answered at a terminal, and the answer is kept for its duration.
func TestAnswer_isKeptForItsDuration(t *testing.T) {
	h := newAskingHost(t, "refuse")
	s := h.serve()
	said, failed := h.fetch(s, "/one")
	q := h.one()
	if !failed || !strings.Contains(said, "the operator has been asked") || !strings.Contains(said, "sallyport allow "+q.ID) {
		t.Errorf("got %q, want %q in it, %q in it", said, "the operator has been asked", "sallyport allow "+q.ID)
	}
	if strings.Contains(said, "#") || strings.Contains(strings.ReplaceAll(said, h.site, ""), "127.0.0.1") {
		t.Errorf("a refusal: got %q, want no address of the console", said)
	}
	if out, err := h.program("pending").Output(); err != nil || !strings.Contains(strings.Join(strings.Fields(string(out)), " "), "it announced "+q.Want+", which --want --always allows") ||
		!strings.Contains(string(out), "for callers on stdio (uid ") {
		t.Errorf("got %s %v, want %q in it, %q in it", out, err, "it announced "+q.Want+", which --want --always allows", "for callers on stdio (uid ")
	}
	if out, err := h.program("answer", q.ID).CombinedOutput(); err == nil || !strings.Contains(string(out), q.ID+" is no form: it is an effect, to allow or to deny\nhint: sallyport allow "+q.ID) {
		t.Errorf("got %s %v, want an error, %q in it", out, err, q.ID+" is no form: it is an effect, to allow or to deny\nhint: sallyport allow "+q.ID)
	}
	if out, err := h.program("allow", q.ID, "--want").CombinedOutput(); err == nil || !strings.Contains(string(out), "allows more than one effect") {
		t.Errorf("got %s %v, want an error, %q in it", out, err, "allows more than one effect")
	}
	if _, out, code := h.answer("n", "allow", q.ID); code != exitTool || out != "nothing was changed\n" {
		t.Errorf("got %d %q, want %v, %q", code, out, exitTool, "nothing was changed\n")
	}
	if seen, _, code := h.answer("n", "allow", q.ID, "--once"); code != exitTool || strings.Contains(seen, "any body") {
		t.Errorf("got %d %q, want %v", code, seen, exitTool)
	}
	seen, out, code := h.answer("y", "allow", q.ID, "--always")
	if wide := "grants net: GET " + h.site + "/one?, with any headers and any body "; !strings.Contains(strings.Join(strings.Fields(seen), " "), wide) {
		t.Errorf("allow --always: got %q, want %q in it", seen, wide)
	}
	if code != 0 || out != "allowed always: net: GET "+h.site+"/one?\n" || !strings.Contains(seen, "it says   reads the pages that it is asked for") {
		t.Errorf("got %d %q %q, want 0, %q, %q in it", code, out, seen, "allowed always: net: GET "+h.site+"/one?\n", "it says   reads the pages that it is asked for")
	}
	eventually(t, "the host knows the answer", func() bool { // a call before that may ask again
		said, failed = h.fetch(s, "/one")
		return !failed
	})
	if !strings.Contains(said, "page /one") {
		t.Errorf("got %q, want %q in it", said, "page /one")
	}
	out1, err := h.program("explain", "fetch", "GET "+h.site+"/one").Output()
	if err != nil || !strings.HasPrefix(string(out1), "allowed: GET "+h.site+"/one\n  by the answer "+q.ID+": net: GET "+h.site+"/one?\n") || strings.Contains(string(out1), "no plugin") {
		t.Errorf("explain: got %s, %v, want it allowed by the answer %s", out1, err, q.ID)
	}
	if said, failed := h.fetch(s, "/two"); !failed {
		t.Errorf("/two: got %q, want a refusal", said)
	}
	if _, out, code := h.answer("yes", "deny", h.asked("/two").ID); code != 0 || !strings.HasPrefix(out, "refused: GET") || !strings.Contains(out, "sallyport revoke ") {
		t.Errorf("got %d %q, want 0, %q at its start, %q in it", code, out, "refused: GET", "sallyport revoke ")
	}
	if said, failed := h.fetch(s, "/two"); !failed || !strings.Contains(said, "the operator said no") {
		t.Errorf("got %q, want %q in it", said, "the operator said no")
	}
	list, err := h.program("grants").Output()
	if err != nil || !strings.Contains(string(list), "fetch may net: GET "+h.site+"/one") || !strings.Contains(string(list), "fetch may not GET "+h.site+"/two") {
		t.Errorf("got %s %v, want %q in it, %q in it", list, err, "fetch may net: GET "+h.site+"/one", "fetch may not GET "+h.site+"/two")
	}
	if _, out, code := h.answer("y", "revoke", q.ID); code != 0 || out != "taken back: "+q.ID+"\n" {
		t.Errorf("got %d %q, want 0, %q", code, out, "taken back: "+q.ID+"\n")
	}
	eventually(t, "the host knows that it was taken back", func() bool { _, failed := h.fetch(s, "/one"); return failed })
	h.logged(`"by":"terminal","answer":"allow","question":"`+q.ID+`","plugin":"fetch","digest":"`+q.Digest+`","principal":"`+q.Principal+`","what":"net: GET `+h.site+`/one?"`,
		`"answer":"deny"`, `"answer":"revoke","question":"`+q.ID+`"`)
}

// logged checks that one chain of the audit log has these lines, and that the log verifies.
func (h *askingHost) logged(lines ...string) {
	h.t.Helper()
	out, err := h.program("audit", "tail", "--json").Output()
	if err != nil {
		h.t.Fatal(err)
	}
	for _, want := range lines {
		if !strings.Contains(string(out), want) {
			h.t.Errorf("the audit log lacks %s: %s", want, out)
		}
	}
	if out, err := h.program("audit", "verify").Output(); err != nil {
		h.t.Errorf("audit verify: got %v, want success: %s", err, out)
	}
}

// The command in a denial works as printed, from any folder, with any characters in the state folder's name.
func TestAnswer_printsACommandThatWorks(t *testing.T) {
	h := newAskingHost(t, "refuse")
	odd := filepath.Join(filepath.Dir(h.state), "it's a $(touch no) state")
	if err := os.Rename(h.state, odd); err != nil {
		t.Fatal(err)
	}
	h.state = odd
	serve := h.program("serve", h.dir)
	home := serve.Env[len(serve.Env)-1]
	s := h.connect(serve)
	said, _ := h.fetch(s, "/typed")
	_, rest, _ := strings.Cut(said, "to allow it: ")
	line, _, found := strings.Cut(rest, ", or the line ")
	if !found || !strings.HasPrefix(line, "sallyport allow "+h.one().ID+" --config ~/sallyport.yaml --state ") {
		t.Fatalf("got %q, want %q at its start", said, "sallyport allow "+h.one().ID+" --config ~/sallyport.yaml --state ")
	}
	if _, out, err := typed(t, line, home, "y"); err != nil || !strings.HasPrefix(out, "allowed once: ") {
		t.Errorf("%s: got %s %v, want %q at its start", line, out, err, "allowed once: ")
	}
	eventually(t, "the host knows the answer", func() bool { _, failed := h.fetch(s, "/typed"); return !failed })
	// In another state folder there is no such question, and the error names the folder.
	elsewhere := h.program("allow", "aaaaaaaa")
	if out, err := elsewhere.CombinedOutput(); err == nil || !strings.Contains(string(out), `no question "aaaaaaaa" waits in `+h.state) {
		t.Errorf("got %s %v, want an error, %q in it", out, err, `no question "aaaaaaaa" waits in `+h.state)
	}
}

// Without a terminal there is no answer, independent of standard input.
func TestAnswer_needsATerminal(t *testing.T) {
	h := newAskingHost(t, "refuse")
	h.fetch(h.serve(), "/one")
	id := h.one().ID
	for _, args := range [][]string{{"allow", id}, {"allow", id, "--always"}, {"deny", id}} {
		cmd := h.program(args...)
		cmd.Stdin, cmd.SysProcAttr = strings.NewReader("y\ny\ny\n"), &syscall.SysProcAttr{Setsid: true}
		out, err := cmd.CombinedOutput()
		if err == nil || cmd.ProcessState.ExitCode() != exitError || !strings.Contains(string(out), "there is no terminal to ask at") {
			t.Errorf("%v: got %s, want an error, %v, %q in it", args, out, exitError, "there is no terminal to ask at")
		}
	}
	h.one()
	list, err := h.program("grants").Output()
	if err != nil || string(list) != "nothing was answered in "+h.state+"\n" {
		t.Errorf("got %s %v, want %q", list, err, "nothing was answered in "+h.state+"\n")
	}
}

// A waiting call continues after an answer in another process.
func TestAnswer_continuesACallInAnotherProcess(t *testing.T) {
	h := newAskingHost(t, "wait")
	s := h.serve()
	type end struct {
		said   string
		failed bool
	}
	ended := make(chan end, 1)
	go func() {
		said, failed := h.fetch(s, "/slow")
		ended <- end{said, failed}
	}()
	if _, out, code := h.answer("y", "allow", h.one().ID); code != 0 || !strings.HasPrefix(out, "allowed once") {
		t.Errorf("got %d %q, want 0, %q at its start", code, out, "allowed once")
	}
	if e := <-ended; e.failed || !strings.Contains(e.said, "page /slow") {
		t.Errorf("got %+v, want %q in it", e, "page /slow")
	}
}

// Four hosts share one state folder, and one answer holds in all of them.
func TestAnswer_holdsInFourProcesses(t *testing.T) {
	h := newAskingHost(t, "refuse")
	var sessions []*mcp.ClientSession
	for range 4 {
		sessions = append(sessions, h.serve())
	}
	for _, s := range sessions {
		if said, failed := h.fetch(s, "/shared"); !failed {
			t.Errorf("/shared: got %q, want a refusal", said)
		}
	}
	id := h.one().ID // there is one question for all
	if _, out, code := h.answer("y", "allow", id, "--for", "1h"); code != 0 {
		t.Errorf("got %d %q, want 0", code, out)
	}
	for _, s := range sessions {
		eventually(t, "each host knows the answer", func() bool { _, failed := h.fetch(s, "/shared"); return !failed })
	}
}

// newFilesHost serves the bundled plugin files.
func newFilesHost(t *testing.T, ask string) *askingHost {
	t.Helper()
	h := &askingHost{t: t, dir: folder(t, bundled(t, "files")), state: filepath.Join(t.TempDir(), "state"), config: "ask: " + ask + "\n"}
	copyCompiled(t, filepath.Join(sharedState(t), "state"), h.state) // an empty cache is filled by this test
	return h
}

// desk connects a client and returns the home folder of the host.
func (h *askingHost) desk() (s *mcp.ClientSession, home string) {
	serve := h.program("serve", h.dir)
	return h.connect(serve), strings.TrimPrefix(serve.Env[len(serve.Env)-1], "HOME=")
}

func (h *askingHost) file(s *mcp.ClientSession, tool string, args map[string]any) (string, bool) {
	r, err := s.CallTool(h.t.Context(), &mcp.CallToolParams{Name: "files-" + tool, Arguments: args})
	if err != nil {
		return err.Error(), true
	}
	return text(r), r.IsError
}

// Writing a new file into a new folder takes one question and one answer, and both are gone afterwards.
func TestAnswer_oneForANewFileInANewFolder(t *testing.T) {
	t.Parallel()
	h := newFilesHost(t, "refuse")
	s, home := h.desk()
	path := filepath.Join(home, "work", "new", "a.txt")
	write := map[string]any{"path": path, "text": "hello"}
	said, failed := h.file(s, "write", write)
	q := h.one()
	if !failed || q.Line != "fs: write ~/work/new/a.txt" || strings.Count(said, "to allow it") != 1 || strings.Contains(said, "more refused") {
		t.Errorf("got %q %+v, want %q, 1", said, q, "fs: write ~/work/new/a.txt")
	}
	if _, out, code := h.answer("y", "allow", q.ID); code != 0 || out != "allowed once: fs: write ~/work/new/a.txt\n" {
		t.Errorf("got %d %q, want 0, %q", code, out, "allowed once: fs: write ~/work/new/a.txt\n")
	}
	eventually(t, "the host knows the answer", func() bool { _, failed := h.file(s, "write", write); return !failed })
	if content(path) != "hello" {
		t.Errorf("got %v, want %q", content(path), "hello")
	}
	if out, err := h.program("grants").Output(); err != nil || !strings.HasPrefix(string(out), "nothing was answered") {
		t.Errorf("got %s %v, want %q at its start", out, err, "nothing was answered")
	}
}

// A call that waits for an answer about a file continues after it.
func TestAnswer_continuesACallAboutAFile(t *testing.T) {
	t.Parallel()
	h := newFilesHost(t, "wait")
	s, home := h.desk()
	path := filepath.Join(home, "work", "new", "a.txt")
	for tool, args := range map[string]map[string]any{"write": {"path": path, "text": "hello"}, "read": {"path": path}} {
		if tool == "read" {
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("hello"), 0o600)); err != nil {
				t.Fatal(err)
			}
		} else if err := os.RemoveAll(filepath.Dir(path)); err != nil {
			t.Fatal(err)
		}
		type end struct {
			said   string
			failed bool
		}
		ended := make(chan end, 1)
		go func() {
			said, failed := h.file(s, tool, args)
			ended <- end{said, failed}
		}()
		if _, out, code := h.answer("y", "allow", h.one().ID); code != 0 || out != "allowed once: fs: "+tool+" ~/work/new/a.txt\n" {
			t.Errorf("got %d %q, want 0, %q", code, out, "allowed once: fs: "+tool+" ~/work/new/a.txt\n")
		}
		if e := <-ended; e.failed || content(path) != "hello" {
			t.Errorf("%s: got %+v %s, want %q", tool, e, content(path), "hello")
		}
	}
}
