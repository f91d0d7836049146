//go:build unix

package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Commands that get another folder than that of the plugin name its own. A removal there changes nothing: a host still
// serves the plugin, and without its pin it would take other bytes of that name.
func TestElsewhere_isTheFolderThatCommandsName(t *testing.T) {
	a := newAdded(t)
	if _, out, code := typing(t, a.program("add", bundled(t, "time"), a.dir), "y", "n"); code != 0 {
		t.Fatalf("add: got code %d, %s, want it installed", code, out)
	}
	other := filepath.Join(a.home, "other")
	wantInOrder(t, "update", outputOfError(t, a.program("update", "time", other)), []string{"no source is known", "hint: sallyport update time " + a.dir})
	wantInOrder(t, "can", outputOfError(t, a.program("can", "cli", "time-now", other)), []string{"refused: no plugin in " + other + " publishes a tool time-now"})
	for _, purge := range [][]string{nil, {"--purge"}} {
		out := outputOfError(t, a.program(append([]string{"remove", "time", other}, purge...)...))
		wantInOrder(t, "remove", out, []string{"there is no plugin \"time\" in " + other + ": its file is in " + a.dir, "hint: sallyport remove time " + a.dir})
	}
	if _, out, code := typing(t, a.program("remove", "time", a.dir), "y"); code != 0 || a.files() != "" {
		t.Fatalf("remove: got code %d, %s, and files %q, want none", code, out, a.files())
	}
	wantInOrder(t, "again", outputOfError(t, a.program("remove", "time", a.dir)), []string{"only its pin is left", "hint: --purge removes that too"})
	if _, out, code := typing(t, a.program("remove", "time", a.dir, "--purge"), "y"); code != 0 {
		t.Errorf("purge: got code %d, %s, want its pin removed", code, out)
	}
	if out, err := a.program("audit", "tail").Output(); err != nil || !strings.Contains(string(out), "remove: its pin") {
		t.Errorf("audit tail: got %s, %v, want the removal of the pin", out, err)
	}
	wantInOrder(t, "absent", outputOfError(t, a.program("remove", "time", a.dir)), []string{"there is no such plugin", "hint: sallyport list " + a.dir})
}

// update names plugin and folder as remove does. One word is the plugin if it can be a plugin's name, else the folder.
func TestUpdate_takesAPluginAndAFolder(t *testing.T) {
	a := newAdded(t)
	if _, out, code := typing(t, a.program("add", bundled(t, "time"), a.dir), "y", "n"); code != 0 {
		t.Fatalf("add: got code %d, %s, want it installed", code, out)
	}
	in := func(args ...string) *exec.Cmd {
		cmd := a.program(append([]string{"update"}, args...)...)
		cmd.Dir = a.home
		return cmd
	}
	for _, args := range [][]string{{}, {"time"}, {"./plugins"}, {a.dir}, {"time", "plugins"}} { // the default is plugins beside the configuration
		if out, err := in(args...).CombinedOutput(); err != nil || string(out) != "time is up to date\n" {
			t.Errorf("update %q: got %s, %v, want the plugin", args, out, err)
		}
	}
	wantInOrder(t, "a folder that could be a plugin", outputOfError(t, in("plugins")), []string{`no source is known of a plugin "plugins"`, "hint: sallyport update ./plugins"})
	wantInOrder(t, "a file", outputOfError(t, in("./sallyport.yaml")), []string{"is a file, not a folder"})
	wantInOrder(t, "three", outputOfError(t, in("time", "plugins", "more")), []string{`one argument too many: "more"`, "hint: sallyport update [PLUGIN] [DIR]"})
}
