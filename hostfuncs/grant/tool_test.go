package grant_test

import (
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
)

func TestTools_formatCanonically(t *testing.T) {
	for line, want := range map[string]string{
		"tools: time-now":                                "tools: [time-now]",
		"tools: [a-b, c-d]":                              "tools: [a-b, c-d]",
		"tools: {a-b: {x: 1}}":                           "tools: [{a-b: {x: 1}}]",
		`tools: [{a-b: {x: "{args.y}", z: "q r"}}, c-d]`: `tools: [{a-b: {x: "{args.y}", z: "q r"}}, c-d]`,
		"tools: [a-b] {any: true}":                       "tools: [a-b] {any: true}",
		"tools: a-b {any: true, for: [s]}":               "tools: [a-b] {any: true, for: [s]}",
		"deny: tools: a-b {any: true}":                   "",
		"tools: []":                                      "",
		"tools: [[a]]":                                   "",
		"tools: a b":                                     "",
		"tools: {a-b: x}":                                "",
		"tools: {a-b: {x: [1]}}":                         "",
		`tools: {a-b: {x: "{args.y}z"}}`:                 "",
		`tools: {a-b: {x: "{args.y:url}"}}`:              "",
	} {
		g, err := grant.ParseLine(line)
		switch {
		case (err != nil) != (want == ""):
			t.Errorf("%s: %s, %v", line, g, err)
		case err == nil && g.String() != want:
			t.Errorf("%s: got %s, want %s", line, g, want)
		}
	}
}

func TestSet_Tool_comparesArguments(t *testing.T) {
	s := mustSet(t, `tools: [time-now, {forge-get: {owner: "{args.owner}", kind: issue}}]`, "tools: free-all {any: true}", "deny: tools: free-none",
		"tools: {free-some: {path: a}} {any: true}", "tools: free-but {any: true}", "deny: tools: {free-but: {path: a}}")
	bound := s.Bind(call(map[string][]string{"owner": {"me"}}))
	for _, tt := range []struct {
		name string
		args map[string]string
		want bool
	}{
		{"time-now", nil, true},
		{"time-now", map[string]string{"zone": "UTC"}, false},
		{"time-later", nil, false},
		{"forge-get", map[string]string{"owner": "me", "kind": "issue"}, true},
		{"forge-get", map[string]string{"owner": "me"}, false},
		{"forge-get", map[string]string{"kind": "issue"}, false},
		{"forge-get", nil, false},
		{"forge-get", map[string]string{"owner": "me", "kind": "issue", "Kind": "pull"}, false},
		{"free-some", map[string]string{"path": "a"}, true},
		{"free-some", map[string]string{"path": "a", "x": "y"}, true},
		{"free-some", map[string]string{"x": "y"}, false},
		{"free-some", map[string]string{"path": "a", "Path": "b"}, false},
		{"free-but", nil, false},
		{"free-but", map[string]string{"x": "y"}, false},
		{"free-but", map[string]string{"path": "b"}, true},
		{"free-but", map[string]string{"path": "a"}, false},
		{"free-but", map[string]string{"path": "a", "x": "y"}, false},
		{"free-but", map[string]string{"path": grant.Structured}, false},
		{"forge-get", map[string]string{"owner": "you"}, false},
		{"forge-get", map[string]string{"owner": "me", "repo": "x"}, false},
		{"forge-get", map[string]string{"owner": grant.Structured}, false},
		{"free-all", map[string]string{"x": grant.Structured}, true},
	} {
		d := bound.Tool(tt.name, tt.args)
		if d.Allowed != tt.want {
			t.Errorf("%s %v is %v", tt.name, tt.args, d.Allowed)
		}
		if tt.args["owner"] == grant.Structured && d.Suggest != "" {
			t.Errorf("suggests %s", d.Suggest)
		} else if !tt.want && d.Grant == nil && d.Suggest != "" && !mustSet(t, d.Suggest).Tool(tt.name, tt.args).Allowed {
			t.Errorf("%s does not allow it", d.Suggest)
		}
	}
	for value, want := range map[string]bool{
		"A": false, "a/": false, "./a": false, "b/../a": false, "a/.": false, "//a": false, "%61": false, "%2561": false, " a ": false, "a\n": false, "a\x00": false, "a\u200b": false, "\ufeffa": false, "\xada": false, "a\u00ad": false, "á": false, "ａ": false,
		"a::$DATA": false, "a.": false, "a;x": false, "a\\": false, ".\\a": false, strings.Repeat("x", 20000): false, "b": true, "ab": true, "a/b": true, "b/a": true, "": true, "a.b": true, "а": true, "новости": true, "a b": true,
	} {
		if s.Tool("free-but", map[string]string{"path": value}).Allowed != want {
			t.Errorf("free-but with path %.40q is allowed: %v", value, !want)
		}
	}
	numbers := mustSet(t, "tools: free-but {any: true}", "deny: tools: {free-but: {id: 7}}")
	for value, want := range map[string]bool{"7": false, "07": false, "+7": false, " 7": false, "7.0": false, "7e0": false, "٧": false, "７": false, "0x7p0": false, "70": true, "8": true, "-7": true, "x": true} {
		if numbers.Tool("free-but", map[string]string{"id": value}).Allowed != want {
			t.Errorf("free-but with id %q is allowed: %v", value, !want)
		}
	}
	if s.Bind(call(nil)).Tool("forge-get", nil).Allowed {
		t.Error("a line without its value allows")
	}
}
