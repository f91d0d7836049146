//go:build programs && unix

package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The images that a configuration of hyper-mcp names are fetched with Docker's login, and from a private registry only if
// the operator names it.
func TestRegistry_servesTheImagesOfAnImport(t *testing.T) {
	r, a := newDebianRegistry(t), newAdded(t)
	as := r.author(t, a)
	file := filepath.Join(t.TempDir(), "speaker.wasm")
	put(t, file, speaker("Speaks.", "one"))
	from := "oci://" + r.host + "/acme/speaker:1"
	if out, err := as("push", file, from).CombinedOutput(); err != nil {
		t.Fatalf("push: %v, %s", err, out)
	}
	config := filepath.Join(t.TempDir(), "config.json")
	put(t, config, []byte(`{"plugins":{"chatter":{"url":"`+from+`","runtime_config":{"skip_tools":["s.*"],"allowed_hosts":["a.example"]}}}}`))
	command := []string{"import", "hyper-mcp", config, a.dir, "--host", r.host}
	stranger := as(command...)
	stranger.Env = append(stranger.Env, "DOCKER_CONFIG="+t.TempDir())
	for want, cmd := range map[string]*exec.Cmd{
		"hint: docker login " + r.host: stranger,
		"hint: --host 127.0.0.1":       as(command[:4]...),
	} {
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), want) || a.files() != "" {
			t.Errorf("got %s, %v and files %q, want %q", out, err, a.files(), want)
		}
	}
	screen, out, code := typing(t, as(command...), "y", "y")
	if code != 0 || a.files() != "chatter.wasm" || !strings.Contains(screen, "hides   say") || !strings.Contains(out, "granted   net: ") {
		t.Fatalf("got code %d, %s and files %q, want it installed\n%s", code, out, a.files(), screen)
	}
	if out, err := as("list", a.dir, "--outdated").Output(); err != nil || string(out) != "chatter  current  "+from+"\n" {
		t.Errorf("list: got %s, %v, want it current", out, err)
	}
}
