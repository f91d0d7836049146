//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The first screen of README installs, adds, calls and wires a client, each line as it stands and in an empty home. The
// picture of the console and the refusal are next.
func TestREADME_startMakesAFirstCall(t *testing.T) {
	page := pageOf(t, "README.md")
	const before = 1500 // bytes above the start at most
	parts := regexp.MustCompile("(?s)^(?:.*?)\n## Start\n[^`]*`[^`]*`[^`]*```\n(.*?)```\n(.*?)\n## A refusal\n").FindStringSubmatch(page)
	if parts == nil || strings.Index(page, "## Start") > before || !strings.Contains(parts[2], "](docs/console.png)") {
		t.Fatalf("got %.3000s, want the start, the picture and the refusal first", page)
	}
	bundled(t, "time")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home, bin := t.TempDir(), t.TempDir()
	if err := os.Symlink(self, filepath.Join(bin, "sallyport")); err != nil {
		t.Fatal(err)
	}
	shell := func(line string) *exec.Cmd {
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir = filepath.Join("..", "..")
		cmd.Env = []string{asProgram + "=1", "HOME=" + home, "PATH=" + bin + ":" + os.Getenv("PATH")}
		return cmd
	}
	var verbs []string
	for line := range strings.Lines(parts[1]) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), " #")
		words := strings.Fields(line)
		verbs = append(verbs, words[1])
		switch words[1] {
		case "install":
			if out, err := shell("make --dry-run " + strings.Join(words[1:], " ")).CombinedOutput(); err != nil {
				t.Errorf("%s: got %v: %s", line, err, out)
			}
		case "add":
			if screen, out, code := typing(t, shell(line), "y", "n"); code != 0 || !strings.Contains(out, "time is installed in "+filepath.Join(home, "plugins")) {
				t.Errorf("%s: got code %d, %s\n%s", line, code, out, screen)
			}
		default:
			want := map[string]string{"call": "+09:00", "client-config": ".claude.json"}[words[1]]
			if out, err := shell(line).CombinedOutput(); err != nil || !strings.Contains(string(out), want) {
				t.Errorf("%s: got %v: %s, want %q", line, err, out, want)
			}
		}
	}
	if got := strings.Join(verbs, " "); got != "install add call client-config" {
		t.Errorf("got the steps %s, want install, add, call and client-config", got)
	}
}
