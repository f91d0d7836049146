package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLanguages_everyBlockRuns runs docs/languages.md: a block whose first line names a file is written, and each command of a
// console block must print the lines below it, in order.
func TestLanguages_everyBlockRuns(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "languages.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	shell := shellIn(t, dir)
	commands := 0
	for _, b := range regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$").FindAllStringSubmatch(string(page), -1) {
		switch language, text := b[1], b[2]; language {
		case "ts", "js":
			first, _, _ := strings.Cut(text, "\n")
			name, named := strings.CutPrefix(first, "// ")
			if !named || filepath.Ext(name) != "."+language {
				t.Fatalf("got the first line %q, want the name of a file", first)
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		case "console":
			for _, command := range strings.Split(strings.TrimPrefix(text, "$ "), "\n$ ") {
				line, want, _ := strings.Cut(command, "\n")
				commands++
				wantInOrder(t, line, shell(line), strings.Split(strings.TrimSpace(want), "\n"))
			}
		default:
			t.Errorf("got a block in %q, want one that is run", language)
		}
	}
	if commands == 0 {
		t.Error("got no command, want some")
	}
}

// shellIn returns a function that runs a line of a shell in a folder, where sallyport is this program with a state of its own.
func shellIn(t *testing.T, dir string) func(line string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(self, filepath.Join(bin, "sallyport")); err != nil {
		t.Fatal(err)
	}
	state := t.TempDir()
	return func(line string) string {
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), asProgram+"=1", "HOME="+state, "SALLYPORT_STATE="+filepath.Join(state, "state"), "PATH="+bin+":"+os.Getenv("PATH"))
		out, _ := cmd.CombinedOutput() // a tool that fails is exit code 1
		return string(out)
	}
}

func wantInOrder(t *testing.T, line, got string, want []string) {
	t.Helper()
	rest := got
	for _, w := range want {
		_, after, found := strings.Cut(rest, w)
		if !found {
			t.Errorf("%s: got %q, want %q", line, got, w)
			return
		}
		rest = after
	}
}
