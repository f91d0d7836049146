//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Pack, inspect, call, client-config, compile and list neither block on a pipe nor replace a device by a file.
func TestCommands_refuseSpecialFiles(t *testing.T) {
	dir := t.TempDir()
	fifo, device := filepath.Join(dir, "fifo.wasm"), filepath.Join(dir, "device.wasm")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", device); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{fifo, device, dir} {
		for _, args := range [][]string{
			{"pack", file}, {"inspect", file}, {"call", file, "x"},
			{"client-config", "claude-code", "--write", "--file", file},
		} {
			if out := outputOfError(t, program(t, "", args...)); !strings.Contains(out, "regular file") {
				t.Errorf("%v: got %s, want %q in it", args[0], out, "regular file")
			}
		}
	}
	if info, err := os.Stat("/dev/zero"); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		t.Fatalf("/dev/zero: got %v, %v, want a device", info, err)
	}
	if out := outputOfError(t, program(t, "", "compile", dir)); strings.Count(out, "regular file") != 2 {
		t.Errorf("compile: got %s, want regular file twice", out)
	}
	if out, err := program(t, "", "list", dir).CombinedOutput(); err != nil || !strings.Contains(string(out), "no plugins") {
		t.Errorf("list: got %v: %s, want no plugins", err, out)
	}
}

// A link stays, and its target is changed.
func TestPack_changesTheTargetOfALink(t *testing.T) {
	dir := folder(t, guest(t, "misbehave"))
	link := filepath.Join(t.TempDir(), "link.wasm")
	if err := os.Symlink(filepath.Join(dir, "misbehave.wasm"), link); err != nil {
		t.Fatal(err)
	}
	if out, err := program(t, "", "pack", link).CombinedOutput(); err != nil {
		t.Fatalf("pack: got %v, want success: %s", err, out)
	}
	info, err := os.Lstat(link)
	if err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link: got %v, %v, want a link", info, err)
	}
	if out, _ := program(t, "", "inspect", filepath.Join(dir, "misbehave.wasm")).Output(); !strings.Contains(string(out), ", packed") {
		t.Errorf("got %s, want %q in it", out, ", packed")
	}
}

// A state folder that others can write to is refused.
func TestStateFolder_refusesOneThatOthersCanWrite(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(state, 0o777); err != nil {
		t.Fatal(err)
	}
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, filepath.Join(state, "sallyport.log")); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"serve", t.TempDir()}, {"list", t.TempDir()}, {"token", "me"}, {"client-config", "claude-code", "--http", "127.0.0.1:1"}} {
		cmd := program(t, "", args...)
		cmd.Args = append(cmd.Args, "--state", state)
		if out := outputOfError(t, cmd); !strings.Contains(out, "others can write to it (mode 0777)") {
			t.Errorf("%v: got %s, want %q in it", args[0], out, "others can write to it (mode 0777)")
		}
	}
	if text, _ := os.ReadFile(victim); string(text) != "mine" {
		t.Errorf("the link's target: got %s, want mine", text)
	}
}
