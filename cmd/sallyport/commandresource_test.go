//go:build unix

package main

import (
	"archive/zip"
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// guide packs a skill with these files.
func guide(t *testing.T, files map[string][]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	files["SKILL.md"] = []byte("---\nname: guide\ndescription: A guide.\n---\nRead me.\n")
	for name, content := range files {
		f, err := w.Create(name)
		if err == nil {
			_, err = f.Write(content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestProgram_readsItsInputFromAGrantedResource(t *testing.T) {
	dir := folder(t, wasiProgram(t, "command"))
	put(t, filepath.Join(dir, "guide.skill"), guide(t, map[string][]byte{
		"a.txt": []byte("in\nput"), "b.bin": {0, 0xff, 0xe2, 0x82}, "empty.txt": nil, "large.bin": make([]byte, 5<<20), "secret.txt": []byte("not granted"),
	}))
	tool := func(name, more string) string {
		return fmt.Sprintf("  - {name: %s, inputSchema: {type: object, properties: {uri: {type: string}}}, stdin: {resource: \"{uri}\"}, %s}\n", name, more)
	}
	put(t, filepath.Join(dir, "command.tool.yaml"), []byte("tools:\n"+
		tool("echo", "args: [echo], output: json")+tool("once", "args: [started], env: {MODE: plain}, start: once")+tool("unread", "args: [unread]")))
	s := connect(t, `plugins: {command: {grants: [{resources: {guide: ["skill://guide/{*}.txt", "skill://guide/a.txt", "skill://guide/*.bin", "skill://guide/empty.txt", "skill://guide/SKILL.md"]}}]}}`, dir)
	given := func(tool, uri string) (said string, failed bool) {
		r := call(t, s, "command-"+tool, map[string]any{"uri": uri})
		return text(r), r.IsError
	}
	for _, c := range []struct{ tool, uri, want string }{
		{"echo", "skill://guide/a.txt", `"stdin":"in\nput"`},
		{"echo", "skill://guide/empty.txt", `"stdin":"","terminal"`},
		{"echo", "skill://guide/SKILL.md", `Read me.`},
		{"once", "skill://guide/a.txt", startsAt + " 1 6 <nil> plain\n"},
		{"once", "skill://guide/b.bin", startsAt + " 1 4 <nil> plain\n"},
		{"unread", "skill://guide/secret.txt", "done\n"},
	} {
		if got, failed := given(c.tool, c.uri); failed || !strings.Contains(got, c.want) {
			t.Errorf("%s of %q: got %q, want %q in it", c.tool, c.uri, got, c.want)
		}
	}
	if got := text(call(t, s, "command-echo", nil)); !strings.Contains(got, `"stdin":""`) {
		t.Errorf("no URI: got %q, want an empty input", got)
	}
	const cannot = ", the standard input of the program, cannot be read: "
	for _, c := range []struct{ uri, want string }{
		{"skill://guide/*.txt", `the resource "skill://guide/*.txt"` + cannot + `the resource skill://guide/*.txt answers with error`},
		{"skill://guide/large.bin", `the resource "skill://guide/large.bin"` + cannot},
		{"skill://guide/secret.txt", `to allow it: sallyport grant command 'resources: {guide: "skill://guide/secret.txt"}'`},
		{"skill://other/x", `may not read the resource skill://other/x: no grant allows it`},
		{"x", `uri is the URI of a resource`},
	} {
		for _, tool := range []string{"echo", "once"} {
			if got, failed := given(tool, c.uri); !failed || !strings.Contains(got, c.want) || strings.Contains(got, "not granted") {
				t.Errorf("%s of %q: got %q, want an error with %q", tool, c.uri, got, c.want)
			}
		}
	}
}
