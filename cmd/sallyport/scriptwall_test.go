package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// A script whose import is a pattern has the bundler list folders. The process that runs it can list no other than that of
// the script: nothing of them is in the module, in an error or in memory.
func TestScript_listsNoFolderOutsideOfItsOwn(t *testing.T) {
	dir := t.TempDir()
	inside, outside := filepath.Join(dir, "inside"), filepath.Join(dir, "outside")
	for _, d := range []string{inside, outside} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(inside, "a.ts")
	text := `import { tool } from "sallyport";
const read = (name: string) => import(` + "`./../outside/${name}.txt`" + `, { with: { type: "text" } });
tool("a", "Reads.", async () => (await read("private-name")).default);
`
	for name, content := range map[string]string{file: text, filepath.Join(outside, "private-name.txt"): "content"} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "bundle-script", "read", file)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	cmd.Stdin = strings.NewReader(text)
	out, err := cmd.CombinedOutput()
	said := strings.ReplaceAll(string(out), `read(\"private-name\")`, "")
	switch refused := strings.Contains(said, "lies outside of the folder"); {
	case refused && runtime.GOOS != "linux": // where the bundler is not confined, its answer is refused
	case err != nil, strings.Contains(said, "private-name"), strings.Contains(said, "content\""):
		t.Errorf("got %q, %v, want a script without the names outside of its folder", said, err)
	}
}
