package infer_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant/infer"
)

var places = infer.Places{Home: "/home/me", Workspace: "/home/me/project"}

func TestLines_bindArguments(t *testing.T) {
	for _, c := range []struct{ literal, args, want string }{
		{"net: GET https://api.example.com/repos/me/x/issues", `{"owner":"me","repo":"x"}`, "net: GET https://api.example.com/repos/{args.owner}/{args.repo}/issues"},
		{"net: GET https://api.example.com/items/7", `{"n":7}`, "net: GET https://api.example.com/items/{args.n}"},
		{"net: GET https://api.example.com/q?page=2&q=a+b", `{"q":"a b"}`, "net: GET https://api.example.com/q?page&q={args.q}"},
		{"net: GET https://docs.example.com/a", `{"site":"docs.example.com"}`, "net: GET https://{args.site:host}/a"},
		{"net: GET https://docs.example.com/a?x=1", `{"page":"https://docs.example.com/a?x=1"}`, `net: GET {args.page:url} {within: ["https://docs.example.com/**"]}`},
		{"net: GET http://127.0.0.1:8080/a?x=1", `{"page":"http://127.0.0.1:8080/a?x=1"}`, "net: GET http://127.0.0.1:8080/a?x"},
		{"net: GET http://localhost/a", `{"page":"http://localhost/a"}`, "net: GET http://localhost/a"},
		{"net: GET https://api.example.com/a%20b", `{"name":"a b"}`, "net: GET https://api.example.com/{args.name}"},
		{"net: GET https://api.example.com/true", `{"b":true}`, "net: GET https://api.example.com/true"},
		{"net: GET https://api.example.com/x", `{"o":{"in":"x"}}`, "net: GET https://api.example.com/{args.o.in}"},
		{"net: GET https://api.example.com/x", `{"list":["a","x"]}`, "net: GET https://api.example.com/{args.list.*}"},
		{"fs: read ~/work/notes/a.md", `{"path":"notes/a.md"}`, "fs: read ~/work/{args.path:path}"},
		{"fs: read ~/work/notes/a.md", `{"path":"/home/me/work/notes/a.md"}`, "fs: read ~/work/notes/{args.path:path}"},
		{"fs: read ~/work/notes/a.md", `{"path":"~/work/notes/a.md"}`, "fs: read ~/work/notes/{args.path:path}"},
		{"fs: read ~/work/notes/b/a.md", `{"dir":"/home/me/work/notes"}`, "fs: read ~/work/{args.dir:path}/**"},
		{"fs: read ~/project/a.txt", `{"path":"/workspace/a.txt"}`, "fs: read {workspace}/{args.path:path}"},
		{"fs: read ~/project/a.txt", `{"path":"/home/me/project/a.txt"}`, "fs: read {workspace}/{args.path:path}"},
		{"fs: read ~/project/a.txt", `{"path":"~/project/a.txt"}`, "fs: read {workspace}/{args.path:path}"},
		{"fs: read ~/project/a.txt", `{"path":"a.txt"}`, "fs: read {workspace}/{args.path}"},
		{"fs: read ~/project/b/a.txt", `{"path":"b/a.txt"}`, "fs: read {workspace}/{args.path:path}"},
		{"fs: read ~/project/b/a.txt", `{"path":"/workspace/b/a.txt"}`, "fs: read {workspace}/b/{args.path:path}"},
		{"fs: read ~/project/b/{*}.txt", `{}`, "fs: read {workspace}/b/{*}.txt"},
		{"fs: read ~/project", `{}`, "fs: read {workspace}"},
		{"fs: read ~/projects/a.txt", `{}`, "fs: read ~/projects/a.txt"},
		{"fs: read ~/work/hello.txt", `{"path":"/home/me/work"}`, "fs: read ~/work/**"},
		{"fs: read ~/work/hello.txt", `{"path":"/home/me/work/hello.txt"}`, "fs: read ~/work/{args.path:path}"},
		{"fs: read ~/work/hello.txt", `{"path":"work/hello.txt"}`, "fs: read ~/work/hello.txt"},
		{"fs: read ~/work/hello.txt", `{"path":"work"}`, "fs: read ~/work/hello.txt"},
		{"fs: read ~/work", `{"path":"/home/me/work"}`, "fs: read ~/work"},
		{"fs: read ~/work/*", `{"path":"/home/me/work"}`, "fs: read ~/work/*"},
		{"fs: read ~/work/a/*", `{"path":"~/work/a"}`, "fs: read ~/work/{args.path:path}/*"},
		{"fs: read ~/notes.md", `{"name":"notes.md"}`, "fs: read ~/notes.md"},
		{"fs: read ~/work/hello.txt", `{"path":"/home"}`, "fs: read ~/work/hello.txt"},
		{"fs: read /home/you/x", `{"path":"/home/you/x"}`, "fs: read /home/you/x"},
		{"fs: read /home/you", `{"path":"/home/you"}`, "fs: read /home/you"},
		{"fs: read /srv/x", `{"path":"/srv"}`, "fs: read /srv/x"},
		{"fs: read /srv/x", `{"path":"srv/x"}`, "fs: read /srv/x"},
		{"fs: write /srv/out/x", `{"name":"x"}`, "fs: write /srv/out/{args.name}"},
		{"fs: write /srv/out/x/y", `{"name":"x"}`, "fs: write /srv/out/{args.name}/**"},
		{"fs: read /srv/out/a{*}b", `{"name":"a*b"}`, "fs: read /srv/out/{args.name}"},
		{"fs: read /srv/a{*}b", `{"name":"a*b"}`, "fs: read /srv/a{*}b"},
		{"fs: read /etc/passwd", `{"path":"/etc/passwd"}`, "fs: read /etc/passwd"},
		{"fs: read /etc/passwd", `{"path":"passwd"}`, "fs: read /etc/passwd"},
		{"fs: read /etc/ssl/private/a.key", `{"path":"/etc/ssl/private/a.key"}`, "fs: read /etc/ssl/private/a.key"},
		{"fs: read /etc/ssl/private/a.key", `{"path":"private/a.key"}`, "fs: read /etc/ssl/private/a.key"},
		{"fs: read /usr/lib/x/y", `{"name":"y"}`, "fs: read /usr/lib/x/y"},
		{"fs: read /lib64/x/y", `{"name":"y"}`, "fs: read /lib64/x/y"},
		{"fs: read /root/.bashrc", `{"path":"/root/.bashrc"}`, "fs: read /root/.bashrc"},
		{"fs: write /tmp/x", `{"path":"/tmp/x"}`, "fs: write /tmp/x"},
		{"fs: write /tmp/a/x", `{"path":"/tmp/a/x"}`, "fs: write /tmp/a/{args.path:path}"},
		{"fs: read /srv/data/in/x", `{"path":"/srv/data/in/x"}`, "fs: read /srv/data/in/{args.path:path}"},
		{"kv: 1MiB", `{"name":"1MiB"}`, "kv: 1MiB"},
		{"fs: read /srv/x", ``, "fs: read /srv/x"},
	} {
		lines := infer.Lines(c.literal, places, json.RawMessage(c.args))
		if lines[0] != c.want || lines[len(lines)-1] != c.literal {
			t.Errorf("%s with %s: %q, want %q first", c.literal, c.args, lines, c.want)
		}
	}
}

// A proposed line contains no value of an argument that it names, and most lines can be parsed.
func TestLines_holdNoValues(t *testing.T) {
	const secret = "hunter2hunter2"
	for _, literal := range []string{
		"net: GET https://api.example.com/" + secret + "?key=" + secret, "fs: read ~/work/" + secret, "net: GET https://" + secret + "/",
	} {
		line := infer.Lines(literal, places, json.RawMessage(`{"a":"`+secret+`"}`))[0]
		if strings.Contains(line, secret) {
			t.Errorf("%s: %s", literal, line)
		}
		if _, err := grant.ParseLine(line); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestMerge_generalizesLines(t *testing.T) {
	var needs []infer.Need
	add := func(lines ...string) {
		for _, l := range lines {
			needs = append(needs, infer.Need{Line: l, Call: fmt.Sprintf("c%d", len(needs)), Used: 1})
		}
	}
	add("net: GET https://a.example/x", "net: POST https://a.example/x", "net: GET https://a.example/x", "kv: 1MiB",
		"fs: read ~/w/a/{args.p:path}", "fs: read ~/w/b/c/{args.p:path}", "fs: read /home/you/{args.p:path}/**", "fs: read /home/me/a/{args.p:path}/**", "fs: read /srv/one", "fs: read ~/{args.q:path}", "fs: read /etc/{args.q:path}")
	for i := range 9 {
		add(fmt.Sprintf("fs: write ~/many/%d", i))
	}
	for i := range 9 {
		add(fmt.Sprintf("net: GET https://a.example/pages/%d?", i))
	}
	var got []string
	for _, n := range infer.Merge(needs, places, nil) {
		got = append(got, fmt.Sprintf("%s (%s, %d)", n.Line, n.Call, n.Used))
	}
	want := []string{
		"fs: read /etc/{args.q:path} (c10, 1)", "fs: read /home/me/a/{args.p:path}/** (c7, 1)", "fs: read /home/you/{args.p:path}/** (c6, 1)",
		"fs: read /srv/one (c8, 1)", "fs: read ~/w/{args.p:path} (c4, 2)", "fs: read ~/{args.q:path} (c9, 1)",
		"fs: write ~/many/* (c11, 9)", "kv: 1MiB (c3, 1)", "net: GET https://a.example/pages/*? (c20, 9)", "net: GET,POST https://a.example/x (c0, 3)",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, n := range infer.Merge(needs, places, nil) {
		if _, err := grant.ParseLine(n.Line); err != nil {
			t.Errorf("%s: %v", n.Line, err)
		}
	}
}

// FuzzLines checks that proposing never panics, and that the literal line is always included.
func FuzzLines(f *testing.F) {
	f.Add("net: GET https://a.example/x?y=z", `{"a":"x","b":["https://a.example/x"]}`)
	f.Add("fs: read ~/a/{*}b", `{"a":"/home/me/a","b":"."}`)
	f.Add("", `[[[]]]`)
	f.Fuzz(func(t *testing.T, literal, args string) {
		if !json.Valid([]byte(args)) {
			return
		}
		lines := infer.Lines(literal, places, json.RawMessage(args))
		if lines[len(lines)-1] != literal {
			t.Errorf("%q", lines)
		}
		infer.Merge([]infer.Need{{Line: lines[0]}, {Line: literal}}, places, nil)
	})
}

// Equal and covered lines merge, and others stay.
func TestMerge_included(t *testing.T) {
	for _, c := range []struct {
		name  string
		needs []infer.Need
		want  string
	}{
		{"to write is to read", []infer.Need{{Line: "fs: read ~/a", Used: 1}, {Line: "fs: write ~/a", Used: 2}}, "fs: write ~/a 3"},
		{"but not the other way", []infer.Need{{Line: "fs: read ~/a/**", Used: 1}, {Line: "fs: write ~/a/x", Used: 2}}, "fs: read ~/a/** 1, fs: write ~/a/x 2"},
		{"one step is several", []infer.Need{{Line: "fs: read ~/a/{args.p}", Used: 1}, {Line: "fs: read ~/a/{args.p:path}", Used: 1}}, "fs: read ~/a/{args.p:path} 2"},
		{"a folder and what is in it", []infer.Need{{Line: "fs: read ~/a/{args.p:path}", Used: 1}, {Line: "fs: read ~/a/{args.p:path}/**", Used: 1}}, "fs: read ~/a/{args.p:path}/** 2"},
		{"places of an address", []infer.Need{
			{Line: `net: GET {args.u:url} {within: ["https://b.example/**"]}`, Used: 1}, {Line: `net: GET {args.u:url} {within: ["https://a.example/**"]}`, Used: 1},
		}, `net: GET {args.u:url} {within: ["https://a.example/**", "https://b.example/**"]} 2`},
		{"a guess of the same tool", []infer.Need{
			{Line: "fs: read {workspace}/{args.p:path}", Tool: "read", Used: 1}, {Line: "fs: read {workspace}/b/c", Tool: "read", Refused: 1, Guessed: true},
			{Line: "net: GET https://a.example/x/{args.n}", Tool: "get", Used: 1}, {Line: "net: GET https://a.example/x/y", Tool: "get", Refused: 1, Guessed: true},
		}, "fs: read {workspace}/{args.p:path} 2, net: GET https://a.example/x/{args.n} 2"},
		{"no guess, or of another", []infer.Need{
			{Line: "fs: read ~/w/{args.p:path}", Tool: "read", Used: 1}, {Line: "fs: read ~/w/b", Tool: "list", Refused: 1, Guessed: true}, {Line: "fs: read ~/w/config", Tool: "read", Used: 1},
		}, "fs: read ~/w/b 1, fs: read ~/w/config 1, fs: read ~/w/{args.p:path} 1"},
		{"a folder on the way", []infer.Need{
			{Line: "fs: read ~/project", Tool: "write", Refused: 1}, {Line: "fs: write {workspace}/{args.p:path}", Tool: "write", Used: 1}, {Line: "fs: read ~", Tool: "list", Used: 1},
		}, "fs: read ~ 1, fs: write {workspace}/{args.p:path} 1"},
	} {
		var got []string
		for _, n := range infer.Merge(c.needs, places, nil) {
			got = append(got, fmt.Sprintf("%s %d", n.Line, n.Used+n.Refused))
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %s, want %s", c.name, strings.Join(got, ", "), c.want)
		}
	}
}

// Lines that are already allowed are merged within the allowing lines.
func TestMerge_staysInside(t *testing.T) {
	var lines []grant.Grant
	for _, text := range []string{"fs: read ~/work/**", "fs: read ~/docs/**", "fs: read {workspace}/**", "net: GET https://a.example/v1/**"} {
		g, err := grant.ParseLine(text)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, g)
	}
	needs := []infer.Need{{Line: "fs: read ~/work/**"}, {Line: "fs: read ~/work/a/{args.p:path}"}, {Line: "fs: read ~/docs/{args.p:path}"}, {Line: "fs: read ~/docs/b/{args.p:path}"}, {Line: "fs: read ~/work"},
		{Line: "fs: read {workspace}/x/{args.q:path}"}, {Line: "fs: read ~/other/{args.q:path}"}}
	for i := range 9 {
		needs = append(needs, infer.Need{Line: fmt.Sprintf("net: GET https://a.example/v1/%d", i)}, infer.Need{Line: fmt.Sprintf("net: GET https://a.example/v2/%d", i)})
	}
	var got []string
	for _, n := range infer.Merge(needs, places, grant.NewSet(lines...)) {
		got = append(got, n.Line)
	}
	want := []string{
		"fs: read {workspace}/x/{args.q:path}", "fs: read ~/docs/{args.p:path}", "fs: read ~/other/{args.q:path}", "fs: read ~/work/**",
		"net: GET https://a.example/v1/*", "net: GET https://a.example/v2/*",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Too many places to read are merged into all places.
func TestMerge_manyPlaces(t *testing.T) {
	var needs []infer.Need
	for i := range 9 {
		needs = append(needs, infer.Need{Line: fmt.Sprintf(`net: GET {args.u:url} {within: ["https://%d.example/**"]}`, i), Used: 1})
	}
	if got := infer.Merge(needs, places, nil); len(got) != 1 || got[0].Line != "net: GET {args.u:url}" || got[0].Used != 9 {
		t.Errorf("%+v", got)
	}
}

// Probed parent folders and traversed folders are not needs of the call.
func TestNeeded_ignoresProbesAndWay(t *testing.T) {
	call := []infer.Need{
		{Line: "fs: read ~/src/repo/.git", Refused: 1}, {Line: "fs: read ~/src/.git", Refused: 1}, {Line: "fs: read ~/.git", Refused: 1}, {Line: "fs: read /.git", Refused: 1},
		{Line: "fs: read ~", Refused: 1}, {Line: "fs: read /home", Refused: 2}, {Line: "fs: read ~/src", Used: 1}, {Line: "fs: write ~/src", Refused: 1}, {Line: "kv: 1MiB", Refused: 1},
	}
	var got []string
	for _, n := range infer.Needed(call, places) {
		got = append(got, n.Line)
	}
	if want := "fs: read ~/src/repo/.git, fs: read ~/src, fs: write ~/src, kv: 1MiB"; strings.Join(got, ", ") != want {
		t.Errorf("%q, want %s", got, want)
	}
}
