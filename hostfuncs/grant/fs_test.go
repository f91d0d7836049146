package grant_test

import (
	"slices"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
)

func home() grant.Places { return grant.Places{Home: "/home/me"} }

func TestFiles_Decide_matchesPatterns(t *testing.T) {
	const r, w = grant.Read, grant.Write
	tests := []struct {
		line string
		op   grant.Op
		path string
		want bool
	}{
		{"fs: read ~/work/**", r, "/home/me/work", true},
		{"fs: read ~/work/**", r, "/home/me/work/a/b", true},
		{"fs: read ~/work/**", r, "/home/me/work/../x", false},
		{"fs: read ~/work/**", r, "/home/me/workx", false},
		{"fs: read ~/work/**", r, "/home/you/work/a", false},
		{"fs: read ~/work/**", w, "/home/me/work/a", false},
		{"fs: write ~/work/**", r, "/home/me/work/a", true},
		{"fs: write ~/work/**", w, "/home/me/work/a", true},
		{"fs: read ~/work", r, "/home/me/work/a", false},
		{"fs: read ~/work/*", r, "/home/me/work/a", true},
		{"fs: read ~/work/*", r, "/home/me/work", false},
		{"fs: read ~/work/*", r, "/home/me/work/a/b", false},
		{"fs: read ~/work/**/*.md", r, "/home/me/work/a/b/c.md", true},
		{"fs: read ~/work/**/*.md", r, "/home/me/work/c.md", true},
		{"fs: read ~/work/**/*.md", r, "/home/me/work/c.txt", false},
		{"fs: read ~/a{*}b", r, "/home/me/a*b", true},
		{"fs: read ~/a{*}b", r, "/home/me/axb", false},
		{"fs: read ~/A", r, "/home/me/a", false},
		{"fs: read /**", r, "/etc/passwd", true},
		{"fs: read /**", r, "/home/me/.ssh/id", false},
		{"fs: read ~/**", r, "/home/me/.SSH/id", false},
		{"fs: read ~/**", r, "/home/me/.config/gcloud/x", false},
		{"fs: read ~/**", r, "/home/me/.config/other", true},
		{"fs: read ~/.ssh/config", r, "/home/me/.ssh/config", true},
		{"fs: read ~/.ssh/**", r, "/home/me/.ssh/id", true},
		{"fs: read ~/*/id", r, "/home/me/.ssh/id", false},
		{"fs: read /home/me/.aws/**", r, "/home/me/.aws/credentials", true},
		{"fs: write ~/w/**", w, "/home/me/w/.git/hooks/pre-commit", false},
		{"fs: write ~/w/**", w, "/home/me/w/.git/config", false},
		{"fs: write ~/w/**", w, "/home/me/w/.git/config.worktree", false},
		{"fs: write ~/w/**", w, "/home/me/w/.GIT/Hooks/x", false},
		{"fs: write ~/w/**", w, "/home/me/w/.git/modules/a/hooks/x", false},
		{"fs: write ~/w/**", w, "/home/me/w/.git", false},
		{"fs: write ~/w/**", w, "/home/me/w/.git/refs/heads/config", true},
		{"fs: write ~/w/**", w, "/home/me/w/.git/objects/aa", true},
		{"fs: write ~/w/**", r, "/home/me/w/.git/config", true},
		{"fs: write ~/w/.git/**", w, "/home/me/w/.git/config", false},
		{"fs: write ~/w/.git/config", w, "/home/me/w/.git/config", true},
		{"fs: write ~/**/.git/hooks/**", w, "/home/me/w/.git/hooks/x", true},
		{"fs: write ~/w/**", w, "/home/me/w/.vscode/settings.json", false},
		{"fs: write ~/w/**", w, "/home/me/w/.idea", false},
		{"fs: write ~/w/**", w, "/home/me/w/sub/.mcp.json", false},
		{"fs: write ~/**", w, "/home/me/.bashrc", false},
		{"fs: write ~/.bash*", w, "/home/me/.bashrc", false},
		{"fs: write ~/.bashrc", w, "/home/me/.bashrc", true},
		{"fs: write ~/w/**", w, "/home/me/w/.config/fish/x", false},
		{"fs: write ~/w/**", w, "/home/me/w/.git/modules/a/b", false},
		{"fs: write ~/**", w, "/home/me/.config", false},
		{"fs: write ~/**", w, "/home/me/.config/x", true},
		{"fs: write ~/**", w, "/home/me/.local/share", false},
		{"fs: write ~/**", w, "/home/me/.local/share/x", true},
		{"fs: write ~/**", r, "/home/me/.local/share", true},
		{"fs: write /**", w, "/home/me", false},
		{"fs: write /**", w, "/home", false},
		{"fs: write /**", w, "/tmp/x", true},
		{"fs: read C:/Users/**", r, `C:\Users\me`, true},
	}
	for _, tt := range tests {
		if d := mustSet(t, tt.line).Files(home()).Decide(tt.op, tt.path); d.Allowed != tt.want {
			t.Errorf("%s: %s %s is %v", tt.line, tt.op, tt.path, d.Allowed)
		}
	}
}

func TestFiles_Decide_denyComesFirst(t *testing.T) {
	s := mustSet(t, "fs: write ~/w/**", "deny: fs: write ~/w/keep/**", "deny: fs: read ~/w/Hidden/**")
	tests := []struct {
		op   grant.Op
		path string
		want bool
	}{
		{grant.Write, "/home/me/w/a", true},
		{grant.Write, "/home/me/w/keep/a", false},
		{grant.Read, "/home/me/w/keep/a", true},
		{grant.Read, "/home/me/w/Hidden/a", false},
		{grant.Write, "/home/me/w/Hidden/a", false},
		{grant.Read, "/home/me/w/hidden", false},
		{grant.Read, "/home/ME/w/hidden", false},
	}
	for _, tt := range tests {
		if d := s.Files(home()).Decide(tt.op, tt.path); d.Allowed != tt.want {
			t.Errorf("%s %s is %v", tt.op, tt.path, d.Allowed)
		}
	}
	if d := s.Files(home()).Decide(grant.Read, "/home/me/w/Hidden"); d.Suggest != "" || d.Grant == nil || !d.Grant.Deny {
		t.Errorf("a denied path: %+v", d)
	}
}

func TestFiles_Decide_denyCoversUnmatchedNames(t *testing.T) {
	s := mustSet(t, "fs: write ~/w/.vscode/**", "deny: fs: write ~/**")
	if s.Files(home()).Decide(grant.Write, "/home/me/w/.vscode/x").Allowed {
		t.Error("a denial with a wildcard does not cover .vscode")
	}
}

func TestFiles_Decide_foldsCase(t *testing.T) {
	s := mustSet(t, "fs: read ~/Work/**")
	p := grant.Places{Home: "/Users/Me", Fold: true}
	if !s.Files(p).Decide(grant.Read, "/users/me/work/x").Allowed {
		t.Error("case matters although the file system does not tell it apart")
	}
}

func TestFiles_Decide_withoutHome(t *testing.T) {
	s := mustSet(t, "fs: read ~/**")
	if s.Files(grant.Places{}).Decide(grant.Read, "/etc").Allowed || len(s.Files(grant.Places{}).Prefixes()) != 0 {
		t.Error("~ means something without a home")
	}
	if s.Files(grant.Places{}).Visible("/", true) {
		t.Error("there is a way to a home that is not there")
	}
	if !s.Files(grant.Places{Home: "/"}).Decide(grant.Read, "/etc").Allowed {
		t.Error("a home at the root is no home")
	}
}

func TestFiles_Decide_suggestsNarrowestLine(t *testing.T) {
	tests := []struct {
		op         grant.Op
		path, want string
	}{
		{grant.Read, "/home/me/a", "fs: read ~/a"},
		{grant.Write, "/home/me", "fs: write ~"},
		{grant.Read, "/etc/a*b{c}", "fs: read /etc/a{*}b{{}c{}}"},
		{grant.Write, "/home/me/.vscode/x", "fs: write ~/.vscode/x"},
		{grant.Read, "/home/me/a {b}", "fs: read ~/a {{}b{}}"},
		{grant.Read, "/home/me/a\nb", ""},
		{grant.Read, "/home/me/a  ", "fs: read ~/a { }"},
		{grant.Read, "/", "fs: read /"},
		{grant.Read, `C:\x\y`, "fs: read C:/x/y"},
	}
	for _, tt := range tests {
		if d := grant.NewSet().Files(home()).Decide(tt.op, tt.path); d.Suggest != tt.want {
			t.Errorf("%s %q: got %q, want %q", tt.op, tt.path, d.Suggest, tt.want)
		}
	}
}

func TestFiles_Prefixes_literalParts(t *testing.T) {
	s := mustSet(t, "fs: read ~/work/**", "fs: write /a/*/b", "deny: fs: read /x/**", "fs: read /**", "fs: read C:/x/*", "fs: read c:/**", "fs: read /f")
	want := []string{"/home/me/work", "/a", "/", "C:/x", "c:/", "/f"}
	if got := s.Files(home()).Prefixes(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestFiles_Above_findsFoldersThatLead(t *testing.T) {
	s := mustSet(t, "fs: read ~/work/*/x/**/y", "deny: fs: read /z/**")
	for path, want := range map[string]bool{
		"/": true, "/home": true, "/home/me": true, "/home/you": false, "/home/me/work": true, "/home/me/work/a": true,
		"/home/me/work/a/x/b/c": true, "/home/me/work/a/b": false, "/home/me/other": false, "/z": false,
	} {
		if got := s.Files(home()).Above(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
		if got := s.Files(home()).Visible(path, true); got != want {
			t.Errorf("visible %s: %v", path, got)
		}
		if s.Files(home()).Visible(path, false) {
			t.Errorf("%s is visible although it may not be read", path)
		}
	}
}

// The suggested line allows the path and no sibling, for any path.
func FuzzSuggestFS(f *testing.F) {
	for _, p := range []string{"/home/me/a", "/a/{b}*", "/home/me/.git/config", "c:\\x", "/a {b: c}", "/\xff"} {
		f.Add(p, true)
	}
	f.Fuzz(func(t *testing.T, path string, write bool) {
		op := grant.Read
		if write {
			op = grant.Write
		}
		line := grant.NewSet().Files(home()).Decide(op, path).Suggest
		if line == "" {
			return
		}
		s := mustSet(t, line)
		if !s.Files(home()).Decide(op, path).Allowed || s.Files(home()).Decide(op, path+"/x").Allowed && path[len(path)-1] != '/' {
			t.Fatalf("%q suggests %q", path, line)
		}
	})
}

func TestFiles_Visible_showsGrantedAndWay(t *testing.T) {
	s := mustSet(t, "fs: read ~/work/**", "deny: fs: read ~/work/no/**")
	for path, want := range map[string]bool{"/home/me/work": true, "/home/me/work/a": true, "/home/me/work/no": false, "/home/me": false} {
		if got := s.Files(home()).Visible(path, false); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	if s.Files(home()).Visible("/home/me/work/no", true) {
		t.Error("a denied folder is visible")
	}
}

func BenchmarkSet_FS(b *testing.B) {
	s := mustSet(b, "fs: read ~/work/**", "fs: write ~/work/out/**", "deny: fs: write ~/work/out/keep/**", "fs: read /usr/share/**")
	b.ReportAllocs()
	for b.Loop() {
		s.Files(home()).Decide(grant.Read, "/home/me/work/a/b/c/d.txt")
	}
}

func BenchmarkSet_Visible(b *testing.B) {
	s := mustSet(b, "fs: read ~/work/**/*.md", "fs: write ~/work/out/**", "deny: fs: write ~/work/out/keep/**", "fs: read /usr/share/**")
	b.ReportAllocs()
	for b.Loop() {
		s.Files(home()).Visible("/home/me/work/a/b/c", true)
	}
}

// Aliases of the system and of the operator's account are names of the same places, for allowing and denying lines.
// Other links are ignored.
func TestFiles_Decide_resolvesAliases(t *testing.T) {
	p := grant.Places{Home: "/home/me", Links: []grant.Link{{From: "/home/me", To: "/data/me"}, {From: "/tmp", To: "/private/tmp"}}}
	s := mustSet(t, "fs: read ~/work/**", "fs: read /tmp/x/**", "fs: read /home/me/notes/*", "deny: fs: read /tmp/x/no", "deny: fs: read /private/tmp/x/never")
	for name, want := range map[string]bool{
		"/data/me/work/a": true, "/home/me/work/a": true, "/data/me/notes/a": true, "/home/me/notes/a": true, "/data/me/other": false,
		"/private/tmp/x/a": true, "/tmp/x/a": true, "/tmpx/a": false, "/private/tmp/x/no": false, "/tmp/x/no": false, "/tmp/x/never": false, "/private/tmp/x/never": false,
		"/data/other/work/a": false, "/data/me/.ssh/id": false,
	} {
		if got := s.Files(p).Decide(grant.Read, name).Allowed; got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if d := mustSet(t, "fs: read ~/**").Files(p).Decide(grant.Read, "/data/me/.ssh/id"); d.Allowed || !d.SpellOut {
		t.Errorf("a key by the real name of the home: %+v", d)
	}
	if got := s.Files(p).Decide(grant.Read, "/data/me/other").Suggest; got != "fs: read ~/other" {
		t.Errorf("suggested %q", got)
	}
	if got, want := s.Files(p).Prefixes(), []string{"/home/me/work", "/data/me/work", "/tmp/x", "/home/me/notes"}; !slices.Equal(got, want) {
		t.Errorf("prefixes %q", got)
	}
	p.Fold = true
	if !s.Files(p).Decide(grant.Read, "/private/TMP/X/a").Allowed || s.Files(p).Decide(grant.Read, "/private/TMP/X/No").Allowed {
		t.Error("case tells places apart")
	}
}
