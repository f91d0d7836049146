package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	gogit "github.com/go-git/go-git/v5"

	"github.com/sallyport-mcp/sallyport/pdk/go/sallyporttest"
)

type args map[string]any

// call calls a tool on the fixture. Hashes are replaced by <name>.
func (f *fixture) call(h *sallyporttest.Host, tool string, a args) (string, bool) {
	f.t.Helper()
	if a["repo"] == nil {
		a["repo"] = f.dir
	}
	r := h.Call(tool, a)
	text := strings.ReplaceAll(r.Text(), f.dir, "$")
	for name, hash := range f.hashes {
		text = strings.ReplaceAll(text, hash.String(), "<"+name+">")
		text = strings.ReplaceAll(text, short(hash), "<"+name+">")
	}
	return text, r.IsError
}

func (f *fixture) expect(h *sallyporttest.Host, tool string, a args, want string) {
	f.t.Helper()
	want, isError := strings.CutPrefix(want, "!")
	if got, failed := f.call(h, tool, a); got != want || failed != isError {
		f.t.Errorf("%s %v: isError %v\ngot  %s\nwant %s", tool, a, failed, got, want)
	}
}

func TestLog_listsCommits(t *testing.T) {
	f := newFixture(t)
	h := sallyporttest.New(t, plugin)
	short := func(a args, want ...string) {
		t.Helper()
		a["short"] = true
		f.expect(h, "log", a, strings.Join(want, "\n")+"\n")
	}
	one, two, side := "<one> 2026-01-01 one", "<two> 2026-01-01 two (v1)", "<side> 2026-01-01 side (topic)"
	three, merge := "<three> 2026-01-01 three", "<merge> 2026-01-01 merge (main)"
	short(args{}, merge, three, side, two, one)
	short(args{"repo": f.dir + "/src"}, merge, three, side, two, one)
	short(args{"rev": "topic"}, side, two, one)
	short(args{"rev": "v1"}, two, one)
	short(args{"rev": "HEAD^2~1"}, two, one)
	short(args{"rev": "topic..main"}, merge, three)
	short(args{"rev": "v1..topic"}, side)
	short(args{"path": "src"}, two, one)
	short(args{"path": "/src/a.txt/"}, two, one)
	short(args{"grep": "ünïcode"}, three)
	short(args{"since": "2026-01-01T16:30:00Z", "until": "2026-01-01 17:30"}, three)
	short(args{"author": "ADA@", "skip": 1, "max": 2}, three, side, "(there are more: call again with skip 3)")
	f.expect(h, "log", args{"author": "Bob"}, "no commits")
	f.expect(h, "log", args{"rev": "main..topic"}, "!no commits: main has all of topic")
	f.expect(h, "log", args{"max": 2}, `commit <merge> (main)
Merge: <three> <side>
Author: Ada <ada@example.com>
Date:   Thu, 01 Jan 2026 19:00:00 +0100

    merge

commit <three>
Author: Ada <ada@example.com>
Date:   Thu, 01 Jan 2026 18:00:00 +0100

    three

    A longer message with Ünïcode.

(there are more: call again with skip 2)
`)
}

func TestShow_describesACommit(t *testing.T) {
	f := newFixture(t)
	h := sallyporttest.New(t, plugin)
	f.expect(h, "show", args{"rev": "v1"}, `tag v1
Tagger: Ada <ada@example.com>

the first version
commit <two> (v1)
Author: Ada <ada@example.com>
Date:   Thu, 01 Jan 2026 15:00:00 +0100

    two

diff --git a/bin b/bin
new file mode 100644
index 0000000000000000000000000000000000000000..20b5be91886d0b6f26dc98a225c0dac05fe2c86e
Binary files /dev/null and b/bin differ
diff --git a/src/a.txt b/src/a.txt
index 07193989308c972f8a2d0f1b3a15c29ea4ac565b..4c5701d775286e43e9f53ee570f38b6070b09616 100644
--- a/src/a.txt
+++ b/src/a.txt
@@ -2,7 +2,7 @@ 1
 2
 3
 4
-5
+five
 6
 7
 8
`)
	f.expect(h, "show", args{"rev": "main~1", "stat": true}, `commit <three>
Author: Ada <ada@example.com>
Date:   Thu, 01 Jan 2026 18:00:00 +0100

    three

    A longer message with Ünïcode.

 README.md | +0 -1
 old.txt => new.txt | +0 -0
 2 files changed, 0 lines added, 1 deleted
`)
	f.expect(h, "show", args{"rev": "main:src/a.txt", "start": 4, "lines": 2}, "4\nfive\n")
	f.expect(h, "show", args{"rev": "main:"}, "README.md\nbin\nnew.txt\nsrc/\ntopic.txt\n")
	f.expect(h, "show", args{"rev": "main:src"}, "a.txt\n")
	f.expect(h, "show", args{"rev": "main^{tree}"}, "README.md\nbin\nnew.txt\nsrc/\ntopic.txt\n")
	f.expect(h, "show", args{"rev": "main:none"}, "!commit <merge> has no none")
	f.expect(h, "show", args{"rev": "main:bin"}, "!the file is not a text: 3 bytes")
	f.expect(h, "show", args{"rev": strings.Repeat("0", 40)}, "!there is no object "+strings.Repeat("0", 40)+" in this repository")
	if got, _ := f.call(h, "show", args{"rev": "main~3", "stat": true}); !strings.Contains(got, "README.md (new) | +1 -0") {
		t.Errorf("the first commit: got %s, want \"README.md (new) | +1 -0\" in it", got)
	}
}

func TestDiff_comparesRevisions(t *testing.T) {
	f := newFixture(t)
	h := sallyporttest.New(t, plugin)
	stat := func(a args, want string) {
		t.Helper()
		a["stat"] = true
		f.expect(h, "diff", a, want)
	}
	stat(args{"from": "v1", "to": "topic"}, " topic.txt (new) | +1 -0\n 1 files changed, 1 lines added, 0 deleted\n")
	stat(args{"from": "topic..main"}, " README.md | +0 -1\n old.txt => new.txt | +0 -0\n 2 files changed, 0 lines added, 1 deleted\n")
	stat(args{"from": "topic...main~1"}, " README.md | +0 -1\n old.txt => new.txt | +0 -0\n 2 files changed, 0 lines added, 1 deleted\n")
	stat(args{"from": "main~1...topic"}, " topic.txt (new) | +1 -0\n 1 files changed, 1 lines added, 0 deleted\n")
	stat(args{"from": "v1..", "path": "topic.txt"}, " topic.txt (new) | +1 -0\n 1 files changed, 1 lines added, 0 deleted\n")
	f.expect(h, "diff", args{"from": "main", "to": "main"}, "no differences")
	f.expect(h, "diff", args{"from": "a..b", "to": "c"}, "!from is a range, so to must be absent")
	if got, _ := f.call(h, "diff", args{"from": "v1", "to": "topic", "context": 0}); !strings.HasSuffix(got, "+++ b/topic.txt\n@@ -0,0 +1 @@\n+on the side\n\\ No newline at end of file\n") {
		t.Errorf("diff without context: got %s, want topic.txt at its end", got)
	}
}

func TestDiff_comparesWorkingFiles(t *testing.T) {
	f := newFixture(t)
	h := sallyporttest.New(t, plugin)
	f.expect(h, "diff", args{}, "no differences")
	f.write("README.md", "again\n")
	f.write("untracked", "x")
	f.must(os.Remove(filepath.Join(f.dir, "bin")))
	f.write("added.txt", "new\n")
	_, err := f.work.Add("added.txt")
	f.must(err)
	f.expect(h, "diff", args{"stat": true}, " README.md | +1 -0\n added.txt (new) | +1 -0\n bin (deleted) | binary\n 3 files changed, 2 lines added, 0 deleted\n")
	f.expect(h, "diff", args{"stat": true, "path": "added.txt"}, " added.txt (new) | +1 -0\n 1 files changed, 1 lines added, 0 deleted\n")
	f.expect(h, "diff", args{"stat": true, "from": "v1", "path": "src"}, "no differences")
	if got, _ := f.call(h, "diff", args{"path": "README.md"}); !strings.HasSuffix(got, "--- a/README.md\n+++ b/README.md\n@@ -0,0 +1 @@\n+again\n") {
		t.Errorf("got %s, want %q at its end", got, "--- a/README.md\n+++ b/README.md\n@@ -0,0 +1 @@\n+again\n")
	}
	f.write("src/a.txt", strings.Repeat("x", maxCompared+1))
	f.expect(h, "diff", args{"path": "src"}, "src/a.txt | binary (too large to show)\n")
}

func TestDiff_followsAutocrlf(t *testing.T) {
	f := newFixture(t)
	h := sallyporttest.New(t, plugin)
	f.write("src/a.txt", "1\r\n2\r\n3\r\n4\r\nfive\r\n6\r\n7\r\n8\r\n9\r\n")
	if got, _ := f.call(h, "diff", args{"stat": true}); !strings.Contains(got, "src/a.txt | +9 -9") {
		t.Errorf("got %s, want \"src/a.txt | +9 -9\" in it", got)
	}
	c, err := f.repo.Config()
	f.must(err)
	c.Raw.Section("core").SetOption("autocrlf", "true")
	f.must(f.repo.SetConfig(c))
	f.expect(h, "diff", args{}, "no differences")
}

func TestRefs_listsBranchesAndTags(t *testing.T) {
	f := newFixture(t)
	h := sallyporttest.New(t, plugin)
	f.expect(h, "refs", args{}, "HEAD is main\nbranch main <merge>\nbranch topic <side>\ntag v1 <two>\n")
	f.expect(h, "refs", args{"contains": "top"}, "HEAD is main\nbranch topic <side>\n")
	f.must(f.work.Checkout(&gogit.CheckoutOptions{Hash: f.hashes["one"]}))
	f.expect(h, "refs", args{"contains": "-"}, "HEAD is detached at <one>\n")
}

func TestResolve_followsRevisionSyntax(t *testing.T) {
	f := newFixture(t)
	r, err := open(f.dir)
	f.must(err)
	for rev, want := range map[string]string{
		"": "merge", "@": "merge", "HEAD": "merge", "main": "merge", "heads/main": "merge", "refs/heads/topic": "side", "@^": "three", "@^2": "side",
		"@^1^": "two", "@~2": "two", "@~0": "merge", "v1^{commit}": "two", "v1^{}": "two", "v1~1": "one", "v1^0": "two",
		f.hashes["one"].String(): "one", f.hashes["one"].String()[:7]: "one", strings.ToUpper(f.hashes["two"].String()[:8]): "two",
	} {
		if got, err := r.resolve(rev); err != nil || got != f.hashes[want] {
			t.Errorf("%s: %v %v, want %s", rev, got, err, want)
		}
	}
	for rev, want := range map[string]string{
		"none": "there is no branch, tag or commit", "abc": "there is no branch", "@^3": "has 2 parents", "@~9": "not that long",
		"@^{x": "a { without }", "@^{blob}": "is not understood", "@^x": "is not understood", "@~99999999999999999999": "out of range",
		"main^{tree}^": "is not a commit", "../config": "there is no branch",
	} {
		if got, err := r.resolve(rev); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, %v; want %q in an error", rev, got, err, want)
		}
	}
}

func TestOpen_acceptsBareRepositories(t *testing.T) {
	f := newFixture(t)
	h := sallyporttest.New(t, plugin)
	outside := t.TempDir()
	f.expect(h, "log", args{"repo": outside}, "!"+outside+" is in no git repository, or the repository's .git is not granted")
	f.expect(h, "log", args{"repo": f.dir + "/none"}, "!$/none does not exist or is not granted; grants begin at /")
	f.write(".git/config", "[extensions]\n\tobjectformat = sha256\n")
	f.expect(h, "log", args{}, "!the repository names its objects by sha256; only sha1 is understood")
	f.write(".git/config", "[extensions]\n\trefstorage = reftable\n")
	f.expect(h, "log", args{}, "!the repository keeps its refs as reftable; only files are understood")
	if _, err := gogit.PlainInit(outside, false); err != nil {
		t.Fatal(err)
	}
	f.expect(h, "log", args{"repo": outside}, "!there is no commit yet, or the branch is not granted: it is in .git/refs and .git/packed-refs")
	bare := t.TempDir()
	if _, err := gogit.PlainClone(bare, true, &gogit.CloneOptions{URL: newFixture(t).dir}); err != nil {
		t.Fatal(err)
	}
	f.expect(h, "diff", args{"repo": bare}, "!a bare repository has no working files; give to")
	if got, _ := f.call(h, "log", args{"repo": bare, "short": true, "max": 1}); !strings.Contains(got, "merge (main") {
		t.Errorf("bare: got %s, want \"merge (main\" in it", got)
	}
}

// A linked work tree has its own HEAD and shares the rest.
func TestOpen_acceptsLinkedWorkTrees(t *testing.T) {
	f := newFixture(t)
	h := sallyporttest.New(t, plugin)
	f.write(".git/worktrees/w/HEAD", "ref: refs/heads/topic\n")
	f.write(".git/worktrees/w/commondir", "../..\n")
	linked := t.TempDir()
	f.must(os.WriteFile(filepath.Join(linked, ".git"), []byte("gitdir: "+f.dir+"/.git/worktrees/w\n"), 0o666))
	if got, _ := f.call(h, "log", args{"repo": linked, "short": true, "max": 1}); !strings.HasPrefix(got, "<side> 2026-01-01 side") {
		t.Errorf("got %s, want \"<side> 2026-01-01 side\" at its begin", got)
	}
	f.must(os.WriteFile(filepath.Join(linked, ".git"), []byte("nothing\n"), 0o666))
	f.expect(h, "log", args{"repo": linked}, "!"+linked+"/.git does not name a repository")
}

func TestOpen_readsPackedObjects(t *testing.T) {
	f := newFixture(t)
	f.must(f.repo.RepackObjects(&gogit.RepackConfig{}))
	got, failed := f.call(sallyporttest.New(t, plugin), "show", args{"rev": "v1~1:README.md"})
	if failed || got != "hello\n" {
		t.Errorf("got %v %q; want false, %q", failed, got, "hello\n")
	}
	r, err := open(f.dir)
	f.must(err)
	if got, err := r.resolve(f.hashes["two"].String()[:9]); err != nil || got != f.hashes["two"] {
		t.Errorf("got %v %v; want %v, no error", got, err, f.hashes["two"])
	}
}

// Every write by go-git fails.
func TestTree_isReadOnly(t *testing.T) {
	dir := t.TempDir()
	v := tree{dir}
	_, create := v.Create("x")
	_, open := v.OpenFile("x", os.O_RDWR|os.O_CREATE, 0o666)
	_, temp := v.TempFile("", "x")
	for i, err := range []error{create, open, temp, v.Rename("a", "b"), v.Remove("a"), v.MkdirAll("a", 0), v.Symlink("a", "b")} {
		if err == nil {
			t.Errorf("write %d: got no error, want one", i)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("got entries %v, %v; want none, no error", entries, err)
	}
}

func TestOutput_isBounded(t *testing.T) {
	o := output{}
	for range 3 {
		o.printf("%s", strings.Repeat("x", maxOutput/2-1))
	}
	if got := o.String(); len(got) > maxOutput+100 || !strings.HasSuffix(got, "(cut after 100 KiB; ask for less, with path, max or stat)") {
		t.Errorf("got %d bytes, want at most %d with the advice to ask for less", len(got), maxOutput+100)
	}
}
