package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// fixture is a repository on disk:
//
//	one ── two ── three ── merge   main, tag v1 (annotated) at two
//	          └── side ────┘       topic
type fixture struct {
	t      *testing.T
	dir    string
	repo   *gogit.Repository
	work   *gogit.Worktree
	clock  time.Time
	hashes map[string]plumbing.Hash
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, dir: t.TempDir(), clock: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), hashes: map[string]plumbing.Hash{}}
	var err error
	f.repo, err = gogit.PlainInitWithOptions(f.dir, &gogit.PlainInitOptions{InitOptions: gogit.InitOptions{DefaultBranch: "refs/heads/main"}})
	f.must(err)
	f.work, err = f.repo.Worktree()
	f.must(err)
	lines := strings.Repeat("a line that stays\n", 20)
	f.commit("one", map[string]string{"README.md": "hello\n", "src/a.txt": "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "old.txt": lines})
	f.commit("two", map[string]string{"src/a.txt": "1\n2\n3\n4\nfive\n6\n7\n8\n9\n", "bin": "a\x00b"})
	_, err = f.repo.CreateTag("v1", f.hashes["two"], &gogit.CreateTagOptions{Tagger: f.signature(), Message: "the first version"})
	f.must(err)
	f.checkout("topic", true)
	f.commit("side", map[string]string{"topic.txt": "on the side"})
	f.checkout("main", false)
	f.must(os.Rename(filepath.Join(f.dir, "old.txt"), filepath.Join(f.dir, "new.txt")))
	f.commit("three\n\nA longer message with Ünïcode.\n", map[string]string{"README.md": ""}, "old.txt", "new.txt")
	f.write("topic.txt", "on the side")
	f.commit("merge", nil, "topic.txt", ":"+f.hashes["side"].String())
	return f
}

func (f *fixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) signature() *object.Signature {
	f.clock = f.clock.Add(time.Hour)
	return &object.Signature{Name: "Ada", Email: "ada@example.com", When: f.clock.In(time.FixedZone("", 3600))}
}

func (f *fixture) write(name, text string) {
	path := filepath.Join(f.dir, name)
	f.must(os.MkdirAll(filepath.Dir(path), 0o777))
	f.must(os.WriteFile(path, []byte(text), 0o666))
}

// commit writes files and commits them. more are names to add, or a parent after a colon.
func (f *fixture) commit(message string, files map[string]string, more ...string) {
	f.t.Helper()
	o := &gogit.CommitOptions{Author: f.signature()}
	for name, text := range files {
		f.write(name, text)
		more = append(more, name)
	}
	for _, name := range more {
		if parent, ok := strings.CutPrefix(name, ":"); ok {
			head, err := f.repo.Head()
			f.must(err)
			o.Parents = []plumbing.Hash{head.Hash(), plumbing.NewHash(parent)}
			continue
		}
		_, err := f.work.Add(name)
		f.must(err)
	}
	h, err := f.work.Commit(message, o)
	f.must(err)
	f.hashes[strings.Fields(message)[0]] = h
}

func (f *fixture) checkout(branch string, create bool) {
	f.t.Helper()
	f.must(f.work.Checkout(&gogit.CheckoutOptions{Branch: plumbing.NewBranchReferenceName(branch), Create: create}))
}
