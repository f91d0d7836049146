package hostfuncs_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/receipt"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// TestFS_noOracleBelowDeniedPath checks that a denied path and everything below it do not exist for a plugin: no
// result of a call, up to the commit of its writes, depends on the host's files there.
func TestFS_noOracleBelowDeniedPath(t *testing.T) {
	for _, lines := range [][]string{
		{"fs: write ~/work/**", "deny: fs: read ~/work/*.key"},
		{"fs: write ~/work/**", "fs: write ~/work/x.key/sub/n", "deny: fs: read ~/work/*.key"},
		{"fs: write ~/work/**", "deny: fs: read ~/work/x.key/sub"},
		{"fs: write ~/work/** {mode: direct}", "deny: fs: read ~/work/*.key"},
	} {
		var told []string
		for _, there := range []bool{false, true} {
			home := world(t)
			if there {
				written(t, map[string]string{home + "/work/x.key/sub/old": "secret"})
			} else if lines[len(lines)-1] == "deny: fs: read ~/work/x.key/sub" {
				written(t, map[string]string{home + "/work/x.key/other": ""})
			}
			all := ""
			for _, path := range []string{"/work/x.key", "/work/x.key/sub", "/work/x.key/sub/n", "/work/x.key/sub/old", "/work/x.key/n/../sub/n"} {
				if !strings.Contains(path, "sub") && strings.HasSuffix(lines[len(lines)-1], "sub") {
					continue
				}
				for _, do := range []func(tr wasi.Tree) wasi.Errno{
					func(tr wasi.Tree) wasi.Errno { return writeFile(tr, home+path, "x") },
					func(tr wasi.Tree) wasi.Errno { _, e := readFile(tr, home+path); return e },
					func(tr wasi.Tree) wasi.Errno { _, e := tr.Stat(home+path, true); return e },
					func(tr wasi.Tree) wasi.Errno { return tr.Mkdir(home + path) },
					func(tr wasi.Tree) wasi.Errno { return tr.Symlink("a", home+path) },
					func(tr wasi.Tree) wasi.Errno { return tr.Rename(home+"/work/a.txt", home+path) },
					func(tr wasi.Tree) wasi.Errno { return tr.Unlink(home + path) },
				} {
					g, tr := filesOf(t, hostfuncs.Options{Home: home}, lines...)
					e := do(tr)
					landed := g.Land(t.Context())
					var end *runtime.EndError
					_ = errors.As(landed, &end)
					all += fmt.Sprintf("%s: %d %v %v %d\n", path, e, landed == nil, end, len(g.Denials()))
					g.Close()
				}
			}
			told = append(told, all)
			if _, err := os.Stat(home + "/work/x.key/sub/n"); err == nil {
				t.Errorf("%q: got a file below the hidden folder, want none", lines)
			}
		}
		if told[0] != told[1] {
			t.Errorf("%q: got answers that depend on the folder:\n%s\nwant\n%s", lines, told[1], told[0])
		}
	}
}

// TestFS_hidesTemporaryFilesOfCommits checks that temporary files of other calls' commits are hidden.
func TestFS_hidesTemporaryFilesOfCommits(t *testing.T) {
	for _, mode := range []string{"", " {mode: direct}"} {
		home := world(t)
		written(t, map[string]string{home + "/work/.sallyport-abc-0": "secret", home + "/work/.sallyport-abc-1/in/x": "secret", home + "/work/sub/.sallyport-abc-2-was": "secret"})
		for _, before := range []bool{false, true} { // the call has pending writes
			_, tr := filesOf(t, hostfuncs.Options{Home: home}, "fs: write ~/work/**"+mode, "fs: write ~/work/.sallyport-abc-0")
			if before && writeFile(tr, home+"/work/mine", "x") != 0 {
				t.Fatalf("write to a granted file: got a refusal, want success")
			}
			for _, name := range []string{".sallyport-abc-0", ".Sallyport-abc-0", ".sallyport-abc-1", ".sallyport-abc-1/in", ".sallyport-abc-1/in/x", "sub/.sallyport-abc-2-was", ".sallyport-new"} {
				if done := everything(tr, home+"/work/"+name, home+"/work/beside"); len(done) > 0 {
					t.Errorf("%s: %s: got %s, want all refused", mode, name, done)
				}
			}
			for _, dir := range []string{"", "/sub"} {
				f, e := tr.Open(home+"/work"+dir, wasi.OpenOptions{Read: true, Directory: true})
				if e != 0 {
					t.Fatalf("got errno %v, want success", e)
				}
				for {
					list, _ := f.ReadDir(100)
					if len(list) == 0 {
						break
					}
					for _, entry := range list {
						if strings.HasPrefix(entry.Name, ".sallyport-") {
							t.Errorf("list: got %s, want it hidden", entry.Name)
						}
					}
				}
				f.Close()
			}
		}
	}
}

// TestFS_hidesTargetsOfLinksFromRemoteCallers checks that the targets of the operator's links are reported to local
// callers and the log; a caller over HTTP gets the requested path.
func TestFS_hidesTargetsOfLinksFromRemoteCallers(t *testing.T) {
	for _, principal := range []string{"stdio:0", "token:alice", "anonymous"} {
		home := linked(t)
		client := &listener{}
		h := hostfuncs.NewHost(&hostfuncs.Options{Home: home, State: filepath.Join(home, "state"), Protected: []string{home + "/state/sallyport"}})
		p := h.Plugin(hostfuncs.Plugin{Name: "demo", Workspace: home + "/work", Grants: mustSet(t,
			"fs: write {workspace}/**", "fs: write ~/work/file", "fs: read ~/other/sub/**", "fs: write ~/granted/**", "fs: write ~/work/folder/**")})
		written(t, map[string]string{home + "/other/sub/in": "", home + "/granted/deep/x": ""})
		if err := errors.Join(os.Symlink("../../other/sub", home+"/work/sub/in"), os.Symlink("../granted/deep", home+"/work/folder")); err != nil {
			t.Fatal(err)
		}
		g := p.NewGate(hostfuncs.Call{ID: "c", Principal: principal, Client: client})
		tr := g.Files()
		for _, path := range []string{"/workspace/out/c.txt", home + "/work/out/c.txt", "/workspace/file", home + "/work/file", "/workspace/own/keys/k", "/workspace/yaml", "/workspace/id", "/workspace/new", "/workspace/up/other", "/workspace/sub/../out/x"} {
			everything(tr, path, "/workspace/beside")
		}
		if e := writeFile(tr, "/workspace/sub/in/in", "x"); e == 0 {
			t.Errorf("write to a file granted for reading: got success, want a refusal")
		}
		if e := tr.Symlink("../../other", "/workspace/folder/l"); e == 0 {
			t.Errorf("a link that leads out: got success, want a refusal")
		}
		d, e := tr.Open("/workspace/folder", wasi.OpenOptions{Read: true, Directory: true})
		if e != 0 {
			t.Fatalf("got errno %v, want success", e)
		}
		tr.Symlink("../../other", d.Path()+"/m") // guests continue from an open folder
		if err := os.WriteFile(home+"/granted/deep/x", nil, 0o600); err != nil {
			t.Fatal(err)
		}
		var end *runtime.EndError
		if text, e := readFile(tr, "/workspace/folder/x"); e != 0 || text != "" {
			t.Fatalf("got %q, errno %v, want an empty file", text, e)
		}
		if e := writeFile(tr, "/workspace/folder/x", "mine"); e != 0 {
			t.Fatalf("got errno %v, want success", e)
		}
		if err := os.WriteFile(home+"/granted/deep/x", []byte("somebody's"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := g.Land(t.Context()); !errors.As(err, &end) || end.Kind != runtime.KindConflict {
			t.Fatalf("landing: got %v, want a conflict", err)
		}
		told := strings.Join(client.denied, "\n") + end.Message
		for _, word := range []string{"~/other", "~/.ssh", "~/granted"} {
			if leaks := strings.Contains(told, word); leaks != (principal == "stdio:0") {
				t.Errorf("%s: got %s told: %v, want %v\n%s", principal, word, leaks, principal == "stdio:0", told)
			}
		}
		if strings.Contains(told, "~/state") && principal != "stdio:0" {
			t.Errorf("%s: got the state folder told, want it hidden:\n%s", principal, told)
		}
		if d := g.Receipt().Denials; !slices.ContainsFunc(d, func(d receipt.Denial) bool { return strings.Contains(d.Reason, "~/other/c.txt") }) {
			t.Errorf("got denials %+v, want one that names ~/other/c.txt", d)
		}
		g.Close()
		h.Close()
	}
}
