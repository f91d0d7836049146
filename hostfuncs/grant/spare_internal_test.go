package grant

import (
	"strings"
	"testing"
)

// Each entry of the list has a reason, and is denied under a wildcard, in any case, with the paths below it, unless
// the line contains it literally. Keys are denied for reading too.
func TestSpares_needLiteralNames(t *testing.T) {
	p := Places{Home: "/home/me"}
	set := func(text string) *Set {
		g, err := ParseLine(text)
		if err != nil {
			t.Fatal(err)
		}
		return NewSet(g)
	}
	seen := map[string]bool{}
	count := 0
	for _, group := range spares().groups {
		if len(group.reason) < 30 || len(group.entries) == 0 {
			t.Errorf("%s %s has no reason or no entries: %q", group.kind, group.where, group.reason)
		}
		for _, e := range group.entries {
			count++
			id := group.kind + " " + group.where + " " + e
			if seen[id] || e != foldName(e) || strings.Trim(e, "/ ") != e {
				t.Errorf("%s stands there twice, or is no path in lower case", id)
			}
			seen[id] = true
			if group.kind == "run" || group.kind == "key" {
				testSpare(t, p, group, strings.ReplaceAll(e, "*", "x"), set)
			}
		}
	}
	if count < 600 || len(readSpares(spareText)) != len(spares().groups) {
		t.Errorf("%d entries", count)
	}
}

func testSpare(t *testing.T, p Places, group spareGroup, name string, set func(string) *Set) {
	t.Helper()
	ops := []Op{Write}
	if group.kind == "key" {
		ops = append(ops, Read)
	}
	for _, op := range ops {
		for _, spelled := range []string{name, name + "/deep/x", strings.ToUpper(name), strings.ToUpper(name[:1]) + name[1:]} {
			places := map[string]string{"/home/me/": "fs: " + op.String() + " ~/**"}
			if group.where == "any" {
				places["/srv/p/q/"] = "fs: " + op.String() + " /srv/**"
			}
			for at, wide := range places {
				if d := set(wide).Files(p).Decide(op, at+spelled); d.Allowed || !d.SpellOut {
					t.Errorf("%s: %s %s is %+v", wide, op, at+spelled, d)
				}
				literal := "fs: " + op.String() + " " + escapePath(at+spelled)
				if d := set(literal).Files(p).Decide(op, at+spelled); !d.Allowed {
					t.Errorf("%s: %s %s is refused", literal, op, at+spelled)
				}
			}
		}
	}
}

// The data of a repository may be written. All other paths must be literal, and so must those that would make a folder
// a repository.
func TestSpares_coverRepositories(t *testing.T) {
	bare := Places{Home: "/home/me", Repository: func(folder string) bool { return folder == "/w/bare.git" }}
	g, err := ParseLine("fs: write /w/**")
	if err != nil {
		t.Fatal(err)
	}
	s := NewSet(g)
	for name, want := range map[string]bool{
		"/w/p/.git/HEAD": true, "/w/p/.git/HEAD.lock": true, "/w/p/.git/objects/ab/cd": true, "/w/p/.git/objects/pack/pack-1.idx": true, "/w/p/.git/objects/info/commit-graph": true,
		"/w/p/.git/refs/heads/main": true, "/w/p/.git/refs/remotes/origin/HEAD": true, "/w/p/.git/refs/heads/config": true, "/w/p/.git/refs/heads/hooks/x": true,
		"/w/p/.git/logs/HEAD": true, "/w/p/.git/logs/refs/heads/main": true, "/w/p/.git/packed-refs": true, "/w/p/.git/COMMIT_EDITMSG": true, "/w/p/.git/ORIG_HEAD": true,

		"/w/p/.git": false, "/w/p/.GIT": false, "/w/p/.g\u200cit": false, "/w/p/.g\u0131t": true, "/w/p/.git/config": false, "/w/p/.git/config.lock": false, "/w/p/.git/config.worktree": false,
		"/w/p/.git/hooks": false, "/w/p/.git/hooks/pre-commit": false, "/w/p/.git/HOOKS/pre-commit": false, "/w/p/.git/commondir": false, "/w/p/.git/gitdir": false,
		"/w/p/.git/modules/a/config": false, "/w/p/.git/modules/a/objects/ab/cd": false, "/w/p/.git/worktrees/a/HEAD": false, "/w/p/.git/index": false, "/w/p/.git/index.lock": false,
		"/w/p/.git/info/attributes": false, "/w/p/.git/info/exclude": false, "/w/p/.git/objects/info/alternates": false, "/w/p/.git/objects/INFO/Alternates": false,
		"/w/p/.git/objects/info/http-alternates": false, "/w/p/.git/rebase-merge/git-rebase-todo": false, "/w/p/.git/sequencer/todo": false, "/w/p/.git/remotes/origin": false,
		"/w/p/.git/objects/x/HEAD": false, "/w/p/.git/refs/x/objects/ab": false, "/w/p/.git/refs/x/commondir": false, "/w/p/.git/logs/objects": false, "/w/p/.git/lfs/x": false,
		"/w/p/.git/whatever comes": false, "/w/p/.git/refs/x/.git": false, "/w/p/.git/objects/.git/x": false,

		"/w/x/HEAD": false, "/w/x/head": false, "/w/HEAD": false, "/w/x/HEAD/y": true, "/w/x/objects/a": true, "/w/x/refs/a": true, "/w/x/config": true, "/w/x/commondir": true,

		"/w/bare.git/config": false, "/w/bare.git/hooks/update": false, "/w/bare.git/HEAD": false, "/w/bare.git/commondir": false, "/w/bare.git/worktrees/x/gitdir": false, "/w/bare.git/description": false,
		"/w/bare.git/objects/ab/cd": true, "/w/bare.git/refs/heads/x": true, "/w/bare.git/packed-refs": true, "/w/bare.git/objects/info/alternates": false, "/w/bare.git/refs/x/.git/config": false,
	} {
		if d := s.Files(bare).Decide(Write, name); d.Allowed != want {
			t.Errorf("%s: %v, spelled out %v", name, d.Allowed, d.SpellOut)
		}
		if strings.Contains(name, "\u200c") {
			continue // no line can contain it
		}
		if d := NewSet(mustParse(t, "fs: write "+escapePath(name))).Files(bare).Decide(Write, name); !d.Allowed {
			t.Errorf("%s is refused where it is spelled out", name)
		}
		if d := s.Files(bare).Decide(Read, name); !d.Allowed {
			t.Errorf("%s cannot be read", name)
		}
	}
}

func mustParse(t *testing.T, text string) Grant {
	t.Helper()
	g, err := ParseLine(text)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// A name has one folded spelling, for every spelling that a case-insensitive file system accepts.
func TestFoldName_oneSpelling(t *testing.T) {
	for name, want := range map[string]string{
		".SSH": ".ssh", ".\u017f\u017fh": ".ssh", ".\u212aube": ".kube", ".g\u200cit": ".git", "\ufeff.git": ".git", "a b": "a b", "\u03c2\u03a3\u03c3": "\u03c3\u03c3\u03c3", "": "",
	} {
		if got := foldName(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
