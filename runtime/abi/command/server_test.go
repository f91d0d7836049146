package command

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestParse_commandLineOfAServer(t *testing.T) {
	p, err := Parse([]byte(`{"server":{"args":["stdio","--x={{y}}","-"],"env":{"HOST":"a {{b}}","TOKEN":"{secret.my.key-1}","TERM":"xterm"}},"program":"github","wants":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	l, ok := p.Server()
	if want := []string{"github", "stdio", "--x={y}", "-"}; !ok || !slices.Equal(l.Args, want) {
		t.Errorf("got %q, %v, want %q", l.Args, ok, want)
	}
	if want := []string{"HOST=a {b}", "TERM=xterm", "NO_COLOR=1"}; !slices.Equal(l.Env, want) {
		t.Errorf("got variables %q, want %q", l.Env, want)
	}
	if want := map[string]string{"TOKEN": "my.key-1"}; !maps.Equal(l.Secrets, want) {
		t.Errorf("got secrets %q, want %q", l.Secrets, want)
	}
	if got := string(p.Manifest()); !strings.Contains(got, `"program":"github"`) || strings.Contains(got, "tools") {
		t.Errorf("got manifest %s, want the command line and no tools", got)
	}
	if _, ok := oneTool(t, `"args":[]`).Server(); ok {
		t.Error("a file with tools: got a server, want none")
	}
}

func TestParse_refusesABadServer(t *testing.T) {
	for text, want := range map[string]string{
		`{"server":{},"tools":[{"name":"a"}]}`:                            `/server: a file has tools or a server, not both`,
		`{"server":["stdio"]}`:                                            `/server: a server has keys and values`,
		`{"server":null}`:                                                 `/server: a server has keys and values`,
		`{"sever":{}}`:                                                    `/sever: unknown key "sever"; did you mean "server"?`,
		`{"server":{"arg":[]}}`:                                           `/server/arg: unknown key "arg"; did you mean "args"?`,
		`{"server":{"stdin":"x"}}`:                                        `/server/stdin: unknown key "stdin"`,
		`{"server":{"args":"stdio"}}`:                                     `/server/args: args is a list`,
		`{"server":{"args":[1]}}`:                                         `/server/args/0: this is a text`,
		`{"server":{"args":["a","{x}"]}}`:                                 `/server/args/1: an argument of a server is a text: a brace in it is doubled`,
		`{"server":{"args":["{secret.x}"]}}`:                              `/server/args/0: a secret is no argument: write it into env`,
		`{"server":{"env":{"A":"{x}"}}}`:                                  `/server/env/A: a server has no arguments of a caller: write a text, or a secret as {secret.NAME}`,
		`{"server":{"env":{"A":"{secret.}"}}}`:                            `/server/env/A: "" is no name of a secret`,
		`{"server":{"env":{"A":"{secret.a/b}"}}}`:                         `/server/env/A: "a/b" is no name of a secret`,
		`{"server":{"env":{"A":"x {secret.a}"}}}`:                         `/server/env/A: a brace that is text is doubled`,
		`{"server":{"env":{"PWD":"x"}}}`:                                  `/server/env/PWD: "PWD" is no name of a variable`,
		`{"server":{"env":{"A":"x","A":"y"}}}`:                            `the key`,
		`{"server":{"args":["a\u0000"]}}`:                                 `/server/args/0: a NUL byte cannot be passed to a program`,
		`{"server":{"args":["` + strings.Repeat(`x","`, maxArgs) + `"]}}`: `/server/args: args has over 512 entries`,
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: got %v, want %s", text, err, want)
		}
	}
}

func TestLaunch_namesTheSecretsOfATool(t *testing.T) {
	p := oneTool(t, `"env":{"TOKEN":"{secret.KEY}","LANG":"C"}`)
	var got launched
	if _, err := p.launch(t.Context(), &got, p.tools["run"], nil, nil, nil, false); err != nil {
		t.Fatal(err)
	}
	if want := map[string]string{"TOKEN": "KEY"}; !maps.Equal(got.secrets, want) {
		t.Errorf("got %q, want %q", got.secrets, want)
	}
	if want := []string{"LANG=C", "NO_COLOR=1", "TERM=dumb"}; !slices.Equal(got.env, want) {
		t.Errorf("got %q, want %q", got.env, want)
	}
}
