package hostfuncs_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/receipt"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// linked is a world with links in ~/work that lead out of it, as in a cloned repository.
func linked(t *testing.T) string {
	t.Helper()
	home := world(t)
	for name, target := range map[string]string{
		"out": "../other", "file": "../other/c.txt", "absolute": filepath.Join(home, "other"), "key": "../.ssh", "id": "../.ssh/id",
		"own": "../state/sallyport", "yaml": "../state/sallyport/sallyport.yaml", "chain": "hop", "hop": "sub/last", "sub/last": "../../other",
		"up": "..", "sub/back": "../../work/out", "new": "../other/new.txt",
	} {
		if err := os.Symlink(filepath.FromSlash(target), filepath.Join(home, "work", name)); err != nil {
			t.Skip("no links here:", err)
		}
	}
	return home
}

// snapshot returns everything below a folder that a call might change.
func snapshot(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		info, statErr := os.Lstat(path)
		if err = errors.Join(err, statErr); err != nil {
			return err
		}
		text := ""
		if info.Mode().IsRegular() {
			raw, _ := os.ReadFile(path)
			text = string(raw)
		}
		target, _ := os.Readlink(path)
		all = append(all, fmt.Sprintln(path, info.Mode(), text, target, info.ModTime().UnixNano()))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// everything tries each operation on a path, and returns those that succeeded.
func everything(tr wasi.Tree, path, beside string) (done []string) {
	now := int64(1)
	for _, try := range []struct {
		name string
		do   func() wasi.Errno
	}{
		{"read", func() wasi.Errno { _, e := readFile(tr, path); return e }},
		{"list", func() wasi.Errno {
			f, e := tr.Open(path, wasi.OpenOptions{Read: true, Directory: true})
			if e != 0 {
				return e
			}
			defer f.Close()
			list, e := f.ReadDir(10)
			if len(list) == 0 {
				return max(e, 1)
			}
			return e
		}},
		{"stat", func() wasi.Errno { _, e := tr.Stat(path, true); return e }},
		{"write", func() wasi.Errno { return writeFile(tr, path, "EVIL") }},
		{"append", func() wasi.Errno {
			f, e := tr.Open(path, wasi.OpenOptions{Write: true})
			if e != 0 {
				return e
			}
			defer f.Close()
			_, e = f.Append([]byte("EVIL"))
			return e
		}},
		{"times", func() wasi.Errno { return tr.Chtimes(path, wasi.Times{Mtime: &now}, true) }},
		{"make below", func() wasi.Errno { return tr.Mkdir(path + "/evil") }},
		{"write below", func() wasi.Errno { return writeFile(tr, path+"/evil", "EVIL") }},
		{"link below", func() wasi.Errno { return tr.Symlink("x", path+"/evil") }},
		{"hard link", func() wasi.Errno { return tr.Link(path, beside, true) }},
		{"move into", func() wasi.Errno {
			if e := writeFile(tr, beside, "EVIL"); e != 0 {
				return e
			}
			return tr.Rename(beside, path+"/evil")
		}},
	} {
		if try.do() == 0 {
			done = append(done, try.name)
		}
	}
	return done
}

// TestFS_grantAppliesToResolvedPath checks that a grant applies to the resolved path, not the requested one: no link
// widens a line, whether the path comes from the line, a value of the call, the workspace or the client's roots.
func TestFS_grantAppliesToResolvedPath(t *testing.T) {
	tests := []struct {
		lines []string
		args  string // arguments of the call
		path  string // requested path, below the home or /workspace
		leads string // denied path, below the home
	}{
		{[]string{"fs: write ~/work/{args.dir:path}/**"}, `{"dir":"out"}`, "/work/out/c.txt", "/other/c.txt"},
		{[]string{"fs: write ~/work/{args.dir:path}/**"}, `{"dir":"out/"}`, "/work/out/c.txt", "/other/c.txt"},
		{[]string{"fs: write ~/work/{args.dir:path}/**"}, `{"dir":"out"}`, "/work/out", "/other"},
		{[]string{"fs: write ~/work/{args.dir}/**"}, `{"dir":"absolute"}`, "/work/absolute/c.txt", "/other/c.txt"},
		{[]string{"fs: write ~/work/{args.dir}/**"}, `{"dir":"chain"}`, "/work/chain/c.txt", "/work/hop/c.txt"},
		{[]string{"fs: write ~/work/{args.dir:path}/**"}, `{"dir":"sub/back"}`, "/work/sub/back/c.txt", "/work/out/c.txt"},
		{[]string{"fs: write ~/work/{args.dir}/**"}, `{"dir":"up"}`, "/work/up/other/c.txt", "/other/c.txt"},
		{[]string{"fs: write ~/work/{args.dir}/**"}, `{"dir":"key"}`, "/work/key/id", "/.ssh/id"},
		{[]string{"fs: write ~/work/{args.dir}/**"}, `{"dir":"own"}`, "/work/own/keys/k", "/work/own/keys/k"},
		{[]string{"fs: write ~/work/{args.file}"}, `{"file":"id"}`, "/work/id", "/.ssh/id"},
		{[]string{"fs: write ~/work/{args.file}"}, `{"file":"yaml"}`, "/work/yaml", "/state/sallyport/sallyport.yaml"},
		{[]string{"fs: write ~/work/{args.file}"}, `{"file":"new"}`, "/work/new", "/other/new.txt"},
		{[]string{"fs: write {workspace}/{args.path:path}"}, `{"path":"out/c.txt"}`, "/workspace/out/c.txt", "/other/c.txt"},
		{[]string{"fs: write {workspace}/{args.path:path}"}, `{"path":"/workspace/file"}`, "/workspace/file", "/other/c.txt"},
		{[]string{"fs: write {workspace}/out/**"}, "", "/workspace/out/c.txt", "/other/c.txt"},
		{[]string{"fs: write ~/work/out/**"}, "", "/work/out/c.txt", "/other/c.txt"},
		{[]string{"fs: write ~/work/out/c.txt"}, "", "/work/out/c.txt", "/other/c.txt"},
		{[]string{"fs: write ~/work/file"}, "", "/work/file", "/other/c.txt"},
		{[]string{"fs: write ~/work/new"}, "", "/work/new", "/other/new.txt"},
		{[]string{"fs: write ~/work/chain/c.txt"}, "", "/work/chain/c.txt", "/other/c.txt"},
		{[]string{"fs: write ~/work/key/**"}, "", "/work/key/id", "/.ssh/id"},
		{[]string{"fs: write ~/work/id"}, "", "/work/id", "/.ssh/id"},
		{[]string{"fs: write ~/work/own/**"}, "", "/work/own/keys/k", "/state/sallyport/keys/k"},
		{[]string{"fs: write ~/work/yaml"}, "", "/work/yaml", "/state/sallyport/sallyport.yaml"},
		{[]string{"fs: write ~/work/file", "fs: write ~/**", "deny: fs: read ~/other/**"}, "", "/work/file", "/other/c.txt"},
		{[]string{"fs: write ~/work/id", "fs: write ~/**"}, "", "/work/id", "/.ssh/id"},
		{[]string{"fs: write {roots}/** {within: [~/work]}"}, "", "/work/out/c.txt", "/other/c.txt"},
		// Moves and links between the paths of two lines.
		{[]string{"fs: write ~/work/out/**", "fs: write ~/work/sub/**"}, "", "/work/sub/../out/c.txt", "/other/c.txt"},
		{[]string{"fs: write ~/work/{args.a}/{args.b:path}"}, `{"a":"sub","b":"last/c.txt"}`, "/work/sub/last/c.txt", "/other/c.txt"},
	}
	for i, n := 0, len(tests); i < n; i++ { // again with writing in place
		tt := tests[i]
		tt.lines = slices.Clone(tt.lines)
		for j, line := range tt.lines {
			if strings.HasPrefix(line, "fs: ") && !strings.HasSuffix(line, "}") || strings.HasSuffix(line, "{args.file}") {
				tt.lines[j] = line + " {mode: direct}"
			}
		}
		tests = append(tests, tt)
	}
	for _, tt := range tests {
		home := linked(t)
		h := hostfuncs.NewHost(&hostfuncs.Options{Home: home, State: filepath.Join(home, "state"), Protected: []string{filepath.Join(home, "state", "sallyport")}})
		p := h.Plugin(hostfuncs.Plugin{Name: "demo", Grants: mustSet(t, append(tt.lines, "fs: write ~/work/beside")...), Workspace: filepath.Join(home, "work")})
		path := tt.path
		if !strings.HasPrefix(path, "/workspace") {
			path = home + path
		}
		call := hostfuncs.Call{
			ID: "c", Principal: "stdio:0", Entry: grant.Entry{Kind: "tool", Name: "t"}, Values: grant.ArgumentValues(json.RawMessage(tt.args)),
			Client: &rooted{roots: `{"roots":[{"uri":"file://` + home + `/work/out"}]}`},
		}
		before := snapshot(t, home)
		g := p.NewGate(call)
		if done := everything(g.Files(), path, home+"/work/beside"); len(done) > 0 {
			t.Errorf("%q with %s: got %s of %s, want all refused", tt.lines, tt.args, done, tt.path)
		}
		if err := g.Land(t.Context()); err != nil {
			t.Error(err)
		}
		if after := snapshot(t, home); !slices.Equal(except(before), except(after)) {
			t.Errorf("%q with %s: got a changed host, want it unchanged:\n%s", tt.lines, tt.args, after)
		}
		named := slices.ContainsFunc(g.Receipt().Denials, func(d receipt.Denial) bool { return strings.HasSuffix(d.Effect, " ~"+tt.leads) })
		if !named {
			t.Errorf("%q with %s: got denials %+v, want one of %s", tt.lines, tt.args, g.Receipt().Denials, tt.leads)
		}
		g.Close()
		x, err := p.Explain(call, "write "+path)
		if err != nil || x.Allowed || x.Leads != "write ~"+tt.leads && tt.leads != tt.path {
			t.Errorf("%q with %s: got explanation %+v, %v, want a refusal of write ~%s", tt.lines, tt.args, x, err, tt.leads)
		}
		h.Close()
	}
}

// except removes the file that the call may write, and its folder.
func except(all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool {
		return strings.Contains(s, "/work/beside ") || strings.Contains(s, "/work drwx") || strings.Contains(s, "/state/landing") || strings.Contains(s, "/state drwx")
	})
}

// TestFS_guestLinkWidensNothing checks that a guest's link leads only to paths that are granted themselves, not to
// their parent folders.
func TestFS_guestLinkWidensNothing(t *testing.T) {
	for _, mode := range []string{"", " {mode: direct}"} {
		home := world(t)
		h := hostfuncs.NewHost(&hostfuncs.Options{Home: home, State: filepath.Join(home, "state")})
		p := h.Plugin(hostfuncs.Plugin{Name: "demo", Grants: mustSet(t, "fs: write {workspace}/{args.dir:path}/**"+mode), Workspace: filepath.Join(home, "work")})
		in := func(dir string) *hostfuncs.Gate {
			return p.NewGate(hostfuncs.Call{ID: "c", Entry: grant.Entry{Kind: "tool", Name: "t"}, Values: grant.ArgumentValues(json.RawMessage(`{"dir":"` + dir + `"}`))})
		}
		first := in("a")
		tr := first.Files()
		if e := tr.Mkdir("/workspace/a"); e != 0 {
			t.Fatalf("the folder that the line names: got %v, want success", e)
		}
		for target, want := range map[string]wasi.Errno{"..": wasi.EPERM, "../": wasi.EPERM, "../sub": wasi.EPERM, "../.": wasi.EPERM, "../a": 0, "x": 0} {
			e := tr.Symlink(target, "/workspace/a/l")
			if e != want {
				t.Errorf("%s: a link to %s: got %v, want %v", mode, target, e, want)
			}
			if e == 0 {
				tr.Unlink("/workspace/a/l")
			}
		}
		if e := tr.Symlink("x", "/workspace/a/m"); e != 0 {
			t.Errorf("got errno %v, want success", e)
		}
		if err := first.Land(t.Context()); err != nil {
			t.Fatal(err)
		}
		first.Close()
		// In the next call it widens nothing, regardless of its creator.
		if err := os.Symlink("..", filepath.Join(home, "work", "a", "l")); err != nil {
			t.Fatal(err)
		}
		second := in("a/l")
		if done := everything(second.Files(), "/workspace/a/l/a.txt", "/workspace/a/l/b"); len(done) > 0 {
			t.Errorf("%s: through the link: got %s, want all refused", mode, done)
		}
		if done := everything(second.Files(), "/workspace/a/l", "/workspace/a/l/b"); !slices.Equal(done, []string{"list", "stat"}) {
			t.Errorf("%s: of the folder, which leads to granted files: got %s, want list and stat", mode, done)
		}
		second.Close()
		h.Close()
	}
}

// TestFS_guestLinksLeadToWritablePaths checks that a plugin's link leads only to paths that the plugin may write, also
// through existing links, since other programs write through it.
func TestFS_guestLinksLeadToWritablePaths(t *testing.T) {
	for _, mode := range []string{"", " {mode: direct}"} {
		home := linked(t)
		written(t, map[string]string{home + "/work/read/only": "", home + "/work/secret/s": ""})
		_, tr := filesOf(t, hostfuncs.Options{Home: home}, "fs: read ~/work/**", "fs: write ~/work/sub/**"+mode, "fs: write ~/work/a.txt"+mode, "deny: fs: read ~/work/secret/**")
		for target, want := range map[string]wasi.Errno{
			"../read/only": wasi.EPERM, "../read": wasi.EPERM, "../read/none": wasi.EPERM, "../out/c.txt": wasi.EPERM, "../file": wasi.EPERM, "last/c.txt": wasi.EPERM, "last": wasi.EPERM,
			"back/x": wasi.EPERM, "../secret/s": wasi.EPERM, "../secret/none": wasi.EPERM, "..": wasi.EPERM, "../.git/config": wasi.EPERM, "../../.bashrc": wasi.EPERM,
			"b.md": 0, "none": 0, "none/yet": 0, ".": 0, "../a.txt": 0,
		} {
			e := tr.Symlink(target, home+"/work/sub/l")
			if e != want {
				t.Errorf("%s: a link to %s: %v, want %v", mode, target, e, want)
			}
			if e == 0 {
				tr.Unlink(home + "/work/sub/l")
			}
		}
	}
}

// TestFS_operatorLinksAreFollowedAndHidden checks that the workspace may be named by a link, and that links on the way
// are hidden from the guest while their targets are granted.
func TestFS_operatorLinksAreFollowedAndHidden(t *testing.T) {
	home := linked(t)
	g, tr := filesOf(t, hostfuncs.Options{Home: home}, "fs: write ~/work/out/**", "fs: write ~/other/**")
	if e := writeFile(tr, home+"/work/out/n", "N"); e != 0 {
		t.Errorf("through a link to a granted folder: got %v, want success", e)
	}
	if err := g.Land(t.Context()); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(home + "/other/n"); string(text) != "N" {
		t.Errorf("the file behind the link: got %q, %v, want N", text, err)
	}
	if effects := g.Receipt().Effects; !slices.ContainsFunc(effects, func(e receipt.Effect) bool { return strings.HasSuffix(e.Target, "write ~/other/n") }) {
		t.Errorf("got effects %+v, want write ~/other/n", effects)
	}
	h := hostfuncs.NewHost(&hostfuncs.Options{Home: home})
	t.Cleanup(h.Close)
	p := h.Plugin(hostfuncs.Plugin{Name: "demo", Grants: mustSet(t, "fs: read {workspace}/**"), Workspace: filepath.Join(home, "work", "out")})
	at := p.NewGate(hostfuncs.Call{ID: "c"})
	defer at.Close()
	if text, e := readFile(at.Files(), "/workspace/c.txt"); text != "C" {
		t.Errorf("the workspace: got %q, %v, want C", text, e)
	}
}

// TestFS_limitsApplyToResolvedPath checks that ceilings, protected folders and paths that must be spelled out apply to
// the resolved path, wherever the workspace is, and that a line that spells out the resolved path allows it through the
// link.
func TestFS_limitsApplyToResolvedPath(t *testing.T) {
	home := linked(t)
	own := home + "/state/sallyport"
	for _, tt := range []struct {
		lines, ceiling  []string
		workspace, path string
		want            bool
	}{
		{[]string{"fs: write ~/work/file", "fs: write ~/other/**"}, []string{"fs: write ~/work/**"}, "", home + "/work/file", false},
		{[]string{"fs: write ~/work/file", "fs: write ~/other/**"}, []string{"fs: write ~/**"}, "", home + "/work/file", true},
		{[]string{"fs: write ~/work/id", "fs: write ~/.ssh/id"}, []string{"fs: write ~/**"}, "", home + "/work/id", false},
		{[]string{"fs: write ~/work/id", "fs: write ~/.ssh/id"}, []string{"fs: write ~/.ssh/id"}, "", home + "/work/id", true},
		{[]string{"fs: write ~/work/id", "fs: write ~/.ssh/id"}, nil, "", home + "/work/id", true},
		{[]string{"fs: write ~/work/id", "fs: write ~/.ssh/id", "deny: fs: write ~/.ssh/*"}, nil, "", home + "/work/id", false},
		{[]string{"fs: write {workspace}/**"}, nil, own, "/workspace/keys/k", false},
		{[]string{"fs: write {workspace}/**"}, nil, home + "/work/own", "/workspace/keys/k", false},
		{[]string{"fs: write {workspace}/**"}, nil, home + "/work/key", "/workspace/id", true}, // the operator named that folder
		{[]string{"fs: write {workspace}/**"}, nil, home, "/workspace/.ssh/id", false},
		{[]string{"fs: write {workspace}/**"}, nil, home, "/workspace/work/a.txt", true},
	} {
		h := hostfuncs.NewHost(&hostfuncs.Options{Home: home, State: home + "/state", Protected: []string{own}})
		set := mustSet(t, tt.lines...)
		if tt.ceiling != nil {
			set = set.Under(mustSet(t, tt.ceiling...))
		}
		p := h.Plugin(hostfuncs.Plugin{Name: "demo", Grants: set, Workspace: tt.workspace})
		g := p.NewGate(hostfuncs.Call{ID: "c", Principal: "stdio:0"})
		if e := writeFile(g.Files(), tt.path, "x"); (e == 0) != tt.want {
			t.Errorf("%q under %q: write %s: got %v, want success: %t", tt.lines, tt.ceiling, tt.path, e, tt.want)
		}
		if x, err := p.Explain(hostfuncs.Call{}, "write "+tt.path); err != nil || x.Allowed != tt.want {
			t.Errorf("%q under %q: got explanation %+v, %v, want allowed %t", tt.lines, tt.ceiling, x, err, tt.want)
		}
		g.Close()
		h.Close()
	}
}

// TestFS_deniesLinksThatRenameStartFiles checks that a guest creates no link that would give a folder's files the names
// of start-up files or of a repository: the folder can be filled under other names at any time.
func TestFS_deniesLinksThatRenameStartFiles(t *testing.T) {
	for _, mode := range []string{"", " {mode: direct}"} {
		home := world(t)
		h := hostfuncs.NewHost(&hostfuncs.Options{Home: home, State: filepath.Join(home, "state")})
		p := h.Plugin(hostfuncs.Plugin{Name: "demo", Grants: mustSet(t, "fs: write ~/work/**"+mode)})
		g := p.NewGate(hostfuncs.Call{ID: "c", Entry: grant.Entry{Kind: "tool", Name: "t"}})
		tr, work := g.Files(), filepath.Join(home, "work")
		for _, dir := range []string{"cfg", "prepared", "prepared/deep"} {
			if e := tr.Mkdir(filepath.Join(work, dir)); e != 0 {
				t.Fatalf("%s: got %v, want success", dir, e)
			}
		}
		for _, name := range []string{".cargo", ".CARGO", ".github", "node_modules", "cfg/.github", "venv", ".git/objects", ".git/refs"} {
			if e := tr.Symlink("cfg", filepath.Join(work, name)); e == 0 {
				t.Errorf("%s: a link %s: got success, want a refusal", mode, name)
			}
		}
		for from, to := range map[string]string{"one": ".cargo", "prepared/workflows": ".github/workflows"} {
			if e := tr.Symlink("cfg", filepath.Join(work, from)); e != 0 {
				t.Errorf("%s: a link %s: got %v, want success", mode, from, e)
			}
			from, to, _ := strings.Cut(from+" "+to, " ")
			if e := tr.Rename(filepath.Join(work, path.Dir(from)), filepath.Join(work, path.Dir(to))); strings.Contains(from, "/") && e == 0 {
				t.Errorf("%s: the folder of %s renamed to that of %s: got success, want a refusal", mode, from, to)
			}
			if e := tr.Rename(filepath.Join(work, from), filepath.Join(work, to)); e == 0 {
				t.Errorf("%s: a link %s renamed to %s: got success, want a refusal", mode, from, to)
			}
		}
		if e := tr.Symlink("cfg", filepath.Join(work, "plain")); e != 0 {
			t.Errorf("%s: an honest link: got %v, want success", mode, e)
		}
		g.Close()
		h.Close()
	}
}
