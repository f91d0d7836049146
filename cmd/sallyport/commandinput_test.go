//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestProgram_readsItsInputFromAGrantedFile(t *testing.T) {
	const large = 20 << 20 // more than a message to the host may have
	work, elsewhere := t.TempDir(), t.TempDir()
	put(t, filepath.Join(work, "a b.txt"), []byte("in\nput"))
	put(t, filepath.Join(work, "-"), []byte("dash"))
	put(t, filepath.Join(work, "large"), make([]byte, large))
	put(t, filepath.Join(elsewhere, "c.txt"), []byte("not granted"))
	dir := folder(t, wasiProgram(t, "command"))
	tool := func(name, more string) string {
		return fmt.Sprintf("  - {name: %s, inputSchema: {type: object, properties: {path: {type: string}}}, stdin: {file: \"{path}\"}, %s}\n", name, more)
	}
	put(t, filepath.Join(dir, "command.tool.yaml"), []byte("tools:\n"+
		tool("echo", "args: [echo], output: json")+tool("once", "args: [started], env: {MODE: plain}, start: once")+tool("unread", "args: [unread]")))
	s := connect(t, "plugins: {command: {workspace: "+work+", grants: ['fs: read {workspace}/**']}}", dir)
	given := func(tool, path string) (said string, failed bool) {
		r := call(t, s, "command-"+tool, map[string]any{"path": path})
		return text(r), r.IsError
	}
	const cannot = ", the standard input of the program, cannot be read: "
	for _, c := range []struct{ tool, path, want string }{
		{"echo", "/workspace/a b.txt", `"stdin":"in\nput"`},
		{"echo", "a b.txt", `"stdin":"in\nput"`},
		{"echo", filepath.Join(work, "a b.txt"), `"stdin":"in\nput"`},
		{"echo", "-", `"stdin":"dash"`},
		{"once", "large", fmt.Sprintf("%s 1 %d <nil> plain\n", startsAt, large)},
		{"once", "a b.txt", startsAt + " 1 6 <nil> plain\n"},
		{"unread", "missing", "done\n"},
	} {
		if got, failed := given(c.tool, c.path); failed || !strings.Contains(got, c.want) {
			t.Errorf("%s of %q: got %q, want %q in it", c.tool, c.path, got, c.want)
		}
	}
	if got := text(call(t, s, "command-echo", nil)); !strings.Contains(got, `"stdin":""`) {
		t.Errorf("no path: got %q, want an empty input", got)
	}
	for _, c := range []struct{ path, want string }{
		{"missing", `the file "missing"` + cannot + "it does not exist, or no grant allows reading it"},
		{"", `the file ""` + cannot + "it is a folder"},
		{"/workspace", `the file "/workspace"` + cannot + "it is a folder"},
		{filepath.Join(elsewhere, "c.txt"), "to allow it: sallyport grant command 'fs: read " + filepath.Join(elsewhere, "c.txt") + "'"},
		{"a\x00b", `the argument "path" has a NUL byte`},
	} {
		for _, tool := range []string{"echo", "once"} {
			if got, failed := given(tool, c.path); !failed || !strings.Contains(got, c.want) || strings.Contains(got, "not granted") {
				t.Errorf("%s of %q: got %q, want an error with %q", tool, c.path, got, c.want)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(work, "missing")); err == nil {
		t.Error("a missing file: got one on the host, want none")
	}
}
