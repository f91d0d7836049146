package grant_test

import (
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
)

func TestGrant_Spans_coversAllEffects(t *testing.T) {
	places := grant.Places{Home: "/home/me"}
	for _, tt := range []struct {
		line, other string
		want        bool
	}{
		{"fs: read ~/work/**", "fs: read ~/work/{args.p:path}/**", true},
		{"fs: read ~/work/**", "fs: read ~/work/*/a", true},
		{"fs: read ~/work/**", "fs: read ~/work", true},
		{"fs: read ~/work/**", "fs: read ~/{args.p:path}", false},
		{"fs: read ~/work/**", "fs: read ~/**", false},
		{"fs: read ~/work/**", "fs: write ~/work/a", false},
		{"fs: write ~/work/**", "fs: read ~/work/a", true},
		{"fs: read ~/work/*", "fs: read ~/work/{args.p}", true},
		{"fs: read ~/work/*", "fs: read ~/work/{args.p:path}", false},
		{"fs: read ~/work/*", "fs: read ~/work/**", false},
		{"fs: read ~/work/a*", "fs: read ~/work/{args.p}", false},
		{"fs: read ~/work/a*", "fs: read ~/work/ab", true},
		{"fs: read ~/work/{args.p:path}", "fs: read ~/work/{args.p}", true},
		{"fs: read ~/work/{args.p}", "fs: read ~/work/{args.p:path}", false},
		{"fs: read ~/work/{args.p}", "fs: read ~/work/{args.q}", false},
		{"fs: read ~/work/{args.p}", "fs: read ~/work/a", false},
		{"fs: read ~/work/{args.p:path}/**", "fs: read ~/work/{args.p:path}", true},
		{"fs: read /home/me/work/**", "fs: read ~/work/a", true},
		{"fs: read ~/work/**", "fs: read /home/me/work/a/**", true},
		{"fs: read ~/**", "fs: read ~/.ssh/{args.p}", false}, // must be literal
		{"fs: read ~/.ssh/**", "fs: read ~/.ssh/{args.p}", true},
		{"fs: write ~/w/**", "fs: write ~/w/{args.p}/.git/hooks/x", false},
		{"fs: write ~/w/** {quota: 1MiB}", "fs: write ~/w/a", false},
		{"fs: write ~/w/** {quota: 1MiB}", "fs: write ~/w/** {quota: 1MiB}", true},
		{"fs: write ~/w/** {ask: true}", "fs: write ~/w/a", false},
		{"fs: write ~/w/** {for: [x]}", "fs: write ~/w/a", false},
		{"fs: write ~/w/**", "fs: write ~/w/a {mode: direct}", false},
		{"fs: read {workspace}/**", "fs: read {workspace}/{args.p:path}", true},
		{"fs: read {workspace}/**", "fs: read ~/a", false},
		{"net: GET https://a.example/v1/**", "net: GET https://a.example/v1/{args.x}?q={args.q}", true},
		{"net: GET https://a.example/v1/**", "net: GET https://a.example/**", false},
		{"net: GET https://a.example/v1/**", "net: POST https://a.example/v1/x", false},
		{"net: GET,POST https://a.example/v1/**", "net: POST https://a.example/v1/x", true},
		{"net: GET https://*.example/**", "net: GET https://{args.site:host}/x", false},
		{"net: GET https://**", "net: GET https://{args.site:host}/x", true},
		{"net: GET http://**", "net: GET http://127.0.0.1/x", false},
		{"net: GET http://127.0.0.1/**", "net: GET http://127.0.0.1/x", true},
		{"net: GET http://127.0.0.1/**", "net: GET http://127.0.0.1:8080/x", false},
		{"net: GET https://a.example/q?page", "net: GET https://a.example/q?page={args.p}", true},
		{"net: GET https://a.example/q?page=1", "net: GET https://a.example/q?page", false},
		{"net: GET https://a.example/q?page=1", "net: GET https://a.example/q", false},
		{"net: GET https://a.example/q?page=*", "net: GET https://a.example/q?page={args.p}", true},
		{"net: GET https://a.example/q?page", "net: GET https://a.example/q?page&x", false},
		{"net: GET https://a.example/q", "net: GET https://a.example/q?page", true},
		{"net: GET https://a.example/**", "net: GET https://a.example/x%2Fy", true},
		{"net: POST https://a.example/**", "net: POST https://a.example/x?id&_method=PUT", false},
		{"net: POST https://a.example/**", "net: POST https://a.example/x?method=PUT", true},
		{"net: GET https://a.example/**", "net: GET https://a.example/x?_method=PUT", true},
		{"net: GET https://a.example/*", "net: GET https://a.example/x%2Fy", false},
		{"net: GET {args.u:url}", `net: GET {args.u:url} {within: ["https://a.example/**"]}`, true},
		{`net: GET {args.u:url} {within: ["https://a.example/v1/**"]}`, `net: GET {args.u:url} {within: ["https://a.example/**"]}`, false},
		{"net: GET https://a.example/**", `net: GET {args.u:url} {within: ["https://a.example/**"]}`, true},
		{"net: GET https://a.example/v1/**", `net: GET {args.u:url} {within: ["https://a.example/**"]}`, false},
		{"net: GET https://**", "net: GET {args.u:url}", false},
		{"net: GET {args.u:url}", "net: GET https://a.example/", false},
		{"net: GET https://a.example/**", "deny: net: GET https://a.example/x", false},
		{"tools: a-b {any: true}", `tools: [{a-b: {x: "1"}}]`, true},
		{`tools: [{a-b: {x: "1"}}]`, "tools: a-b", false},
		{`tools: [{a-b: {x: "1"}}]`, "tools: a-b {any: true}", false},
		{`tools: [{a-b: {x: "{args.x}"}}]`, `tools: [{a-b: {x: "{args.x}"}}]`, true},
		{`tools: [{a-b: {x: "1"}}]`, `tools: [{a-b: {x: "{args.x}"}}]`, false},
		{"tools: a-b", "tools: [a-b, a-c]", false},
		{"kv: 16MiB", "kv: 1MiB", false},
	} {
		var lines [2]grant.Grant
		for i, text := range []string{tt.line, tt.other} {
			var err error
			if lines[i], err = grant.ParseLine(text); err != nil {
				t.Fatal(text, err)
			}
		}
		if got := lines[0].Spans(lines[1], places); got != tt.want {
			t.Errorf("%s spans %s: %v", tt.line, tt.other, got)
		}
	}
}

// FuzzSpans checks that a line covers all effects of a line that it spans.
func FuzzSpans(f *testing.F) {
	f.Add("~/work/**", "~/work/*/a", "/home/me/work/x/a")
	f.Add("~/**/a*", "/home/me/**/*/ab", "/home/me/.ssh/x/ab")
	f.Add("/**/**/x", "/**/.git/**", "/a/.git/hooks/x")
	f.Fuzz(func(t *testing.T, one, other, name string) {
		places := grant.Places{Home: "/home/me"}
		g, err1 := grant.ParseLine("fs: write " + one)
		o, err2 := grant.ParseLine("fs: write " + other)
		if err1 != nil || err2 != nil || !g.Spans(o, places) {
			return
		}
		if grant.NewSet(o).Files(places).Decide(grant.Write, name).Allowed && !grant.NewSet(g).Files(places).Decide(grant.Write, name).Allowed {
			t.Errorf("%s spans %s, and does not cover %s", g, o, name)
		}
	})
}
