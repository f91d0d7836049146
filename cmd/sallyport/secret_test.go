//go:build unix

package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui/terminaltest"
)

// withoutKeyring makes the keyring of this machine unavailable to a command.
func withoutKeyring(cmd *exec.Cmd) *exec.Cmd {
	cmd.Env = append(cmd.Env, "DBUS_SESSION_BUS_ADDRESS=unix:path=/nonexistent", "PATH=/nonexistent")
	return cmd
}

// A secret is typed at a terminal without echo, stored owner-only, and put into requests.
func TestSecret_isTypedStoredAndSent(t *testing.T) {
	const value = "correct-horse-battery-staple"
	got := make(chan string, 1)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got <- r.Header.Get("Authorization")
		w.Write([]byte("page " + r.Header.Get("Authorization")))
	}))
	defer site.Close()
	h := &askingHost{t: t, dir: folder(t, bundled(t, "fetch")), site: site.URL, config: "plugins:\n  fetch:\n    grants:\n      - net: GET " + site.URL + "/**\n      - secret: TOKEN\n        to: " +
		site.URL + "/**\n        as: 'Authorization: Bearer {secret}'\n"}
	h.state = compiledState(t, h.dir)
	serve := withoutKeyring(h.program("serve", h.dir))
	s := h.connect(serve)
	fetch := func() string {
		r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "fetch-fetch", Arguments: map[string]any{"url": site.URL + "/a"}})
		if err != nil {
			t.Fatal(err)
		}
		return text(r)
	}
	if said := fetch(); !strings.Contains(said, "the secret TOKEN cannot be had: it is not set: sallyport secret set TOKEN --config ~/sallyport.yaml --state "+h.state+" asks for it") {
		t.Errorf("got %q, want TOKEN unset and the command that sets it", said)
	}

	cmd := withoutKeyring(h.program("secret", "set", "TOKEN"))
	var out bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("wrong\n"), &out, &out
	p := terminaltest.Start(t, cmd)
	p.Expect("the value of TOKEN, which is not shown: ")
	p.Type(value)
	if err := p.Wait(); err != nil || strings.Contains(p.Seen(), value) || !strings.Contains(out.String(), "kept 28 bytes of TOKEN in ") {
		t.Errorf("got %v %q %q, want %q in it", err, p.Seen(), out.String(), "kept 28 bytes of TOKEN in ")
	}
	kept := filepath.Join(h.state, "secrets", "TOKEN.secret")
	if info, err := os.Stat(kept); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("kept secret: got %v, %v, want mode 600", info, err)
	}
	if said := fetch(); strings.Contains(said, value) || !strings.Contains(said, "[secret:TOKEN]") {
		t.Errorf("got %q, want %q in it", said, "[secret:TOKEN]")
	}
	if header := <-got; header != "Bearer "+value {
		t.Errorf("the server got %q, want the bearer token", header)
	}
	if err := os.Chmod(kept, 0o644); err != nil {
		t.Fatal(err)
	}
	if said, err := withoutKeyring(h.program("call", bundled(t, "fetch"), "fetch", `{"url":"`+site.URL+`/b"}`, "--grant", "net: GET "+site.URL+"/**",
		"--grant", "secret: TOKEN {to: "+site.URL+"/**, as: \"X-Token: {secret}\"}")).CombinedOutput(); err == nil || !strings.Contains(string(said), "chmod 600 ") {
		t.Errorf("a secret that others can read: got %s, %v, want a refusal", said, err)
	}

	alone := withoutKeyring(h.program("secret", "set", "TOKEN"))
	alone.Stdin, alone.SysProcAttr = strings.NewReader("other-value-of-it\n"), &syscall.SysProcAttr{Setsid: true}
	if said, err := alone.CombinedOutput(); err == nil || !strings.Contains(string(said), "there is no terminal to ask at") {
		t.Errorf("got %s %v, want an error, %q in it", said, err, "there is no terminal to ask at")
	}
	if _, out, code := h.answerAs(withoutKeyring, "y", "secret", "remove", "TOKEN"); code != 0 || out != "forgotten: TOKEN\n" {
		t.Errorf("got %d %q, want 0, %q", code, out, "forgotten: TOKEN\n")
	}
	if _, err := os.Stat(kept); !os.IsNotExist(err) {
		t.Error(err)
	}
}

// An interrupted prompt stores nothing.
func TestSecret_interruptedPromptStoresNothing(t *testing.T) {
	h := &askingHost{t: t, state: filepath.Join(t.TempDir(), "state")}
	one := h.program("secret", "set", "TOKEN")
	p := terminaltest.Start(t, one)
	p.Expect("not shown: ")
	if err := one.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err == nil {
		t.Errorf("an interrupted command: got success, want an error")
	}
	if _, err := os.Stat(filepath.Join(h.state, "secrets")); !os.IsNotExist(err) {
		t.Errorf("an interrupted command: got secrets kept, %v, want none", err)
	}
}

// A value of one caller is typed for that caller, listed by its name, and no name of several callers is taken.
func TestSecret_isKeptForOneCaller(t *testing.T) {
	h := &askingHost{t: t, dir: t.TempDir(), state: filepath.Join(t.TempDir(), "state"), config: "plugins:\n  fetch:\n    grants:\n      - secret: TOKEN per principal\n        to: https://a.example/**\n"}
	list := func() string {
		out, err := withoutKeyring(h.program("secret", "list")).Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	if got := list(); !strings.Contains(got, "sallyport secret set TOKEN --principal NAME asks for one") {
		t.Errorf("got %q, want the command", got)
	}
	cmd := withoutKeyring(h.program("secret", "set", "TOKEN", "--principal", "token:ann"))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	p := terminaltest.Start(t, cmd)
	p.Expect("the value of TOKEN, which is not shown: ")
	p.Type("correct-horse-battery-staple")
	if err := p.Wait(); err != nil || !strings.Contains(out.String(), "kept 28 bytes of TOKEN of token:ann in ") || strings.Contains(out.String(), "note:") {
		t.Errorf("got %v %q", err, out.String())
	}
	if got := list(); !strings.Contains(got, "each caller's own, kept for token:ann\n") || strings.Contains(got, "no line wants it") {
		t.Errorf("got %q, want the caller", got)
	}
	for principal, want := range map[string]string{
		"": "the name is empty", "anonymous": "is not one caller", "all": "is not one caller", "group:ops": "prefix of a group", "scope:x": "prefix of a group",
		"token:e\u0301": "normalization form C", "token:a\u200b": "invisible", " token:ann": "begins or ends with a space", "ann": "names no caller",
	} {
		out, err := withoutKeyring(h.program("secret", "set", "TOKEN", "--principal", principal)).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%q: got %s, %v, want %q", principal, out, err, want)
		}
	}
}
