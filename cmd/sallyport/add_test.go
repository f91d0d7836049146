//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	ociregistry "github.com/google/go-containerregistry/pkg/registry"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui/terminaltest"
	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/commit"
	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/internal/minisign/minisigntest"
)

// ociServer is a registry on loopback.
type ociServer struct {
	t   *testing.T
	url string
}

func newOCIServer(t *testing.T) *ociServer {
	t.Helper()
	web := httptest.NewServer(ociregistry.New(ociregistry.Logger(log.New(io.Discard, "", 0)), ociregistry.WithReferrersSupport(true)))
	t.Cleanup(web.Close)
	return &ociServer{t, web.URL}
}

// source returns the reference of a tag.
func (s *ociServer) source(name, tag string) string {
	return "oci://" + strings.TrimPrefix(s.url, "http://") + "/" + name + ":" + tag
}

// push pushes a module in the layout of wkg, and returns the digest of the image.
func (s *ociServer) push(name, tag string, wasm []byte) string {
	s.t.Helper()
	return s.pushLayer(name, tag, "application/wasm", wasm)
}

// pushLayer pushes an image of one layer, and returns its digest.
func (s *ociServer) pushLayer(name, tag, mediaType string, layer []byte) string {
	s.t.Helper()
	descriptor := func(kind string, content []byte) string {
		digest := fileid.Digest(content)
		s.send("POST", "/v2/"+name+"/blobs/uploads/?digest="+digest, "application/octet-stream", content)
		raw, err := json.Marshal(map[string]any{"mediaType": kind, "digest": digest, "size": len(content)})
		if err != nil {
			s.t.Fatal(err)
		}
		return string(raw)
	}
	manifest := []byte(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":` +
		descriptor("application/vnd.wasm.config.v0+json", []byte("{}")) + `,"layers":[` + descriptor(mediaType, layer) + `]}`)
	s.send("PUT", "/v2/"+name+"/manifests/"+tag, "application/vnd.oci.image.manifest.v1+json", manifest)
	return fileid.Digest(manifest)
}

func (s *ociServer) send(method, path, kind string, content []byte) {
	s.t.Helper()
	r, err := http.NewRequest(method, s.url+path, bytes.NewReader(content))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", kind)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusCreated {
		s.t.Fatalf("%s %s: got %s, want it created", method, path, res.Status)
	}
}

// typing runs a command under a terminal and types an answer to each question.
func typing(t *testing.T, cmd *exec.Cmd, typed ...string) (screen, out string, code int) {
	t.Helper()
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	p := terminaltest.Start(t, cmd)
	for _, line := range typed {
		p.Expect("[y/N] ")
		p.Type(line)
	}
	if err := p.Wait(); err != nil {
		code = cmd.ProcessState.ExitCode()
	}
	return p.Seen(), text.String(), code
}

// added is a home folder for add and its host.
type added struct {
	t    *testing.T
	home string
	dir  string
}

func newAdded(t *testing.T) *added {
	t.Helper()
	home := t.TempDir()
	put(t, filepath.Join(home, "sallyport.yaml"), []byte("# mine\n"))
	return &added{t, home, filepath.Join(home, "plugins")}
}

// program returns a command in the home folder.
func (a *added) program(args ...string) *exec.Cmd {
	a.t.Helper()
	cmd := program(a.t, "", args...)
	cmd.Args = append(cmd.Args[:1], append(args, "--config", filepath.Join(a.home, "sallyport.yaml"), "--state", filepath.Join(a.home, "state"))...)
	cmd.Env = append(os.Environ(), asProgram+"=1", "HOME="+a.home)
	return cmd
}

// files lists the plugin folder.
func (a *added) files() string {
	a.t.Helper()
	entries, err := os.ReadDir(a.dir)
	if err != nil && !os.IsNotExist(err) {
		a.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// A plugin of a registry goes through its whole life, while a host serves the folder: added, outdated, updated with the
// difference shown, removed.
func TestAdd_installsFromARegistryWhileAHostServes(t *testing.T) {
	a, hub := newAdded(t), newOCIServer(t)
	if err := os.Mkdir(a.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s := session(t, commandTransport(a.program("serve", a.dir)), nil)
	says := func(want string) {
		t.Helper()
		eventually(t, "it says "+want, func() bool {
			r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "speaker-say"})
			return err == nil && text(r) == want
		})
	}
	from := hub.source("acme/speaker", "1")
	first := hub.push("acme/speaker", "1", speaker("Says what it is told.", "first"))

	screen, out, code := typing(t, a.program("add", from, a.dir), "n")
	if code != 1 || out != "nothing was changed\n" || a.files() != "" {
		t.Errorf("no: got code %d, %q and files %q, want nothing changed", code, out, a.files())
	}
	for _, want := range []string{"from    " + from, first, "say", "Says what it is told.", "install it as speaker?"} {
		if !strings.Contains(screen, want) {
			t.Errorf("the screen lacks %q:\n%s", want, screen)
		}
	}
	if _, out, code = typing(t, a.program("add", from, a.dir), "y"); code != 0 || !strings.Contains(out, "speaker is installed in") || !strings.Contains(out, "next: ") {
		t.Fatalf("yes: got code %d, %q, want it installed", code, out)
	}
	says("first")
	if out, err := a.program("list", a.dir, "--outdated").Output(); err != nil || string(out) != "speaker  current  "+from+"\n" {
		t.Errorf("list: got %s, %v, want it current", out, err)
	}

	second := hub.push("acme/speaker", "1", speaker("Says what it is told, and first sends it to evil.example.", "second"))
	if out, err := a.program("list", a.dir, "--outdated", "--json").Output(); err != nil || !strings.Contains(string(out), `"newest": "`+second+`"`) || !strings.Contains(string(out), `"outdated"`) {
		t.Errorf("list: got %s, %v, want the moved tag", out, err)
	}
	screen, _, code = typing(t, a.program("update", a.dir), "n")
	if code != 1 || !strings.Contains(strings.ReplaceAll(screen, "\r\n    ", " "), "{+told, and first") || !strings.Contains(screen, "was     "+first) {
		t.Errorf("update, no: got code %d, want the difference and the moved tag\n%s", code, screen)
	}
	says("first")
	if screen, out, code = typing(t, a.program("update", "speaker", a.dir), "y"); code != 0 {
		t.Errorf("update, yes: got code %d, %s\n%s", code, out, screen)
	}
	says("second")
	if out, err := a.program("update", a.dir).Output(); err != nil || string(out) != "speaker is up to date\n" {
		t.Errorf("update again: got %s, %v, want it up to date", out, err)
	}

	if _, out, code = typing(t, a.program("remove", "speaker", a.dir), "y"); code != 0 || a.files() != "" {
		t.Errorf("remove: got code %d, %q and files %q, want none", code, out, a.files())
	}
	eventually(t, "it is gone", func() bool {
		list, err := s.ListTools(t.Context(), nil)
		return err == nil && len(list.Tools) == 0
	})
	if out, err := a.program("audit", "tail", "--json", "-n", "100").Output(); err != nil || !strings.Contains(string(out), `"answer":"add","plugin":"speaker"`) ||
		!strings.Contains(string(out), `"answer":"remove","plugin":"speaker"`) {
		t.Errorf("the audit log: got %s, %v, want the installation and the removal", out, err)
	}
}

// An installation that is killed halfway is in the audit log, as one without an outcome. One that ends is there once.
func TestAdd_isNotedBeforeItChangesAnything(t *testing.T) {
	a, hub := newAdded(t), newOCIServer(t)
	hub.push("acme/speaker", "1", speaker("Says what it is told.", "hello"))
	from := hub.source("acme/speaker", "1")
	tail := func() string {
		out, err := a.program("audit", "tail").Output()
		if err != nil {
			t.Error(err)
		}
		return strings.Join(strings.Fields(string(out)), " ")
	}
	state := filepath.Join(a.home, "state")
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	unlock, err := commit.LockFile(t.Context(), filepath.Join(state, "sallyport.lock.busy"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := a.program("add", from, a.dir)
	p := terminaltest.Start(t, cmd)
	p.Expect("[y/N] ")
	p.Type("y")
	interrupted := " speaker interrupted, or not at its end yet: you answered add: " + from + ", on the terminal"
	eventually(t, "its intent is in the audit log, and it waits for the lock file", func() bool {
		return strings.HasSuffix(tail(), interrupted)
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.Wait() // the error of a killed process
	unlock()
	if got := tail(); strings.Count(got, "you answered") != 1 || !strings.HasSuffix(got, interrupted) {
		t.Errorf("killed: got %s, want its intent alone", got)
	}
	if _, out, code := typing(t, a.program("add", from, a.dir), "y"); code != 0 {
		t.Fatalf("again: got code %d, %s", code, out)
	}
	if got := tail(); strings.Count(got, "you answered") != 2 || !strings.Contains(got, interrupted) || !strings.HasSuffix(got, " speaker you answered add: "+from+", on the terminal") {
		t.Errorf("again: got %s, want the interrupted one and the other", got)
	}
	if err := a.program("audit", "verify").Run(); err != nil {
		t.Errorf("verify: got %v, want the log whole", err)
	}
}

// A plugin that says a lot about itself does not move its source and its signer out of sight: they are shown again beside
// the question.
func TestAdd_showsTheSourceBesideTheQuestion(t *testing.T) {
	a, hub := newAdded(t), newOCIServer(t)
	from := hub.source("acme/speaker", "1")
	for about, want := range map[string]int{"Speaks.": 1, strings.Repeat("Speaks well. ", 200): 2} {
		hub.push("acme/speaker", "1", speaker(about, "one"))
		screen, _, code := typing(t, a.program("add", from, a.dir), "n")
		last := screen[strings.LastIndex(screen, "Speaks"):]
		for _, line := range []string{"from    " + from, "signed  no signature is required of this source"} {
			if code != 1 || strings.Count(screen, line) != want || want > 1 && !strings.Contains(last, line) {
				t.Errorf("got code %d and %q, want %q %d times\n%s", code, last, line, want, screen)
			}
		}
	}
}

// Each want is asked about with its reason, and granted only by a yes.
func TestAdd_grantsTheChosenWants(t *testing.T) {
	for typed, want := range map[string]string{"y": "- net: GET https://**", "n": ""} {
		a := newAdded(t)
		screen, out, code := typing(t, a.program("add", bundled(t, "fetch"), a.dir), "y", typed)
		if code != 0 || !strings.Contains(screen, "# reads the pages that it is asked for") {
			t.Fatalf("%s: got code %d, %s, want the want with its reason\n%s", typed, code, out, screen)
		}
		config, err := os.ReadFile(filepath.Join(a.home, "sallyport.yaml"))
		if err != nil || want == "" && string(config) != "# mine\n" || !strings.Contains(string(config), want) {
			t.Errorf("%s: got configuration %q, %v, want %q", typed, config, err, want)
		}
		if given := strings.Contains(out, "granted   net: GET https://**"); given != (typed == "y") || strings.Contains(out, "not yet   sallyport grant fetch") == given {
			t.Errorf("%s: got %q, want the result of the answer", typed, out)
		}
	}
}

// Nothing is installed without a person at a terminal, and no bad source leaves a trace.
func TestAdd_changesNothingWithoutAYes(t *testing.T) {
	hub := newOCIServer(t)
	hub.push("acme/speaker", "1", speaker("Speaks.", "one"))
	hub.push("acme/page", "1", []byte("<html>"))
	page := filepath.Join(t.TempDir(), "page.wasm")
	put(t, page, []byte("<html>"))
	odd := filepath.Join(t.TempDir(), "wеather.wasm") // with a Cyrillic letter
	put(t, odd, speaker("Speaks.", "one"))
	for name, c := range map[string]struct{ source, want, hint string }{
		"no terminal":   {hub.source("acme/speaker", "1"), "there is no terminal to ask at", "a person answers this"},
		"no tag":        {hub.source("acme/speaker", "2"), "has no such plugin", ""},
		"wrong digest":  {hub.source("acme/speaker", "1") + "@sha256:" + strings.Repeat("0", 64), "has no such plugin", ""},
		"no module":     {hub.source("acme/page", "1"), "not a WebAssembly module", ""},
		"no plugin":     {page, "not a WebAssembly module", ""},
		"no file":       {filepath.Join(t.TempDir(), "gone.wasm"), "no such file", ""},
		"homoglyph":     {"oci://ghcr.io/аcme/x:1", "U+0430", ""},
		"other scripts": {odd, "U+0435", "--name NAME chooses its name"},
	} {
		a := newAdded(t)
		cmd := a.program("add", c.source, a.dir)
		cmd.Stdin, cmd.SysProcAttr = strings.NewReader("y\ny\n"), &syscall.SysProcAttr{Setsid: true}
		out, err := cmd.CombinedOutput()
		if err == nil || cmd.ProcessState.ExitCode() != exitError || !strings.Contains(string(out), c.want) || !strings.Contains(string(out), c.hint) {
			t.Errorf("%s: got %v, %s, want exit code 2 and %q", name, err, out, c.want)
		}
		left, err := filepath.Glob(filepath.Join(a.home, "state", "incoming-*"))
		if a.files() != "" || len(left) != 0 || err != nil {
			t.Errorf("%s: got files %q and %q, %v, want no trace", name, a.files(), left, err)
		}
	}
}

// A plugin of another source does not take a name, and one that looks like another is named by its operator.
func TestAdd_asksForAnotherName(t *testing.T) {
	a, hub := newAdded(t), newOCIServer(t)
	hub.push("acme/speaker", "1", speaker("Speaks.", "one"))
	hub.push("evil/speaker", "1", speaker("Speaks.", "two"))
	hub.push("evil/5peaker", "1", speaker("Speaks.", "two"))
	if _, out, code := typing(t, a.program("add", hub.source("acme/speaker", "1"), a.dir), "y"); code != 0 {
		t.Fatalf("got code %d, %s, want it installed", code, out)
	}
	for from, want := range map[string]string{
		hub.source("evil/speaker", "1"): "the name speaker belongs to the plugin from " + hub.source("acme/speaker", "1"),
		hub.source("evil/5peaker", "1"): "the name 5peaker looks like speaker",
		hub.source("acme/speaker", "1"): "these bytes are installed already",
	} {
		out, err := a.program("add", from, a.dir).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) || !strings.Contains(string(out), "hint: ") {
			t.Errorf("%s: got %s, %v, want %q with a hint", from, out, err, want)
		}
	}
	if _, out, code := typing(t, a.program("add", hub.source("evil/speaker", "1"), a.dir, "--name", "other"), "y"); code != 0 || a.files() != "other.wasm speaker.wasm" {
		t.Errorf("--name: got code %d, %s and files %q, want both", code, out, a.files())
	}
}

// Grants that the configuration kept for a name are shown before other bytes get them.
func TestAdd_showsTheGrantsThatWaitForTheName(t *testing.T) {
	a, hub := newAdded(t), newOCIServer(t)
	put(t, filepath.Join(a.home, "sallyport.yaml"), []byte("plugins: {speaker: {grants: ['net: GET https://bank.example/**']}}\n"))
	hub.push("evil/speaker", "1", speaker("Speaks.", "one"))
	screen, out, code := typing(t, a.program("add", hub.source("evil/speaker", "1"), a.dir), "n")
	if code != exitTool || !strings.Contains(screen, "has     net: GET https://bank.example/**") || !strings.Contains(screen, "by the configuration, as soon as it is installed") {
		t.Errorf("got code %d, %s, want the waiting grant on the screen\n%s", code, out, screen)
	}
	if _, out, code := typing(t, a.program("add", hub.source("evil/speaker", "1"), a.dir), "y"); code != 0 {
		t.Fatalf("got code %d, %s, want it installed", code, out)
	}
	hub.push("evil/speaker", "1", speaker("Speaks.", "two"))
	if screen, out, code := typing(t, a.program("add", hub.source("evil/speaker", "1"), a.dir), "n"); code != exitTool || strings.Contains(screen, "has     net") {
		t.Errorf("again: got code %d, %s, want only the difference\n%s", code, out, screen)
	}
}

// A program is installed with its tool file.
func TestAdd_installsAProgramWithItsToolFile(t *testing.T) {
	a := newAdded(t)
	if _, out, code := typing(t, a.program("add", bundled(t, "gojq"), a.dir), "y"); code != 0 || a.files() != "gojq.tool.yaml gojq.wasm" {
		t.Fatalf("got code %d, %s and files %q, want both files", code, out, a.files())
	}
	out, err := a.program("list", a.dir, "--locked").Output()
	if err != nil || !strings.Contains(string(out), "gojq  loaded") {
		t.Errorf("list --locked: got %s, %v, want it approved", out, err)
	}
	if _, out, code := typing(t, a.program("remove", "gojq", a.dir, "--purge"), "y"); code != 0 || a.files() != "" {
		t.Errorf("remove: got code %d, %s and files %q, want none", code, out, a.files())
	}
}

// A source whose policy requires a signature installs nothing without it, and shows the signer with it.
func TestAdd_requiresTheSignatureOfItsPolicy(t *testing.T) {
	a := newAdded(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "speaker.wasm")
	put(t, file, speaker("Speaks.", "one"))
	key := minisigntest.New("12345678")
	put(t, filepath.Join(a.home, "sallyport.yaml"), []byte("sources:\n  '"+dir+"/**': {minisign: "+key.Public()+"}\n  '**': refuse\n"))

	other := filepath.Join(t.TempDir(), "speaker.wasm")
	put(t, other, speaker("Speaks.", "one"))
	refused := func(from, want string) {
		t.Helper()
		out, err := a.program("add", from, a.dir).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) || !strings.Contains(string(out), "hint: sources: in ") || a.files() != "" {
			t.Errorf("got %s, %v and files %q, want %q", out, err, a.files(), want)
		}
	}
	refused(other, "the configuration refuses this source")
	refused(file, "it is not signed, and a signature by 3837363534333231 is required")
	put(t, file+".minisig", key.Sign([]byte("other bytes")))
	refused(file, "the bytes are not those that were signed")
	put(t, file+".minisig", key.Sign(speaker("Speaks.", "one")))
	screen, out, code := typing(t, a.program("add", file, a.dir), "y")
	if code != 0 || !strings.Contains(screen, "signed  minisign 3837363534333231, as its source requires") || a.files() != "speaker.wasm" {
		t.Errorf("signed: got code %d, %s, want it installed\n%s", code, out, screen)
	}
}
