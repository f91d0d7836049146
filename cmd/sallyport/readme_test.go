//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
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

// The table of commands has each command, and names the arguments as its help does. Each language of new is among them.
func TestREADME_listsEachCommand(t *testing.T) {
	_, table, _ := strings.Cut(pageOf(t, "README.md"), "\n## Commands\n")
	table, _, _ = strings.Cut(table, "\n## ")
	table = strings.ReplaceAll(table, `\|`, "|")
	var usages []string
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			if sub.Hidden || sub.Name() == "help" {
				continue
			}
			usage := strings.TrimSuffix(sub.UseLine(), " [flags]")
			head, other, either := strings.Cut(usage, "|--")
			usages = append(usages, head)
			if either {
				usages = append(usages, sub.CommandPath()+" --"+other)
			}
			if !strings.Contains(table, "`"+strings.TrimPrefix(sub.CommandPath(), "sallyport ")) && !strings.Contains(table, "`"+sub.CommandPath()) {
				t.Errorf("got no %s in the table, want each command", sub.CommandPath())
			}
			visit(sub)
		}
	}
	visit(newRoot(stdio{}))
	for _, row := range regexp.MustCompile("(?m)^\\| `(sallyport [^`]+)`").FindAllStringSubmatch(table, -1) {
		if !slices.Contains(usages, row[1]) {
			t.Errorf("got %s, want the usage of a command", row[1])
		}
	}
	for lang := range projects() {
		if !strings.Contains(table, "`"+lang+"`") {
			t.Errorf("got no language %s, want each of new", lang)
		}
	}
}

// A help text fits a terminal of 120 columns, also where nothing breaks its lines.
func TestHelp_linesFit(t *testing.T) {
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for line := range strings.Lines(c.Long) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 120 {
				t.Errorf("%s: got %d columns, want 120 at most: %s", c.CommandPath(), n, line)
			}
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(newRoot(stdio{}))
}
