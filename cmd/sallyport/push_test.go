//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A program is published with its tool file inside, and added without one. Its file stays as it is.
func TestPush_publishesAProgramWithItsToolFile(t *testing.T) {
	a, hub := newAdded(t), newOCIServer(t)
	file := bundled(t, "gojq")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	to := hub.source("acme/gojq", "1")
	out, err := a.program("push", file, to).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "pushed "+to+", ") || !strings.Contains(string(out), "next: sallyport add "+to+"@sha256:") {
		t.Fatalf("push: got %s, %v, want it pushed", out, err)
	}
	if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
		t.Errorf("got other bytes of %s, %v, want the same", file, err)
	}
	if screen, out, code := typing(t, a.program("add", to, a.dir), "y"); code != 0 || a.files() != "gojq.wasm" {
		t.Fatalf("add: got code %d, %s and files %q, want the module alone\n%s", code, out, a.files(), screen)
	}
	if out, err := a.program("list", a.dir, "--locked").Output(); err != nil || !strings.Contains(string(out), "gojq  loaded") {
		t.Errorf("list --locked: got %s, %v, want it approved", out, err)
	}
}

// Nothing is published that is no module, that its key did not sign, or that a signature does not fit.
func TestPush_refusesBadFiles(t *testing.T) {
	a, hub := newAdded(t), newOCIServer(t)
	dir := t.TempDir()
	file := func(name string, content []byte) string {
		put(t, filepath.Join(dir, name), content)
		return filepath.Join(dir, name)
	}
	wasm, err := os.ReadFile(bundled(t, "gojq"))
	if err != nil {
		t.Fatal(err)
	}
	tool, err := os.ReadFile(strings.TrimSuffix(bundled(t, "gojq"), ".wasm") + ".tool.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file("plain.tool.yaml", tool)
	file("plain.wasm.minisig", []byte("untrusted comment: x\n"))
	file("signed.wasm.minisig", []byte("<html>"))
	const key = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3"
	to := hub.source("acme/x", "1")
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"a page":             {[]string{file("page.wasm", []byte("<html>")), to}, "not a WebAssembly module"},
		"a prompt":           {[]string{file("x.prompt.md", []byte("---\n---\nx")), to}, "it is text without code"},
		"a script":           {[]string{file("x.ts", []byte("")), to}, "sallyport build"},
		"no file":            {[]string{filepath.Join(dir, "gone.wasm"), to}, "no such file"},
		"no registry":        {[]string{file("a.wasm", speaker("Speaks.", "one")), "https://a.example/x.wasm"}, "is no image of a registry"},
		"not packed":         {[]string{file("plain.wasm", wasm), to}, "sallyport pack"},
		"a bad signature":    {[]string{file("signed.wasm", speaker("Speaks.", "one")), to}, "its signature is not one of minisign"},
		"no signature":       {[]string{filepath.Join(dir, "a.wasm"), to, "--minisign", key}, "it is not signed"},
		"a bad key":          {[]string{filepath.Join(dir, "a.wasm"), to, "--minisign", "x"}, "is no public key of minisign"},
		"no registry serves": {[]string{filepath.Join(dir, "a.wasm"), "oci://127.0.0.1:1/acme/x:1"}, "cannot be reached"},
	} {
		if out, err := a.program(append([]string{"push"}, c.args...)...).CombinedOutput(); err == nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: got %s, %v, want %q", name, out, err, c.want)
		}
	}
	if out, err := a.program("add", to, a.dir).CombinedOutput(); err == nil || !strings.Contains(string(out), "has no such plugin") {
		t.Errorf("got %s, %v, want nothing published", out, err)
	}
}
