package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestLanguages_everyBlockRuns(t *testing.T) {
	t.Parallel()
	scripts, _, _ := strings.Cut(pageOf(t, "docs/languages.md"), compiledLanguages)
	runBlocks(t, scripts)
}

// compiledLanguages is the heading of the section whose blocks need toolchains.
const compiledLanguages = "\n## Compiled languages\n"

// extensions are those of the files that a page writes, by the language of the block.
var extensions = map[string]string{"ts": ".ts", "js": ".js", "go": ".go", "c": ".c", "rust": ".rs", "python": ".py", "zig": ".zig"}

// The plugins of README are written, built, called and refused as it says.
func TestREADME_pluginsRun(t *testing.T) {
	t.Parallel()
	var section string
	for _, title := range []string{"A refusal", "Write a plugin"} {
		_, text, _ := strings.Cut(pageOf(t, "README.md"), "\n## "+title+"\n")
		text, _, _ = strings.Cut(text, "\n## ")
		section += text + "\n"
	}
	clone, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	runBlocks(t, strings.ReplaceAll(section, "/path/to/sallyport", clone))
}

// pageOf returns the text of a file of the repository.
func pageOf(t *testing.T, name string) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// runBlocks runs a page: a block whose first line names a file is written, and each command of a console block must
// print the lines below it, in order.
func runBlocks(t *testing.T, page string) {
	t.Helper()
	dir := t.TempDir()
	shell := shellIn(t, dir)
	commands := 0
	for _, b := range regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$").FindAllStringSubmatch(page, -1) {
		switch language, text := b[1], b[2]; language {
		case "ts", "js", "go", "c", "rust", "python", "zig":
			first, _, _ := strings.Cut(text, "\n")
			name, named := strings.CutPrefix(strings.Replace(first, "# ", "// ", 1), "// ")
			if !named || filepath.Ext(name) != extensions[language] {
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
	telemetry := filepath.Join(state, ".config", "go", "telemetry")
	if err := os.MkdirAll(telemetry, 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(telemetry, "mode"), []byte("off")) // else the go command counts there after its end
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
