package grant_test

import (
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
)

func TestFiles_Folder_allowsWayToPattern(t *testing.T) {
	for _, tt := range []struct {
		lines []string
		top   string // a ceiling; empty is none
		path  string
		want  bool
	}{
		{[]string{"fs: write ~/work/a/b/new.txt"}, "", "/home/me/work/a/b", true},
		{[]string{"fs: write ~/work/a/b/new.txt"}, "", "/home/me/work", true},
		{[]string{"fs: write ~/work/a/b/new.txt"}, "", "/home/me/work/a/c", false},
		{[]string{"fs: write ~/work/a/b/new.txt"}, "", "/home/me/work/a/b/new.txt/x", false},
		{[]string{"fs: write ~/work/a/b/new.txt"}, "", "/home", false},
		{[]string{"fs: read ~/work/a/b/new.txt"}, "", "/home/me/work/a", false},
		{[]string{"fs: write ~/work/a/**"}, "", "/home/me/work", true},
		{[]string{"fs: write ~/work/a/**"}, "", "/home/me/other", false},
		{[]string{"fs: write ~/work/*/x/**"}, "", "/home/me/work", true},
		{[]string{"fs: write ~/work/*/x"}, "", "/home/me/work/a", false}, // it names many places
		{[]string{"fs: write ~/work/a/x {ask: true}"}, "", "/home/me/work/a", false},
		{[]string{"fs: write ~/work/a/x", "deny: fs: write ~/work/a"}, "", "/home/me/work/a", false},
		{[]string{"fs: write ~/work/a/x"}, "fs: write ~/work/**", "/home/me/work/a", true},
		{[]string{"fs: write ~/work/a/x"}, "fs: write ~/work/a/x", "/home/me/work/a", true},
		{[]string{"fs: write ~/work/a/x"}, "fs: write ~/other/**", "/home/me/work/a", false},
		{[]string{"fs: write ~/work/a/x"}, "fs: read ~/work/**", "/home/me/work/a", false},
		{[]string{"fs: write ~/work/**"}, "", "/home/me/work/a", true},
	} {
		var all []grant.Grant
		for _, line := range tt.lines {
			all = append(all, parsed(t, line))
		}
		set := grant.NewSet(all...)
		if tt.top != "" {
			set = set.Under(grant.NewSet(parsed(t, tt.top)))
		}
		if got := set.Files(home()).Folder(tt.path); got.Allowed != tt.want {
			t.Errorf("%v under %q: %s: %+v", tt.lines, tt.top, tt.path, got)
		}
	}
}

// A value of the call can be the name of a folder wherever a value is allowed.
func TestFiles_Folder_bound(t *testing.T) {
	for _, tt := range []struct {
		line, value, path string
		want              bool
	}{
		{"fs: write ~/work/{args.path:path}", "new/deep/a.txt", "/home/me/work/new/deep", true},
		{"fs: write ~/work/{args.path:path}", "new/deep/a.txt", "/home/me/work/new", true},
		{"fs: write ~/work/{args.path:path}", "new/deep/a.txt", "/home/me/work/old", false},
		{"fs: write ~/new/{args.path:path}/**", "d1/d2", "/home/me/new/d1", true},
		{"fs: write ~/new/{args.path:path}/**", "d1/d2", "/home/me/new", true},
		{"fs: write ~/work/{args.path:path}", ".git/hooks/x/y", "/home/me/work/.git/hooks/x", false},
		{"fs: read ~/work/{args.path:path}", "new/a.txt", "/home/me/work/new", false},
	} {
		set := grant.NewSet(parsed(t, tt.line)).Bind(grant.Call{Home: "/home/me", Values: func([]string) []string { return []string{tt.value} }})
		if got := set.Files(home()).Folder(tt.path); got.Allowed != tt.want {
			t.Errorf("%s with %q: %s: %+v", tt.line, tt.value, tt.path, got)
		}
	}
}

func parsed(t *testing.T, line string) grant.Grant {
	t.Helper()
	g, err := grant.ParseLine(line)
	if err != nil {
		t.Fatal(line, err)
	}
	return g
}
