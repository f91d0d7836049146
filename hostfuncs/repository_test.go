package hostfuncs_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// written creates files and their folders.
func written(t *testing.T, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFS_deniesNewRepositories checks that a plugin can turn no folder under a wildcard into a repository, in any
// number of calls: git would run commands of its config and hooks.
func TestFS_deniesNewRepositories(t *testing.T) {
	const evil = "[core]\n\tfsmonitor = touch PWNED\n"
	for _, mode := range []string{"", " {mode: direct}"} {
		home := world(t)
		w := home + "/work"
		written(t, map[string]string{
			w + "/kept/HEAD": "a text", w + "/kept/objects/x": "", // the operator's, and no repository
			w + "/bare.git/HEAD": "ref: refs/heads/main\n", w + "/bare.git/config": "[core]\n", w + "/bare.git/objects/ab/cd": "", w + "/bare.git/refs/heads/main": "",
			w + "/detached/HEAD": strings.Repeat("0a", 20) + "\n", w + "/detached/refs/x": "", w + "/detached/objects/x": "",
			w + "/linked/objects/x": "", w + "/linked/refs/heads/main": "",
		})
		if err := os.Symlink("refs/heads/main", w+"/linked/HEAD"); err != nil {
			t.Skip("no links here:", err)
		}
		for i, try := range []struct {
			name string
			do   func(tr wasi.Tree) wasi.Errno // its last step
			may  bool
		}{
			{"the parts", func(tr wasi.Tree) wasi.Errno {
				return tr.Mkdir(w+"/x") | tr.Mkdir(w+"/x/objects") | tr.Mkdir(w+"/x/refs") | writeFile(tr, w+"/x/config", evil)
			}, true},
			{"HEAD", func(tr wasi.Tree) wasi.Errno { return writeFile(tr, w+"/x/HEAD", "ref: refs/heads/x\n") }, false},
			{"HEAD in another case", func(tr wasi.Tree) wasi.Errno { return writeFile(tr, w+"/x/Head", "ref: refs/heads/x\n") }, false},
			{"HEAD, as a link", func(tr wasi.Tree) wasi.Errno { return tr.Symlink("refs/heads/x", w+"/x/HEAD") }, false},
			{"another file", func(tr wasi.Tree) wasi.Errno { return writeFile(tr, w+"/x/h", "ref: refs/heads/x\n") }, true},
			{"HEAD, moved there", func(tr wasi.Tree) wasi.Errno { return tr.Rename(w+"/x/h", w+"/x/HEAD") }, false},
			{"HEAD, as a second name", func(tr wasi.Tree) wasi.Errno { return tr.Link(w+"/x/h", w+"/x/HEAD", false) }, false},
			{"a HEAD of the operator's, moved", func(tr wasi.Tree) wasi.Errno { return tr.Rename(w+"/kept/HEAD", w+"/x/HEAD") }, false},
			{"its folder, moved", func(tr wasi.Tree) wasi.Errno { return tr.Rename(w+"/kept", w+"/moved") }, false},
			{"a HEAD of the operator's, written", func(tr wasi.Tree) wasi.Errno { return writeFile(tr, w+"/kept/HEAD", "ref: refs/heads/x\n") }, false},
			{"the folder, as .git", func(tr wasi.Tree) wasi.Errno {
				return tr.Rename(w+"/x", w+"/.git2") | tr.Rename(w+"/.git2", w+"/y/.git")
			}, false},
			{".git, as a file", func(tr wasi.Tree) wasi.Errno { return writeFile(tr, w+"/sub/.git", "gitdir: ../x\n") }, false},
			{".git, as a link", func(tr wasi.Tree) wasi.Errno { return tr.Symlink("../x", w+"/sub/.git") }, false},
			{".git, as a folder", func(tr wasi.Tree) wasi.Errno { return tr.Mkdir(w + "/sub/.git") }, false},
			{"config of a bare one", func(tr wasi.Tree) wasi.Errno { return writeFile(tr, w+"/bare.git/config", evil) }, false},
			{"a hook of a bare one", func(tr wasi.Tree) wasi.Errno { return tr.Mkdir(w + "/bare.git/hooks") }, false},
			{"commondir of a bare one", func(tr wasi.Tree) wasi.Errno { return writeFile(tr, w+"/bare.git/commondir", "../x") }, false},
			{"config of a bare one with a HEAD of its own", func(tr wasi.Tree) wasi.Errno { return writeFile(tr, w+"/detached/config", evil) }, false},
			{"config of a bare one whose HEAD is a link", func(tr wasi.Tree) wasi.Errno { return writeFile(tr, w+"/linked/config", evil) }, false},
			{"HEAD of a bare one, away", func(tr wasi.Tree) wasi.Errno { return tr.Unlink(w + "/bare.git/HEAD") }, false},
			{"HEAD of a bare one, elsewhere", func(tr wasi.Tree) wasi.Errno { return tr.Rename(w+"/bare.git/HEAD", w+"/h") }, false},
			{"a bare one, elsewhere", func(tr wasi.Tree) wasi.Errno { return tr.Rename(w+"/bare.git", w+"/bare2") }, false},
			{"a ref of a bare one", func(tr wasi.Tree) wasi.Errno { return writeFile(tr, w+"/bare.git/refs/heads/x", "0") }, true},
			{"commondir", func(tr wasi.Tree) wasi.Errno { return writeFile(tr, w+"/.git/commondir", "../x") }, false},
			{"a message that is a link to config", func(tr wasi.Tree) wasi.Errno { return tr.Symlink("config", w+"/.git/COMMIT_EDITMSG") }, false},
			{"a message that is a link to config, moved there", func(tr wasi.Tree) wasi.Errno {
				return tr.Mkdir(w+"/m") | tr.Symlink("config", w+"/m/l") | tr.Rename(w+"/m/l", w+"/.git/MERGE_MSG")
			}, false},
			{"a text that is a link to a hook", func(tr wasi.Tree) wasi.Errno { return tr.Symlink(".git/hooks/post-checkout", w+"/notes") }, false},
			{"a folder that is a link to a part of it", func(tr wasi.Tree) wasi.Errno { return tr.Symlink("../.git", w+"/sub/g") }, false},
			{"a link to its data", func(tr wasi.Tree) wasi.Errno { return tr.Symlink("../.git/ORIG_HEAD", w+"/sub/o") }, true},
			{"through a link to .git", func(tr wasi.Tree) wasi.Errno {
				return tr.Symlink(".git", w+"/g") | writeFile(tr, w+"/g/commondir", "../x")
			}, false},
			{"through .. after .git", func(tr wasi.Tree) wasi.Errno { return writeFile(tr, w+"/.git/../.git/hooks", "x") }, false},
		} {
			h := hostfuncs.NewHost(&hostfuncs.Options{Home: home, State: filepath.Join(home, "state")})
			g := h.Plugin(hostfuncs.Plugin{Name: "demo", Grants: mustSet(t, "fs: write ~/work/**"+mode)}).NewGate(hostfuncs.Call{ID: fmt.Sprint(i)})
			if e := try.do(g.Files()); (e == 0) != try.may {
				t.Errorf("%s: %s: got %v, want success: %t", mode, try.name, e, try.may)
			}
			if err := g.Land(t.Context()); err != nil {
				t.Errorf("%s: %s: got %v from landing, want success", mode, try.name, err)
			}
			g.Close()
			h.Close()
		}
	}
}

// TestFS_allowsDataOfGit checks that a plugin that may write a repository may write the files that git itself writes
// there as data, and that exactly the listed others are denied.
func TestFS_allowsDataOfGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatalf("git: got %v, want it installed", err)
	}
	home := world(t)
	dir := home + "/project"
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "protocol.file.allow=always"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "HOME="+home, "GIT_EDITOR=true")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: got %v, want success: %s", args, err, out)
		}
	}
	seen := map[string]bool{}
	look := func() {
		_ = filepath.WalkDir(dir+"/.git", func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				seen[path] = true
			}
			return nil
		})
	}
	written(t, map[string]string{dir + "/a": "a"})
	for _, step := range [][]string{
		{"init", "-q", "-b", "main"}, {"add", "."}, {"commit", "-qm", "one"}, {"branch", "side"}, {"tag", "-a", "v1", "-m", "v1"}, {"checkout", "-q", "side"},
		{"commit", "-q", "--allow-empty", "-m", "two"}, {"checkout", "-q", "main"}, {"commit", "-q", "--allow-empty", "-m", "three"}, {"merge", "-q", "--no-ff", "--no-commit", "side"},
		{"commit", "-qm", "merged"}, {"reset", "-q", "--soft", "HEAD~1"}, {"reset", "-q", "--hard"}, {"fetch", "-q", ".", "side:other"}, {"pack-refs", "--all"},
		{"gc", "-q"}, {"commit-graph", "write"}, {"stash", "list"},
	} {
		git(step...)
		look()
	}
	_, tr := filesOf(t, hostfuncs.Options{Home: home}, "fs: write ~/**")
	var refused []string
	for path := range seen {
		if e := writeFile(tr, path, "x"); e != 0 && e != wasi.ENOENT { // git may have removed the folder
			refused = append(refused, strings.TrimPrefix(path, dir+"/.git/"))
		}
	}
	slices.Sort(refused)
	refused = slices.DeleteFunc(refused, func(name string) bool { return strings.HasPrefix(name, "hooks/") })
	if want := []string{"config", "description", "index", "info/exclude", "info/refs"}; !slices.Equal(refused, want) {
		t.Errorf("refused %q, want %q", refused, want)
	}
	if len(seen) < 20 {
		t.Errorf("got %d files written by git, want 20 or more", len(seen))
	}
}
