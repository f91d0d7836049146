package grant_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/internal/urlnorm"
)

// call is a request to the tool "get" with these arguments, each with its values.
func call(args map[string][]string) grant.Call {
	return grant.Call{
		Entry: grant.Entry{Kind: "tool", Name: "get"}, Home: "/home/me",
		Values: func(path []string) []string { return args[strings.Join(path, ".")] },
	}
}

func one(name, value string) grant.Call { return call(map[string][]string{name: {value}}) }

func TestSet_Bind_fillsAddresses(t *testing.T) {
	tests := []struct {
		line, value, url string
		want             bool
	}{
		{"net: GET https://a.example/{args.x}/**", "o", "https://a.example/o/r", true},
		{"net: GET https://a.example/{args.x}/**", "o", "https://a.example/p/r", false},
		{"net: GET https://a.example/{args.x}/**", "*", "https://a.example/p/r", false},
		{"net: GET https://a.example/{args.x}/**", "*", "https://a.example/%2A/r", true},
		{"net: GET https://a.example/{args.x}/**", "a b", "https://a.example/a%20b/r", true},
		{"net: GET https://a.example/{args.x}", "a", "https://a.example/a/b", false},
		{"net: GET https://{args.x}.example/", "Team", "https://team.example/", true},
		{"net: GET https://{args.x}.example/", "a.b", "https://a.b.example/", false},
		{"net: GET https://{args.x}/", "10", "https://10.0.0.1/", false},
		{"net: GET https://{args.x:host}/", "b.example", "https://b.example/", true},
		{"net: GET https://{args.x:host}/", "b.example", "https://c.b.example/", false},
		{"net: GET https://{args.x:host}/", "10.0.0.1", "https://10.0.0.1/", false},
		{"net: GET https://{args.x:host}/", "0x7f.1", "https://127.0.0.1/", false},
		{"net: GET https://{args.x:host}/", "b.example:81", "https://b.example:81/", false},
		{"net: GET https://{args.x:host}/", "me@b.example", "https://b.example/", false},
		{"net: GET https://a.example/?q={args.x}", "v w", "https://a.example/?q=v+w", true},
		{"net: GET https://a.example/?q={args.x}", "v", "https://a.example/?q=w", false},
		{"net: GET https://a.example/?q={args.x}", "v", "https://a.example/?q=v&r=1", false},
		{"net: GET {args.x:url}", "https://b.example/p", "https://b.example/p?q=1", true},
		{"net: GET {args.x:url}", "https://b.example/p", "https://b.example/q", false},
		{"net: GET {args.x:url}", "https://b.example/*", "https://b.example/q", false},
		{"net: GET {args.x:url}", "https://b.example:8443/p", "https://b.example/p", false},
		{"net: GET {args.x:url}", "https://me@b.example/", "https://b.example/", false},
		{"net: GET {args.x:url}", "file:///etc/passwd", "https://etc/passwd", false},
		{"net: GET {args.x:url} {within: [https://b.example/**]}", "https://b.example/p", "https://b.example/p", true},
		{"net: GET {args.x:url} {within: [https://b.example/**]}", "https://c.example/p", "https://c.example/p", false},
		{"net: GET https://a.example/ {for: [get]}", "", "https://a.example/", true},
		{"net: GET https://a.example/ {for: [put]}", "", "https://a.example/", false},
	}
	for _, tt := range tests {
		d := mustSet(t, tt.line).Bind(one("x", tt.value)).Net("GET", mustURL(t, tt.url))
		if d.Allowed != tt.want {
			t.Errorf("%s with %q: %s is %v", tt.line, tt.value, tt.url, d.Allowed)
		}
		if d.Named && !strings.HasPrefix(tt.line, "net: GET https://a.example") && !strings.Contains(tt.line, "within") {
			t.Errorf("%s with %q: a value of the call counts as spelled out", tt.line, tt.value)
		}
	}
}

func TestSet_Bind_fillsPaths(t *testing.T) {
	places := grant.Places{Home: "/home/me"}
	tests := []struct {
		line, value, path string
		want              bool
	}{
		{"fs: write ~/work/{args.x:path}/**", "a/b", "/home/me/work/a/b/c", true},
		{"fs: write ~/work/{args.x:path}/**", "a/b/", "/home/me/work/a/b", true},
		{"fs: write ~/work/{args.x:path}/**", "/home/me/work/a", "/home/me/work/a/c", true},
		{"fs: write ~/work/{args.x:path}/**", "/home/you/work/a", "/home/me/work/a/c", false},
		{"fs: write ~/work/{args.x:path}/**", "a", "/home/me/work/b", false},
		{"fs: write ~/work/{args.x:path}/**", "../x", "/home/me/x", false},
		{"fs: write ~/work/{args.x:path}/**", "a/../b", "/home/me/work/b", false},
		{"fs: write ~/work/{args.x:path}/**", "a//b", "/home/me/work/a/b", false},
		{"fs: write ~/work/{args.x:path}/**", "*", "/home/me/work/a", false},
		{"fs: write ~/work/{args.x:path}/**", "r/.git/hooks", "/home/me/work/r/.git/hooks/post-commit", false},
		{"fs: read ~/{args.x:path}/**", ".ssh", "/home/me/.ssh/id", false},
		{"fs: read ~/work/{args.x}", "a", "/home/me/work/a", true},
		{"fs: read ~/work/{args.x}", "a/b", "/home/me/work/a/b", false},
		{"fs: read ~/work/{args.x}", "..", "/home/me", false},
		{"fs: read /srv/**/{args.x}", "a", "/srv/x/a", true},
		{"fs: read /srv/{args.x:path}", "/srv/a", "/srv/a", true},
	}
	for _, tt := range tests {
		d := mustSet(t, tt.line).Bind(one("x", tt.value)).Files(places).Decide(grant.Write, tt.path)
		if strings.HasPrefix(tt.line, "fs: read") {
			d = mustSet(t, tt.line).Bind(one("x", tt.value)).Files(places).Decide(grant.Read, tt.path)
		}
		if d.Allowed != tt.want {
			t.Errorf("%s with %q: %s is %v", tt.line, tt.value, tt.path, d.Allowed)
		}
	}
	bound := mustSet(t, "fs: read ~/work/{args.x:path}/**").Bind(one("x", "a/b"))
	if got := bound.Files(places).Prefixes(); !slices.Equal(got, []string{"/home/me/work"}) { // a value may name a link
		t.Errorf("prefixes are %q", got)
	}
}

// Values that fill no binding.
func TestSet_Bind_rejectsSeparatorsAndEscapes(t *testing.T) {
	for _, v := range []string{
		"", ".", "..", "a/b", `a\b`, "a?b", "a#b", "me@b", "a:b", "a%2fb", "%2e%2e", "a\x00b", "a\nb", "a\x1bb", "a\u202eb",
		"a\u2215b", "a\uff0fb", "a\u2044b", "\uff0e\uff0e", "a\uff03b", "a\xff",
	} {
		for _, line := range []string{
			"net: GET https://a.example/{args.x}/**", "net: GET https://{args.x}.example/", "net: GET https://a.example/?q={args.x}",
			"net: GET https://{args.x:host}/", "fs: read /srv/{args.x}/**",
		} {
			if strings.Contains(v, "b") && strings.Contains(line, ":host") && v == "b" {
				continue
			}
			if got := mustSet(t, line).Bind(one("x", v)).String(); got != "" {
				t.Errorf("%q fills %s: %s", v, line, got)
			}
		}
	}
}

func TestSet_Bind_makesLineForEachElement(t *testing.T) {
	s := mustSet(t, "fs: read /srv/{args.files.*:path}", "net: GET https://a.example/{args.x}/{args.files.*}").Bind(
		call(map[string][]string{"files.*": {"a", "b/c"}, "x": {"1", "2"}}))
	want := "fs: read /srv/a\nfs: read /srv/b/c\nnet: GET https://a.example/1/a\nnet: GET https://a.example/2/a\n"
	if s.String() != want {
		t.Errorf("got\n%swant\n%s", s, want)
	}
	many := make([]string, 5000)
	for i := range many {
		many[i] = "v"
	}
	if n := len(mustSet(t, "net: GET https://a.example/{args.x}/{args.y}").Bind(call(map[string][]string{"x": many, "y": many})).Lines()); n != 1024 {
		t.Errorf("%d lines of one", n)
	}
}

func TestSet_Bind_leavesPlainSetsAlone(t *testing.T) {
	s := mustSet(t, "net: GET https://a.example/", "fs: read /srv")
	if s.Bind(one("x", "y")) != s {
		t.Error("a set without bindings is copied")
	}
	if got := mustSet(t, "net: GET https://a.example/{args.x}").Bind(grant.Call{}).String(); got != "" {
		t.Errorf("without arguments: %s", got)
	}
	if d := mustSet(t, "net: GET https://a.example/{args.x}", "net: GET {args.x:url}", "fs: read /srv/{args.x}").Net("GET", mustURL(t, "https://a.example/")); d.Allowed {
		t.Errorf("unfilled: %+v", d)
	}
}

func TestSet_At_fillsPluginAndWorkspace(t *testing.T) {
	s := mustSet(t, "fs: read {workspace}/src/**", "fs: write ~/data/{plugin}/**", "net: GET https://a.example/{plugin}?by={plugin}")
	if d := s.Net("GET", mustURL(t, "https://a.example/%7Bplugin%7D?by=%7Bplugin%7D")); d.Allowed || !strings.Contains(s.String(), "{plugin}?by={plugin}") {
		t.Errorf("not filled, it is %+v: %s", d, s)
	}
	s = s.At("notes", "/srv/w")
	want := "fs: read /srv/w/src/**\nfs: write ~/data/notes/**\nnet: GET https://a.example/notes?by=notes\n"
	if s.String() != want {
		t.Errorf("got\n%s", s)
	}
	if d := mustSet(t, "fs: read {workspace}/**").At("notes", "").Files(grant.Places{}).Decide(grant.Read, "/srv"); d.Allowed {
		t.Error("without a workspace something is allowed")
	}
}

// {workspace} and {plugin} in a ceiling are replaced for each plugin, as in its lines. Without a workspace they match
// nothing.
func TestSet_At_ceilings(t *testing.T) {
	file, top := mustSet(t, "fs: read /srv/**", "net: GET https://a.example/**"), mustSet(t, "fs: read /srv/**", "net: GET https://**")
	set := file.Under(mustSet(t, "fs: write {workspace}/**", "net: GET https://a.example/{plugin}/**").Under(top)).At("notes", "/srv/w")
	for name, want := range map[string]bool{"/srv/w/a": true, "/srv/w": true, "/srv/other": false} {
		if d := set.Files(grant.Places{}).Decide(grant.Read, name); d.Allowed != want || d.Beyond == want {
			t.Errorf("%s: %+v", name, d)
		}
	}
	for raw, want := range map[string]bool{"https://a.example/notes/x": true, "https://a.example/other/x": false} {
		if d := set.Net("GET", mustURL(t, raw)); d.Allowed != want || d.Beyond == want {
			t.Errorf("%s: %+v", raw, d)
		}
	}
	if d := file.Under(mustSet(t, "fs: write {workspace}/**")).At("notes", "").Files(grant.Places{}).Decide(grant.Read, "/srv/a"); !d.Beyond {
		t.Errorf("without a workspace: %+v", d)
	}
}

// A value may begin with the folder under the name that the plugin sees, and with no other.
func TestSet_Bind_inTheWorkspace(t *testing.T) {
	for value, want := range map[string]string{
		"a/b": "/srv/w/src/a/b", "/srv/w/src/a": "/srv/w/src/a", "/workspace/src/a": "/srv/w/src/a",
		"/workspace/a": "", "/workspace": "", "/workspace/src/../a": "", "/srv/w/a": "", "/workspacesrc/a": "", "/etc/a": "",
	} {
		s := mustSet(t, "fs: read {workspace}/src/{args.p:path}", "fs: read /other/{args.p:path}").At("notes", "/srv/w").Bind(grant.Call{
			Values: func([]string) []string { return []string{value} },
		})
		got, _, _ := strings.Cut(strings.TrimPrefix(s.String(), "fs: read "), "\n")
		if !strings.HasPrefix(got, "/srv/w/") {
			got = ""
		}
		if got != want {
			t.Errorf("%s: %q, want %q", value, got, want)
		}
	}
}

func TestSet_WithRoots_limitedByWithin(t *testing.T) {
	s := mustSet(t, "fs: read {roots}/** {within: [~/work]}")
	places := grant.Places{Home: "/home/me"}
	if !s.Lines().NeedsRoots() || s.Files(places).Decide(grant.Read, "/home/me/work/a").Allowed {
		t.Error("roots are taken as given")
	}
	if got := s.Files(places).Prefixes(); !slices.Equal(got, []string{"/home/me/work"}) {
		t.Errorf("prefixes are %q", got)
	}
	s = s.WithRoots([]string{"/home/me/work/p", "/etc", "/home/me", "relative"})
	for path, want := range map[string]bool{
		"/home/me/work/p/x": true, "/home/me/work/q": true, "/home/me/x": false, "/etc/passwd": false, "/home/me/.ssh/id": false,
	} {
		if d := s.Files(places).Decide(grant.Read, path); d.Allowed != want {
			t.Errorf("%s is %v", path, d.Allowed)
		}
	}
	if s.Lines().NeedsRoots() || mustSet(t, "fs: read {roots}/** {within: [~/work]}").WithRoots(nil).Files(places).Decide(grant.Read, "/home/me/work/p").Allowed {
		t.Error("no roots allow something")
	}
}

func TestSet_Redirect_followsWithinSite(t *testing.T) {
	origin := mustURL(t, "https://b.example/p")
	tests := []struct {
		line, to string
		want     bool
	}{
		{"net: GET {args.x:url}", "https://b.example/q", true},
		{"net: GET {args.x:url}", "https://www.b.example/q", true},
		{"net: GET {args.x:url}", "http://b.example/q", false},
		{"net: GET {args.x:url}", "https://b.example:8443/q", false},
		{"net: GET {args.x:url}", "https://c.example/q", false},
		{"net: GET {args.x:url} {redirects: public}", "https://c.example/q", true},
		{"net: GET https://b.example/p", "https://b.example/q", false},
	}
	for _, tt := range tests {
		d := mustSet(t, tt.line).Bind(one("x", origin.String())).Redirect("GET", origin, mustURL(t, tt.to))
		if d.Allowed != tt.want || d.Named {
			t.Errorf("%s to %s: %+v", tt.line, tt.to, d)
		}
	}
	s := mustSet(t, "net: GET {args.x:url}", "deny: net: GET https://b.example/q").Bind(one("x", origin.String()))
	if s.Redirect("GET", origin, mustURL(t, "https://b.example/q")).Allowed {
		t.Error("a redirect goes around a deny line")
	}
	if s.Redirect("GET", mustURL(t, "https://c.example/"), mustURL(t, "https://c.example/q")).Allowed {
		t.Error("a redirect begins where the line does not")
	}
}

func TestSet_Fit_bindsLinesToEntries(t *testing.T) {
	has := func(kind, name string, args ...string) grant.Shape {
		return grant.Shape{Entry: grant.Entry{Kind: kind, Name: name}, Binds: func(path []string) error {
			if slices.Contains(args, strings.Join(path, ".")) {
				return nil
			}
			return errNo
		}}
	}
	shapes := []grant.Shape{has("tool", "get", "x"), has("tool", "put", "x", "y"), has("prompt", "ask", "z")}
	s, err := mustSet(t, "net: GET https://a.example/{args.x}", "net: GET https://b.example/{args.y}",
		"net: GET https://c.example/{args.x} {for: put}", "net: GET https://d.example/{args.z}", "net: GET https://e.example/").Fit(shapes)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{"x": {"1"}, "y": {"2"}, "z": {"3"}}
	for entry, want := range map[grant.Entry]string{
		{Kind: "tool", Name: "get"}:   "a e",
		{Kind: "tool", Name: "put"}:   "a b c e",
		{Kind: "prompt", Name: "ask"}: "d e",
		{Kind: "prompt", Name: "get"}: "e",
		{}:                            "e",
	} {
		c := call(all)
		c.Entry = entry
		var got []string
		for _, g := range s.Bind(c).Lines() {
			got = append(got, strings.TrimPrefix(g.String(), "net: GET https://")[:1])
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%v: got %v, want %s", entry, got, want)
		}
	}
	for line, want := range map[string]string{
		"net: GET https://a.example/{args.nope}":         `no tool of the plugin has the arguments of this line: prompt "ask": no such argument`,
		"net: GET https://a.example/{args.y} {for: get}": `tool "get": no such argument`,
		"net: GET https://a.example/ {for: nothing}":     `for: the plugin offers no "nothing"`,
	} {
		if _, err := mustSet(t, line).Fit(shapes); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", line, err, want)
		}
	}
	if _, err := mustSet(t, "fs: read /srv/{args.x}").Fit(nil); err == nil {
		t.Error("a line fits a plugin that offers nothing")
	}
}

func TestSet_Under_ceilingLimitsSet(t *testing.T) {
	s := mustSet(t, "net: GET https://a.example/**", "fs: read /srv/**", "net: GET https://b.example/ {body: 2KiB}").Under(
		mustSet(t, "net: GET https://a.example/v1/**", "fs: read /srv/x/**", "net: GET https://b.example/ {body: 1KiB}", "deny: net: GET https://a.example/v1/no"))
	for raw, want := range map[string]bool{"https://a.example/v1/x": true, "https://a.example/v2": false, "https://a.example/v1/no": false, "https://b.example/": true} {
		d := s.Net("GET", mustURL(t, raw))
		if d.Allowed != want || d.Beyond == want || d.Suggest != "" {
			t.Errorf("%s: %+v", raw, d)
		}
		if raw == "https://b.example/" && d.Body != 1024 {
			t.Errorf("body is %d", d.Body)
		}
	}
	p := grant.Places{}
	if !s.Files(p).Decide(grant.Read, "/srv/x/a").Allowed || s.Files(p).Decide(grant.Read, "/srv/y").Allowed || s.Files(p).Visible("/srv/y", true) || !s.Files(p).Visible("/srv", true) {
		t.Error("files are not cut")
	}
	if d := mustSet(t, "net: GET https://c.example/").Under(mustSet(t)).Net("GET", mustURL(t, "https://c.example/")); d.Allowed {
		t.Error("an empty ceiling allows")
	}
	if d := s.Net("GET", mustURL(t, "https://z.example/")); d.Allowed || !d.Beyond || d.Suggest != "" {
		t.Errorf("no line would help: %+v", d)
	}
}

// A ceiling must contain a host or path literally if the line must.
func TestSet_Under_named(t *testing.T) {
	for _, tt := range []struct {
		url, ceiling   string
		allowed, spell bool
	}{
		{"http://127.0.0.1/x", "net: GET http://**", false, true},
		{"http://127.0.0.1/x", "net: GET http://127.0.0.1/**", true, false},
		{"http://127.0.0.1/x", "net: GET http://127.0.0.1/y", false, false},
		{"http://localhost/x", "net: GET http://**", false, true},
		{"http://[::1]/x", "net: GET http://**", false, true},
		{"http://10.0.0.1/x", "net: GET http://**", false, true},
		{"http://93.184.216.34/x", "net: GET http://**", true, false},
		{"http://a.example/x", "net: GET http://**", true, false},
	} {
		d := mustSet(t, "net: GET "+tt.url).Under(mustSet(t, tt.ceiling)).Net("GET", mustURL(t, tt.url))
		if d.Allowed != tt.allowed || d.Beyond == tt.allowed || d.SpellOut != tt.spell {
			t.Errorf("%s under %s: %+v", tt.url, tt.ceiling, d)
		}
	}
}

var errNo = errorString("no such argument")

type errorString string

func (e errorString) Error() string { return string(e) }

// A value of an argument never makes a line cover an address or a path outside the segments that the line names: all
// that a filled line covers is also covered with a star in that place, and the text in that place is the value.
func FuzzBind(f *testing.F) {
	for _, v := range []string{"a", "..", "a/b", "a%2fb", "*", "**", "a?b", "a.b", "10.0.0.1", "\uff0f", "A", "%2A", "a;b", "xn--a"} {
		f.Add(v, "https://h.example/p/"+v+"/x?q="+v, "/srv/"+v+"/x")
	}
	f.Fuzz(func(t *testing.T, value, raw, file string) {
		lines := [][2]string{
			{"net: GET https://h.example/p/{args.x}/*", "net: GET https://h.example/p/*/*"},
			{"net: GET https://{args.x}.example/**", "net: GET https://*.example/**"},
			{"net: GET https://{args.x:host}/**", "net: GET https://**/**"},
			{"net: GET https://h.example/**?q={args.x}", "net: GET https://h.example/**?q=*"},
		}
		u, err := url.Parse(raw)
		if err != nil {
			return
		}
		c, err := urlnorm.URL(u)
		for _, l := range lines {
			if err == nil && mustSet(t, l[0]).Bind(one("x", value)).Net("GET", c).Allowed && !mustSet(t, l[1]).Net("GET", c).Allowed {
				t.Fatalf("%s with %q covers %s, which %s does not", l[0], value, c, l[1])
			}
		}
		if err == nil && mustSet(t, lines[0][0]).Bind(one("x", value)).Net("GET", c).Allowed {
			if parts := strings.Split(c.EscapedPath(), "/"); len(parts) != 4 || unescape(parts[2]) != value {
				t.Fatalf("%q covers %s", value, c)
			}
		}
		if !strings.HasPrefix(file, "/") {
			return
		}
		p := grant.Places{Home: "/home/me"}
		if mustSet(t, "fs: read /srv/{args.x}/**").Bind(one("x", value)).Files(p).Decide(grant.Read, file).Allowed {
			if !mustSet(t, "fs: read /srv/*/**").Files(p).Decide(grant.Read, file).Allowed {
				t.Fatalf("%q covers %s", value, file)
			}
		}
		if mustSet(t, "fs: read /srv/{args.x:path}/**").Bind(one("x", value)).Files(p).Decide(grant.Read, file).Allowed &&
			!mustSet(t, "fs: read /srv/**").Files(p).Decide(grant.Read, file).Allowed {
			t.Fatalf("%q covers %s", value, file)
		}
	})
}

func unescape(s string) string {
	u, err := url.PathUnescape(s)
	if err != nil {
		return s
	}
	return u
}

// An error of a line after parsing names its file.
func TestSet_Fit_namesTheFile(t *testing.T) {
	g := mustSet(t, "net: GET https://a.example/ {for: nothing}").Lines()[0]
	g.Line = 7
	_, err := grant.NewSet(g).From("sallyport.yaml").Fit(nil)
	if want := `sallyport.yaml:7: for: the plugin offers no "nothing"`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// No character of Unicode that compatibility normalization maps to a separator or a dot is allowed in a value that is
// one segment.
func TestBind_lookAlikes(t *testing.T) {
	s := mustSet(t, "net: GET https://a.example/{args.x}")
	fills := func(v string) bool {
		u := &url.URL{Scheme: "https", Host: "a.example", Path: "/" + v}
		u, err := urlnorm.URL(u)
		return err == nil && s.Bind(call(map[string][]string{"x": {v}})).Net("GET", u).Allowed
	}
	found := 0
	for r := rune(0x80); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) || !strings.ContainsAny(norm.NFKC.String(string(r))+norm.NFKD.String(string(r)), `/\?#@:%.`) {
			continue
		}
		if found++; fills("a" + string(r) + "b") {
			t.Errorf("%U, which is %q, fills a step", r, norm.NFKC.String(string(r)))
		}
	}
	for _, r := range "\u2047\u2A74\u2024\u2044\u2100\u2215\u2216\u2488\u3002\uFE55\uFF0F\uFF61" {
		if fills("a" + string(r) + "b") {
			t.Errorf("%U fills a step", r)
		}
	}
	for _, v := range []string{"é", "日本", "a.b", "½", "ﬁ"} {
		if !fills(v) {
			t.Errorf("%s does not fill a step", v)
		}
	}
	if found < 50 {
		t.Errorf("only %d look-alikes", found)
	}
	t.Logf("%d look-alikes", found)
}
