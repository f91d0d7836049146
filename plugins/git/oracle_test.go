//go:build oracle

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/pdk/go/sallyporttest"
)

// repo is a repository made by the git program, with random commits, branches and merges.
type repo struct {
	t      *testing.T
	dir    string
	random *rand.Rand
	clock  int64
}

// git runs the program. With mayFail a failure is ignored.
func (r *repo) git(mayFail bool, args ...string) string {
	r.t.Helper()
	return r.run(mayFail, "git", append([]string{"-C", r.dir, "-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "protocol.file.allow=always",
		"-c", "commit.gpgsign=false", "-c", "core.fileMode=false", "-c", "diff.renames=true"}, args...)...)
}

func (r *repo) run(mayFail bool, name string, args ...string) string {
	r.t.Helper()
	c := exec.Command(name, args...)
	date := fmt.Sprintf("@%d +0000", r.clock)
	c.Env = append(os.Environ(), "GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date, "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_MERGE_AUTOEDIT=no")
	out, err := c.CombinedOutput()
	if err != nil && !mayFail {
		r.t.Fatalf("%s %v: got %v, want no error\n%s", name, args, err, out)
	}
	return string(out)
}

func (r *repo) path(name string) string { return filepath.Join(r.dir, name) }

func (r *repo) write(name, text string) {
	r.t.Helper()
	_ = os.RemoveAll(r.path(name))
	for dir := filepath.Dir(r.path(name)); dir != r.dir; dir = filepath.Dir(dir) { // a file in place of a folder
		if info, err := os.Lstat(dir); err == nil && !info.IsDir() {
			_ = os.Remove(dir)
		}
	}
	if err := os.MkdirAll(filepath.Dir(r.path(name)), 0o777); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(r.path(name), []byte(text), 0o666); err != nil {
		r.t.Fatal(err)
	}
}

func (r *repo) name() string {
	return []string{"a.txt", "b.txt", "src/a.txt", "src/deep/b.txt", "src/deep/c.md", "lib/x", "ünïcode.txt"}[r.random.IntN(7)]
}

func (r *repo) text() string {
	end := "\n"
	if r.random.IntN(4) == 0 {
		end = "\r\n"
	}
	var b strings.Builder
	for i := range r.random.IntN(30) {
		fmt.Fprintf(&b, "line %d %d%s", i, r.random.IntN(3), end)
	}
	if r.random.IntN(8) == 0 {
		b.WriteString("no end")
	}
	if r.random.IntN(15) == 0 {
		b.WriteString("\x00binary")
	}
	return b.String()
}

// touch changes files of the work tree.
func (r *repo) touch() {
	switch r.random.IntN(9) {
	case 0:
		_ = os.RemoveAll(r.path(r.name()))
	case 1: // a file in place of a folder
		_ = os.RemoveAll(r.path("src/deep"))
		r.write("src/deep", "now a file\n")
	case 2: // a folder in place of a file
		r.write("a.txt/inside", "now a folder\n")
	case 3:
		name := r.name()
		r.write(name, "")
		_ = os.Remove(r.path(name))
		_ = os.Symlink("b.txt", r.path(name))
	case 4:
		r.write(".gitattributes", []string{"* text=auto\n", "*.txt text\n", "*.txt -text\n", "*.md eol=crlf\n", "*.txt binary\n", "src/** text eol=lf\n"}[r.random.IntN(6)])
	case 5:
		from, to := r.name(), r.name()+".moved"
		_ = os.Rename(r.path(from), r.path(to))
	default:
		r.write(r.name(), r.text())
	}
}

// grow makes random history.
func (r *repo) grow() {
	r.git(false, "init", "-q", "-b", "main")
	for i := range 12 + r.random.IntN(20) {
		r.clock += r.random.Int64N(3) * 50 // often the same second
		for range 1 + r.random.IntN(3) {
			r.touch()
		}
		r.git(true, "add", "-A")
		r.git(true, "commit", "-q", "--allow-empty", "-m", fmt.Sprintf("commit %d", i))
		switch branch := fmt.Sprintf("b%d", r.random.IntN(3)); r.random.IntN(5) {
		case 0:
			r.git(true, "branch", branch)
		case 1:
			r.git(true, "checkout", "-q", "-f", branch)
		case 2:
			r.git(true, "checkout", "-q", "-f", "main")
			r.merge(branch)
		}
	}
	r.git(true, "checkout", "-q", "-f", "main")
}

// merge merges a branch, and resolves conflicts.
func (r *repo) merge(branch string) {
	r.git(true, "merge", "-q", "--no-ff", "-X", []string{"ours", "theirs"}[r.random.IntN(2)], "-m", "merge "+branch, branch)
	if out := r.git(true, "status", "--porcelain"); out != "" {
		r.git(true, "add", "-A")
		r.git(true, "commit", "-q", "-m", "merge "+branch+" by hand")
	}
}

// odd gives the repository an unusual form, and leaves a modified work tree.
func (r *repo) odd(how int) {
	switch how {
	case 0: // a shallow clone
		clone := r.t.TempDir()
		r.run(false, "git", "clone", "-q", "--depth", "3", "file://"+r.dir, clone)
		r.dir = clone
	case 1: // a conflict
		r.git(true, "checkout", "-q", "-f", "-b", "left")
		r.write("b.txt", "left\n")
		r.git(false, "add", "-A")
		r.git(true, "commit", "-q", "-m", "left")
		r.git(true, "checkout", "-q", "-f", "-b", "right", "HEAD~1")
		r.write("b.txt", "right\n")
		r.git(false, "add", "-A")
		r.git(true, "commit", "-q", "-m", "right")
		r.git(true, "merge", "-q", "left")
		return
	case 2:
		r.git(true, "config", "core.autocrlf", "true")
	case 3: // packed
		r.git(true, "gc", "-q")
	case 4: // a sparse checkout with a full index
		r.git(true, "sparse-checkout", "set", "--no-cone", "/src/", "/*.txt")
	case 5: // a linked work tree
		tree := filepath.Join(r.t.TempDir(), "linked")
		r.git(true, "worktree", "add", "-q", tree, "HEAD~1")
		if _, err := os.Stat(tree); err == nil {
			r.dir = tree
		}
	case 6:
		r.git(true, "update-index", "--index-version", "4")
	case 7: // intent to add, and modes
		r.write("intent.txt", "new\n")
		r.git(true, "add", "-N", "intent.txt")
		r.git(true, "update-index", "--chmod=+x", "b.txt")
	}
	for range r.random.IntN(5) {
		r.touch()
	}
}

// untold removes parts that the tool omits on purpose from a patch: the text after a hunk's header, and the
// similarity of renamed files.
func untold(patch string) string {
	return regexp.MustCompile(`(?m)^(@@ .* @@).*$|^similarity index .*\n`).ReplaceAllString(patch, "$1")
}

// Logs, ranges and differences equal those of the git program, in unusual repositories.
func TestOracle_agreesWithGit(t *testing.T) {
	logs, diffs := 0, 0
	for seed := range 64 {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := &repo{t: t, dir: t.TempDir(), random: rand.New(rand.NewPCG(uint64(seed), 7)), clock: 1_700_000_000}
			r.grow()
			r.odd(seed % 8)
			h := sallyporttest.New(t, plugin)
			for _, path := range []string{"", "a.txt", "src", "src/deep/b.txt", "lib"} {
				for _, rev := range []string{"HEAD", "HEAD~2", "HEAD~3..HEAD", "b0..HEAD", "HEAD..b1", "b1...HEAD"} {
					logs += r.compareLog(h, rev, path)
				}
				diffs += r.compareDiff(h, path, "HEAD") + r.compareDiff(h, path, "HEAD~1", "HEAD") + r.compareDiff(h, path, "b0", "HEAD")
			}
		})
	}
	t.Logf("64 repositories: %d logs and %d differences compared", logs, diffs)
	if logs < 1000 || diffs < 500 {
		t.Errorf("got %d logs, %d differences compared; want at least 1000, 500", logs, diffs)
	}
}

func (r *repo) compareLog(h *sallyporttest.Host, rev, path string) (compared int) {
	r.t.Helper()
	args := []string{"log", "--format=%h", "--abbrev=10", rev, "--"}
	if path != "" {
		args = append(args, path)
	}
	out := r.git(true, args...)
	if strings.HasPrefix(out, "fatal:") { // no such revision
		return 0
	}
	want := strings.Fields(out)
	result := h.Call("log", map[string]any{"repo": r.dir, "rev": rev, "path": path, "short": true, "max": 500})
	var got []string
	if !strings.HasPrefix(result.Text(), "no commits") {
		for line := range strings.Lines(result.Text()) {
			got = append(got, strings.Fields(line)[0])
		}
	}
	if path != "" && strings.Contains(rev, "..") {
		// Whether git shows a merge depends on the commits known to be outside of the range at that point, and so on
		// dates.
		got, want = r.withoutMerges(got), r.withoutMerges(want)
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		r.t.Errorf("log %s %s:\ngot  %v\nwant %v\n%s", rev, path, got, want, result.Text())
	}
	return 1
}

func (r *repo) withoutMerges(commits []string) []string {
	return slices.DeleteFunc(commits, func(c string) bool {
		return len(strings.Fields(r.git(false, "show", "-s", "--format=%p", c))) > 1
	})
}

func (r *repo) compareDiff(h *sallyporttest.Host, path string, ends ...string) (compared int) {
	r.t.Helper()
	args := append([]string{"-c", "core.quotePath=false", "diff", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv"}, ends...)
	args = append(args, "--")
	if path != "" {
		args = append(args, path)
	}
	out := r.git(true, args...)
	if strings.HasPrefix(out, "fatal:") {
		return 0
	}
	want := names(out)
	a := map[string]any{"repo": r.dir, "from": ends[0], "path": path}
	if len(ends) == 2 {
		a["to"] = ends[1]
	}
	result := h.Call("diff", a)
	got := names(result.Text())
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		r.t.Errorf("diff %v %s:\ngot  %s\nwant %s\n%s\n%s", ends, path, strings.Join(got, "\n     "), strings.Join(want, "\n     "), result.Text(), out)
	}
	return 1
}

// names returns the headers of a patch: changed files, kinds of change, and hashes of both sides, except the hash of
// a work tree file, which git omits.
func names(patch string) []string {
	var heads []string
	for line := range strings.Lines(untold(patch)) {
		line = strings.TrimSpace(line)
		for _, head := range []string{"diff --git", "new file", "deleted file", "old mode", "new mode", "rename"} {
			if strings.HasPrefix(line, head) {
				heads = append(heads, line)
			}
		}
	}
	return heads
}

// An unsupported index is reported, with the command that converts it.
func TestOracle_reportsUnsupportedIndexes(t *testing.T) {
	for name, commands := range map[string][][]string{
		"split":  {{"update-index", "--split-index"}},
		"sparse": {{"sparse-checkout", "set", "--cone", "--sparse-index", "src"}},
	} {
		r := &repo{t: t, dir: t.TempDir(), random: rand.New(rand.NewPCG(1, 7)), clock: 1_700_000_000}
		r.git(false, "init", "-q", "-b", "main")
		r.write("lib/a.txt", "a\n")
		r.write("src/b.txt", "b\n")
		r.git(false, "add", "-A")
		r.git(false, "commit", "-q", "-m", "one")
		for _, c := range commands {
			r.git(false, c...)
		}
		h := sallyporttest.New(t, plugin)
		result := h.Call("diff", map[string]any{"repo": r.dir})
		if !result.IsError || !strings.Contains(result.Text(), "git update-index --no-split-index") {
			t.Errorf("%s: got %s, want an error with the command to run", name, result.Text())
		}
	}
}
