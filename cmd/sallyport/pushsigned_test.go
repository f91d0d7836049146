//go:build unix

package main

import (
	"encoding/base64"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui/terminaltest"
	"github.com/sallyport-mcp/sallyport/internal/minisign/minisigntest"
)

// author is a home folder of an author with a plugin and a key.
type author struct {
	*added
	hub  *ociServer
	key  minisigntest.Key
	file string // of the plugin
	sign string // of the secret key
}

func newAuthor(t *testing.T, password string) *author {
	t.Helper()
	a := &author{newAdded(t), newOCIServer(t), minisigntest.New("12345678"), filepath.Join(t.TempDir(), "speaker.wasm"), filepath.Join(t.TempDir(), "minisign.key")}
	put(t, a.file, speaker("Speaks.", "one"))
	put(t, a.sign, a.key.File(password))
	put(t, filepath.Join(a.home, "sallyport.yaml"), []byte("log: {level: trace}\n"))
	return a
}

// typed runs a command and types a password at its prompt.
func (a *author) typed(password string, args ...string) (out string, err error) {
	a.t.Helper()
	var text strings.Builder
	cmd := a.program(args...)
	cmd.Stdout, cmd.Stderr = &text, &text
	p := terminaltest.Start(a.t, cmd)
	p.Expect("password of " + a.sign + ", which is not shown: ")
	p.Type(password)
	err = p.Wait()
	return p.Seen() + text.String(), err
}

// keepsSecret checks that no text and no file below a folder has the secret key or its password, except its file.
func (a *author) keepsSecret(folder string, texts ...string) {
	a.t.Helper()
	secrets := []string{"pässword", string(a.key.Private.Seed()), base64.StdEncoding.EncodeToString(a.key.Private), base64.StdEncoding.EncodeToString(a.key.Private.Seed())[:40],
		strings.Split(string(a.key.File("")), "\n")[1], strings.Split(string(a.key.File("pässword")), "\n")[1]}
	must(a.t, filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(name)
		texts = append(texts, string(content))
		return err
	}))
	for _, text := range texts {
		for i, secret := range secrets {
			if strings.Contains(text, secret) {
				a.t.Errorf("got %.300q, want no secret in it, of which number %d is there", text, i)
			}
		}
	}
}

// A plugin is signed with a key, with and without a password, and add and update take it under the policy that push
// prints. A second push of the same bytes sends nothing.
func TestPush_signsWithAKey(t *testing.T) {
	for _, password := range []string{"", "pässword"} {
		a := newAuthor(t, password)
		to := a.hub.source("acme/speaker", "1")
		push := func(args ...string) string {
			t.Helper()
			args = append([]string{"push", a.file, to, "--sign", a.sign}, args...)
			if password != "" {
				out, err := a.typed(password, args...)
				must(t, err)
				return out
			}
			out, err := a.program(args...).CombinedOutput()
			if err != nil {
				t.Fatalf("push: got %s, %v, want it pushed", out, err)
			}
			return string(out)
		}
		out := push()
		policy := regexp.MustCompile(`a policy that requires this key: (sources: \{.*\})`).FindStringSubmatch(out)
		if policy == nil || !strings.Contains(out, "signed by the key 3837363534333231") || !strings.Contains(policy[1], "{minisign: "+a.key.Public()+"}") {
			t.Fatalf("got %s, want it signed, and its policy", out)
		}
		if again := push(); again != out {
			t.Errorf("again: got %s, want %s", again, out)
		}
		put(t, filepath.Join(a.home, "sallyport.yaml"), []byte(policy[1]+"\n"))
		if screen, text, code := typing(t, a.program("add", to, a.dir), "y"); code != 0 || !strings.Contains(screen, "signed  minisign 3837363534333231, as its source requires") {
			t.Fatalf("add: got code %d, %s, want it installed\n%s", code, text, screen)
		}
		put(t, a.file, speaker("Speaks.", "two"))
		changed := push("--replace", "--minisign", "untrusted comment: mine\n"+a.key.Public()+"\n")
		if !strings.Contains(changed, policy[1]) {
			t.Errorf("a key with its comment: got %s, want the policy %s", changed, policy[1])
		}
		if screen, text, code := typing(t, a.program("update", a.dir), "y"); code != 0 || !strings.Contains(screen, "minisign 3837363534333231") {
			t.Errorf("update: got code %d, %s, want it updated\n%s", code, text, screen)
		}
		a.keepsSecret(a.home, out, changed, string(a.hub.manifest("acme/speaker", "1")))
	}
}

// A key that others can read, a wrong password and a damaged key push nothing, and say why.
func TestPush_refusesBadKeys(t *testing.T) {
	a := newAuthor(t, "pässword")
	to := a.hub.source("acme/speaker", "1")
	refused := func(out string, err error, want, hint string) {
		t.Helper()
		if err == nil || !strings.Contains(out, want) || !strings.Contains(out, hint) {
			t.Errorf("got %s, %v, want %q and the hint %q", out, err, want, hint)
		}
		a.keepsSecret(a.home, out)
	}
	push := func(args ...string) (string, error) {
		cmd := a.program(append([]string{"push", a.file, to, "--sign"}, args...)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no terminal
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := a.typed("wrong", "push", a.file, to, "--sign", a.sign)
	refused(out, err, a.sign+": the password of the key is wrong, or its file is damaged", "nothing was pushed: type the password again")
	out, err = push(a.sign)
	refused(out, err, "has a password, and there is no terminal to ask at", "minisign -C -W -s FILE")
	out, err = push(a.sign + "2")
	refused(out, err, "no such file", "minisign -G makes a pair of keys")
	put(t, a.sign, a.key.File("")[:150])
	out, err = push(a.sign)
	refused(out, err, "it is no secret key of minisign", a.sign)
	put(t, a.sign, a.key.File(""))
	out, err = push(a.sign, "--minisign", minisigntest.New("87654321").Public())
	refused(out, err, "it is signed with the key 3837363534333231, and not with 3132333435363738", a.file)
	must(t, os.Chmod(a.sign, 0o640))
	out, err = push(a.sign)
	refused(out, err, "can be read by others: chmod 600 "+a.sign, "")
	if out, err := a.program("add", to, a.dir).CombinedOutput(); err == nil || !strings.Contains(string(out), "has no such plugin") {
		t.Errorf("got %s, %v, want nothing pushed", out, err)
	}
	must(t, os.Chmod(a.sign, 0o600))
	if out, err := push(a.sign); err != nil || !strings.Contains(out, "signed by the key") {
		t.Errorf("got %s, %v, want the push repeated", out, err)
	}
}
