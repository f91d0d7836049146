package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A grant bound to a path argument accepts an absolute path and one relative to the grant's folder, including that of a
// new file.
func TestFiles_acceptPathsRelativeToTheGrant(t *testing.T) {
	work := t.TempDir()
	if err := os.MkdirAll(filepath.Join(work, "a"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(work, "a", "h.txt"), []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	read, tree := "fs: read "+work+"/{args.path:path}", "fs: read "+work+"/{args.path:path}/**"
	for _, c := range []struct {
		line, tool, path, want string
	}{
		{read, "read", "a/h.txt", "hello"},
		{read, "read", work + "/a/h.txt", "hello"},
		{"fs: read {workspace}/{args.path:path}", "read", "a/h.txt", "hello"},
		{"fs: read {workspace}/{args.path:path}", "read", "/workspace/a/h.txt", "hello"},
		{"fs: read {workspace}/{args.path:path}", "read", work + "/a/h.txt", "hello"},
		{tree, "list", "a", "h.txt"},
		{tree, "search", "a", "h.txt:1:hello"},
		{"fs: write " + work + "/{args.path:path}", "write", "a/new.txt", "wrote 4 bytes"},
		{read, "read", "a/other.txt", "does not exist or is not granted"},
	} {
		s := connect(t, "workspace: "+work+"\nplugins: {files: {grants: ['"+c.line+"']}}", folder(t, bundled(t, "files")))
		args := map[string]any{"path": c.path}
		switch c.tool {
		case "search":
			args["pattern"] = "hel"
		case "write":
			args["text"] = "text"
		}
		if got := text(call(t, s, "files-"+c.tool, args)); !strings.Contains(got, c.want) {
			t.Errorf("%s, %s %s: %q, want %q", c.line, c.tool, c.path, got, c.want)
		}
	}
}
