package learn_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/learn"
)

func TestLines(t *testing.T) {
	for _, c := range []struct{ literal, args, want string }{
		{"net: GET https://api.example.com/repos/me/x/issues", `{"owner":"me","repo":"x"}`, "net: GET https://api.example.com/repos/{args.owner}/{args.repo}/issues"},
		{"net: GET https://api.example.com/items/7", `{"n":7}`, "net: GET https://api.example.com/items/{args.n}"},
		{"net: GET https://api.example.com/q?page=2&q=a+b", `{"q":"a b"}`, "net: GET https://api.example.com/q?page&q={args.q}"},
		{"net: GET https://docs.example.com/a", `{"site":"docs.example.com"}`, "net: GET https://{args.site:host}/a"},
		{"net: GET https://docs.example.com/a?x=1", `{"page":"https://docs.example.com/a?x=1"}`, "net: GET {args.page:url}"},
		{"net: GET https://api.example.com/a%20b", `{"name":"a b"}`, "net: GET https://api.example.com/{args.name}"},
		{"net: GET https://api.example.com/true", `{"b":true}`, "net: GET https://api.example.com/true"},
		{"net: GET https://api.example.com/x", `{"o":{"in":"x"}}`, "net: GET https://api.example.com/{args.o.in}"},
		{"net: GET https://api.example.com/x", `{"list":["a","x"]}`, "net: GET https://api.example.com/{args.list.*}"},
		{"fs: read ~/work/notes/a.md", `{"path":"notes/a.md"}`, "fs: read ~/work/{args.path:path}"},
		{"fs: read ~/work/notes/a.md", `{"path":"/home/me/work/notes/a.md"}`, "fs: read ~/work/notes/{args.path:path}"},
		{"fs: read ~/work/notes/a.md", `{"path":"~/work/notes/a.md"}`, "fs: read ~/work/notes/{args.path:path}"},
		{"fs: read ~/work/notes/b/a.md", `{"dir":"/home/me/work/notes"}`, "fs: read ~/work/{args.dir:path}/**"},
		{"fs: write /srv/out/x", `{"name":"x"}`, "fs: write /srv/out/{args.name}"},
		{"fs: write /srv/out/x/y", `{"name":"x"}`, "fs: write /srv/out/{args.name}/**"},
		{"fs: read /srv/a{*}b", `{"name":"a*b"}`, "fs: read /srv/{args.name}"},
		{"kv: 1MiB", `{"name":"1MiB"}`, "kv: 1MiB"},
		{"fs: read /srv/x", ``, "fs: read /srv/x"},
	} {
		lines := learn.Lines(c.literal, "/home/me", json.RawMessage(c.args))
		if lines[0] != c.want || lines[len(lines)-1] != c.literal {
			t.Errorf("%s with %s: %q, want %q first", c.literal, c.args, lines, c.want)
		}
	}
}

// Whatever is proposed holds no value of an argument that it names, and most of it can be read.
func TestLines_holdNoValues(t *testing.T) {
	const secret = "hunter2hunter2"
	for _, literal := range []string{
		"net: GET https://api.example.com/" + secret + "?key=" + secret, "fs: read ~/work/" + secret, "net: GET https://" + secret + "/",
	} {
		line := learn.Lines(literal, "/home/me", json.RawMessage(`{"a":"`+secret+`"}`))[0]
		if strings.Contains(line, secret) {
			t.Errorf("%s: %s", literal, line)
		}
		if _, err := grant.ParseLine(line); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestMerge(t *testing.T) {
	var needs []learn.Need
	add := func(lines ...string) {
		for _, l := range lines {
			needs = append(needs, learn.Need{Line: l, Call: fmt.Sprintf("c%d", len(needs)), Used: 1})
		}
	}
	add("net: GET https://a.example/x", "net: POST https://a.example/x", "net: GET https://a.example/x", "kv: 1MiB",
		"fs: read ~/w/a/{args.p:path}", "fs: read ~/w/b/c/{args.p:path}", "fs: read /srv/one", "fs: read ~/{args.q:path}", "fs: read /etc/{args.q:path}")
	for i := range 9 {
		add(fmt.Sprintf("fs: write ~/many/%d", i))
	}
	var got []string
	for _, n := range learn.Merge(needs) {
		got = append(got, fmt.Sprintf("%s (%s, %d)", n.Line, n.Call, n.Used))
	}
	want := []string{
		"fs: read /etc/{args.q:path} (c8, 1)", "fs: read /srv/one (c6, 1)", "fs: read ~/w/{args.p:path} (c4, 2)", "fs: read ~/{args.q:path} (c7, 1)",
		"fs: write ~/many/* (c9, 9)", "kv: 1MiB (c3, 1)", "net: GET,POST https://a.example/x (c0, 3)",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, n := range learn.Merge(needs) {
		if _, err := grant.ParseLine(n.Line); err != nil {
			t.Errorf("%s: %v", n.Line, err)
		}
	}
}

// FuzzLines holds that proposing never panics, and that the literal line is always there.
func FuzzLines(f *testing.F) {
	f.Add("net: GET https://a.example/x?y=z", `{"a":"x","b":["https://a.example/x"]}`)
	f.Add("fs: read ~/a/{*}b", `{"a":"/home/me/a","b":"."}`)
	f.Add("", `[[[]]]`)
	f.Fuzz(func(t *testing.T, literal, args string) {
		if !json.Valid([]byte(args)) {
			return
		}
		lines := learn.Lines(literal, "/home/me", json.RawMessage(args))
		if lines[len(lines)-1] != literal {
			t.Errorf("%q", lines)
		}
		learn.Merge([]learn.Need{{Line: lines[0]}, {Line: literal}})
	})
}
