package grant_test

import (
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
)

func TestResources_formatCanonically(t *testing.T) {
	for line, want := range map[string]string{
		"resources: {notes: memo://notes/**}":                      `resources: {notes: "memo://notes/**"}`,
		`resources: {notes: [memo://a, "urn:x:*"], b: a.b+c-d:/x}`: `resources: {b: "a.b+c-d:/x", notes: ["memo://a", "urn:x:*"]}`,
		`resources: {notes: ["memo://a"]}`:                         `resources: {notes: "memo://a"}`,
		`resources: {notes: "memo://{args.id}/x{*}"} {for: [s]}`:   `resources: {notes: "memo://{args.id}/x{*}"} {for: [s]}`,
		`deny: resources: {notes: "memo://notes/**"}`:              `deny: resources: {notes: "memo://notes/**"}`,
		"resources":                                                     "",
		"resources: memo://notes/**":                                    "",
		"resources: [notes]":                                            "",
		"resources: [{notes: memo://a}]":                                "",
		"resources: {}":                                                 "",
		"resources: {notes: []}":                                        "",
		"resources: {notes: [[memo://a]]}":                              "",
		"resources: {notes: {x: memo://a}}":                             "",
		`resources: {"": memo://a}`:                                     "",
		"resources: {a b: memo://a}":                                    "",
		"resources: {notes: x}":                                         "",
		"resources: {notes: **}":                                        "",
		`resources: {notes: "**://x"}`:                                  "",
		`resources: {notes: "://x"}`:                                    "",
		`resources: {notes: "{args.s}:x"}`:                              "",
		`resources: {notes: "memo://a b"}`:                              "",
		`resources: {notes: "memo://a\\b"}`:                             "",
		`resources: {notes: "memo://a**"}`:                              "",
		`resources: {notes: "memo://a}"}`:                               "",
		`resources: {notes: "memo:{args.a:url}"}`:                       "",
		`resources: {notes: "memo:{args.a:path}"}`:                      "",
		`resources: {notes: "memo://{plugin}"}`:                         "",
		`resources: {notes: "memo://{roots}"}`:                          "",
		`resources: {notes: "memo://x{args.a}"}`:                        "",
		`resources: {notes: "memo://a"} {ask: true}`:                    "",
		`deny: resources: {notes: "memo://{args.x}"}`:                   "",
		`resources: {notes: "memo:` + strings.Repeat("/a", 2000) + `"}`: "",
	} {
		g, err := grant.ParseLine(line)
		switch {
		case (err != nil) != (want == ""):
			t.Errorf("%.80s: %.80s, %v", line, g, err)
		case err == nil && g.String() != want:
			t.Errorf("%s: got %s, want %s", line, g, want)
		}
	}
}

func TestSet_Resource_comparesURIsAsWritten(t *testing.T) {
	s := mustSet(t, `resources: {notes: ["memo://notes/{args.id}", "memo://open/**", "urn:memo:*", "memo:///root", "memo://a/x{*}y", "memo://q/a?b=*"]}`,
		`resources: {b: "memo://b/*/end"}`)
	bound := s.Bind(call(map[string][]string{"id": {"7"}}))
	for _, tt := range []struct {
		plugin, uri string
		want        bool
	}{
		{"notes", "memo://notes/7", true},
		{"notes", "memo://notes/8", false},
		{"notes", "memo://notes/7/", false},
		{"notes", "memo://notes/%37", false},
		{"notes", "MEMO://notes/7", false},
		{"notes", "memo:/notes/7", false},
		{"b", "memo://notes/7", false},
		{"Notes", "memo://notes/7", false},
		{"notes", "memo://open", true},
		{"notes", "memo://open/a/b?c#d", true},
		{"notes", "memo://opened", false},
		{"notes", "memo://open/../notes/8", false},
		{"notes", "memo://open/./a", false},
		{"notes", "memo://open/%2e%2e/notes/8", false},
		{"notes", "memo://open/%252e%252e%252fnotes", false},
		{"notes", "memo://open/a%2Fb", false},
		{"notes", "memo://open/a%5cb", false},
		{"notes", `memo://open/a\b`, false},
		{"notes", "urn:memo:a:b", true},
		{"notes", "urn:memo:", true},
		{"notes", "urn:memo:a/b", false},
		{"notes", "memo:///root", true},
		{"notes", "memo://root", false},
		{"notes", "memo://a/x*y", true},
		{"notes", "memo://a/xzy", false},
		{"notes", "memo://q/a?b=1", true},
		{"notes", "memo://q/a", false},
		{"b", "memo://b/x/end", true},
		{"b", "memo://b//end", false},
		{"b", "memo://b/x/y/end", false},
		{"", "memo://b/x/end", true},
		{"", "memo://none", false},
		{"notes", "", false},
		{"notes", ":", false},
		{"notes", strings.Repeat("memo:/", 1000), false},
	} {
		d := bound.Resource(tt.plugin, tt.uri)
		if d.Allowed != tt.want {
			t.Errorf("%q of %s: got %v, want %v", tt.uri, tt.plugin, d.Allowed, tt.want)
		}
		if tt.want || d.Suggest == "" {
			continue
		}
		if g := mustSet(t, d.Suggest); !g.Resource(tt.plugin, tt.uri).Allowed || g.Resource(tt.plugin, tt.uri+"x").Allowed || g.Resource("other", tt.uri).Allowed {
			t.Errorf("%s does not allow exactly %s of %s", d.Suggest, tt.uri, tt.plugin)
		}
	}
	if got := s.Resource("notes", "memo://x/y").Suggest; got != `"resources: {notes: \"memo://x/y\"}"` {
		t.Errorf("got %s, want the line for that URI", got)
	}
	if got := s.Resource("", "memo://x/y").Suggest; got != "" {
		t.Errorf("got %s, want no line for a plugin that is not known", got)
	}
	if s.Bind(call(map[string][]string{"id": {"../8"}})).Resource("notes", "memo://notes/../8").Allowed {
		t.Error("a value with a separator filled a segment")
	}
}

func TestSet_Resource_denyCoversSpellings(t *testing.T) {
	s := mustSet(t, `resources: {notes: ["memo://**", "memo://notes/**"]}`, `deny: resources: {notes: "memo://notes/secret/**"}`)
	for _, uri := range []string{
		"memo://notes/secret", "memo://notes/secret/x", "memo://notes/SECRET/x", "memo://Notes/secret/x", "memo://notes//secret/x", "memo://notes/%73ecret/x", "memo://notes/%2573ecret",
		"memo://notes/secret;a/x", "memo://notes/secret?x", "memo://notes/secret%00", "memo://notes/s%C3%A9cret", "memo://notes/secret#a", "memo://notes/secret/",
	} {
		if s.Resource("notes", uri).Allowed {
			t.Errorf("%s is allowed", uri)
		}
	}
	for _, uri := range []string{"memo://notes/open", "memo://notes/secrets", "memo://open/secret", "memo://notes/a%20b"} {
		if !s.Resource("notes", uri).Allowed {
			t.Errorf("%s is refused", uri)
		}
	}
	if top := mustSet(t, `resources: {notes: "memo://**"}`).Under(mustSet(t, `resources: {notes: "memo://a"}`)); top.Resource("notes", "memo://b").Allowed || !top.Resource("notes", "memo://a").Allowed {
		t.Error("max_grants is no ceiling")
	}
}

func TestGrant_Spans_resources(t *testing.T) {
	for _, tt := range []struct {
		own, other string
		want       bool
	}{
		{`resources: {a: "m://x/**"}`, `resources: {a: "m://x/y"}`, true},
		{`resources: {a: "m://x/**"}`, `resources: {a: "m://x/{args.id}"}`, true},
		{`resources: {a: "m://x/**"}`, `resources: {a: "m://x/%2e%2e"}`, false},
		{`resources: {a: "m://x/*"}`, `resources: {a: "m://x/y/z"}`, false},
		{`resources: {a: "m://x/**"}`, `resources: {b: "m://x/y"}`, false},
		{`resources: {a: "m://x/**"}`, `resources: {a: "n://x/y"}`, false},
		{`resources: {a: "m://x/y"}`, `resources: {a: ["m://x/y", "m://x/z"]}`, false},
	} {
		own, err := grant.ParseLine(tt.own)
		if err != nil {
			t.Fatal(err)
		}
		other, err := grant.ParseLine(tt.other)
		if err != nil {
			t.Fatal(err)
		}
		if got := own.Spans(other, grant.Places{}); got != tt.want {
			t.Errorf("%s over %s: got %v, want %v", tt.own, tt.other, got, tt.want)
		}
	}
	c := mustSet(t, `resources: {a: "m://x/y"}`)
	if want, _ := grant.ParseLine(`resources: {a: ["m://x/y", "m://x/z"]}`); len(want.Parts()) != 2 || c.Coverage(want, grant.Places{}).All || !c.Coverage(want, grant.Places{}).Some {
		t.Errorf("got %v and %v, want two parts of which one is covered", want.Parts(), c.Coverage(want, grant.Places{}))
	}
}
