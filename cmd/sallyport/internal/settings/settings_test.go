package settings

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
)

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "sallyport.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestLoad_strongestSourceWins(t *testing.T) {
	file := write(t, "http:\n  addr: 127.0.0.1:1\n  path: /file\n  rate: 7\nlog:\n  level: warn\n")
	t.Setenv("SALLYPORT_HTTP_ADDR", "127.0.0.1:2")
	t.Setenv("SALLYPORT_HTTP_PATH", "/env")
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.String("http", "", "")
	if err := flags.Parse([]string{"--http", "127.0.0.1:3"}); err != nil {
		t.Fatal(err)
	}
	s, err := Load(Options{File: file, Flags: flags})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"http.addr":       "127.0.0.1:3 flag --http",
		"http.path":       "/env variable SALLYPORT_HTTP_PATH",
		"http.rate":       "7 file " + file + ":4",
		"log.level":       "warn file " + file + ":6",
		"limits.memory":   "64MiB default ",
		"http.no_token":   "false default ",
		"limits.deadline": "30s default ",
	}
	for _, v := range s.All() {
		if w, ok := want[v.Key.Name]; ok && v.Text+" "+string(v.Source)+" "+v.Where != w {
			t.Errorf("%s: got %s %s %s, want %s", v.Key.Name, v.Text, v.Source, v.Where, w)
		}
	}
	if got := s.Text("dir"); got != filepath.Join(filepath.Dir(file), "plugins") {
		t.Errorf("dir: got %s, want plugins beside the file", got)
	}
}

func TestLoad_ceilingsAndWorkspaces(t *testing.T) {
	file := write(t, `workspace: /srv/all
max_grants: [net: "GET https://**"]
plugins:
  a:
    workspace: /srv/a
    max_grants: ["net: GET https://a.example/**"]
    grants: ["net: GET,POST https://**", "fs: read {workspace}/**"]
  b:
    grants: ["fs: read {workspace}/**"]
`)
	s, err := Load(Options{File: file})
	if err != nil {
		t.Fatal(err)
	}
	if s.Plugins[0].Workspace != "/srv/a" || s.Plugins[1].Workspace != "/srv/all" {
		t.Errorf("got workspaces %q, %q, want /srv/a, /srv/all", s.Plugins[0].Workspace, s.Plugins[1].Workspace)
	}
	for raw, want := range map[string][2]bool{"https://a.example/x": {true, false}, "https://b.example/x": {false, false}} {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		for i, method := range []string{"GET", "POST"} {
			if d := s.Plugins[0].Grants.Net(method, u); d.Allowed != want[i] {
				t.Errorf("%s %s: got allowed %v, want %v", method, raw, d.Allowed, want[i])
			}
		}
	}
	if d := s.Plugins[1].Grants.At("b", "/srv/all").Files(grant.Places{}).Decide(grant.Read, "/srv/all/x"); d.Allowed || !d.Beyond {
		t.Errorf("a file beyond max_grants: got %+v, want it refused as beyond", d)
	}
}

func TestLoad_errorsNameFileAndLine(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"misspelt key", "http:\n  adr: x\n", `:2: unknown key "http.adr"; did you mean http.addr?`},
		{"misspelt top key", "plugin: {}\n", `:1: unknown key "plugin"; did you mean plugins?`},
		{"misspelt plugin key", "plugins:\n  a:\n    sorce: x\n", `:3: unknown key "sorce" in plugin a; did you mean source?`},
		{"key of another case", "Locked: true\n", `:1: unknown key "Locked"; did you mean locked?`},
		{"unknown key", "http:\n  certificate: x\n", `:2: unknown key "http.certificate"; known are http.addr, http.path`},
		{"unknown top key", "tools: {}\n", `:1: unknown key "tools"; known are plugins, max_grants, sources, auth, groups, quotas, dir, state, store, lock, locked, state_keys, trusted_root, workspace, indexes, search, http, admin, telemetry, receipt, trace, ask, elicitation, console, audit, log, limits`},
		{"ungrouped key", "addr: x\n", `:1: unknown key "addr"; known are http.addr`},
		{"twice", "log:\n  level: info\n  level: warn\n", `:3: key "level" is already on line 2`},
		{"no workspace", "plugins:\n  a:\n    grants:\n      - fs: read {workspace}/**\n", ":4: {workspace} stands for nothing: write workspace: ~/work, for all plugins or for this one"},
		{"no workspace for a ceiling", "plugins:\n  a:\n    max_grants:\n      - fs: read {workspace}/**\n", ":4: {workspace} stands for nothing: write workspace: ~/work, for all plugins or for this one"},
		{"ceiling with a value", "max_grants:\n  - net: GET https://{args.x}.example/\n", ":2: max_grants holds for every call: write the value itself in place of braces"},
		{"ceiling that asks", "max_grants:\n  - {net: 'GET https://a.example/**', ask: true}\n", ":2: max_grants is a ceiling and takes no ask: write ask on a line of the plugin's grants"},
		{"plugin's ceiling that asks", "plugins:\n  a:\n    max_grants:\n      - fs: read ~/x\n        ask: true\n", ":4: max_grants is a ceiling and takes no ask: write ask on a line of the plugin's grants"},
		{"anchor", "dir: &a x\nstate: *a\n", ":1: anchors and aliases are not read here; write the value out"},
		{"tag", "dir: !!binary aGk=\n", ":1: tags are not read here; remove !!binary"},
		{"merge", "<<: {}\n", ":1: a key must be plain text"},
		{"tab", "http:\n\taddr: x\n", ":2: a tab begins this line: YAML wants blanks"},
		{"value of a list", "dir: [a]\n", ":1: dir: want one value"},
		{"syntax", "\ndir: a: b\n", ":2: mapping values are not allowed in this context: put a text with \": \" in it into quotes"},
		{"text behind the end", "dir: a\n...\n]\n", ":3: did not find expected <document start>"},
		{"two documents", "dir: a\n---\ndir: b\n", ": holds more than one document"},
		{"a list", "- a\n", ":1: want keys and values at the top level"},
		{"bad size", "limits:\n  memory: lots\n", `:2: limits.memory: "lots" is not a size: write such as 64KiB`},
		{"bad count", "limits: {concurrency: 0}\n", `:1: limits.concurrency: "0" is not a whole number above zero`},
		{"bad bool", "http: {no_token: yes}\n", `:1: http.no_token: "yes" is neither true nor false`},
		{"plugin name", "plugins:\n  a-b: {}\n", `:2: plugin name "a-b": use letters, digits and single underscores between them`},
		{"reserved", "plugins:\n  Sallyport: {}\n", `:2: plugin name "Sallyport" is the host's own`},
		{"long", "plugins:\n  " + strings.Repeat("a", 41) + ": {}\n", `:2: plugin name "` + strings.Repeat("a", 41) + `" is over 40 characters`},
		{"plugin key", "plugins:\n  a:\n    allowed_hosts: x\n", `:3: unknown key "allowed_hosts" in plugin a; known are source, digest, disabled, prefix, publish, callers, limits, state, clock, random, learn, record, updates, dev, workspace, grants, max_grants`},
		{"plugin limit", "plugins:\n  a:\n    limits: {memory: 1MiB, fuel: 2}\n", `:3: unknown key "fuel" in a.limits; known are memory, deadline, task, output, concurrency`},
		{"state", "plugins:\n  a: {state: forever}\n", `:2: a.state: "forever" is none of call, fresh, session, plugin`},
		{"clock", "plugins:\n  a: {clock: slow}\n", `:2: a.clock: "slow" is none of real, frozen`},
		{"random", "plugins:\n  a: {random: 4}\n", `:2: a.random: "4" is none of real, seeded`},
		{"deep", "dir: " + strings.Repeat("[", 40) + strings.Repeat("]", 40) + "\n", ":1: nested deeper than 32"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := write(t, c.text)
			_, err := Load(Options{File: file})
			if err == nil || !strings.HasPrefix(err.Error(), file+c.want) {
				t.Errorf("got  %v\nwant %s%s", err, file, c.want)
			}
		})
	}
}

func TestLoad_variableAndFlagErrorsNameTheirSource(t *testing.T) {
	t.Setenv("SALLYPORT_LIMITS_DEADLINE", "soon")
	_, err := Load(Options{File: write(t, "")})
	want := `SALLYPORT_LIMITS_DEADLINE: "soon" is not a duration; write one such as 30s`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestLoad_refusesANamedFileThatIsMissing(t *testing.T) {
	if _, err := Load(Options{File: filepath.Join(t.TempDir(), "none.yaml")}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want %v", err, os.ErrNotExist)
	}
}

func TestLoad_usesDefaultsWithoutAFile(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("XDG_STATE_HOME", home)
	s, err := Load(Options{Dir: "here"})
	if err != nil {
		t.Fatal(err)
	}
	wd, _ := os.Getwd()
	if got := s.Text("dir"); got != filepath.Join(wd, "here") {
		t.Errorf("dir: got %s, want %s", got, filepath.Join(wd, "here"))
	}
}

func TestLoad_sourcesAreRelativeToTheFile(t *testing.T) {
	t.Setenv("HOME", "/home/me")
	file := write(t, "plugins:\n  a: {source: sub/a.wasm}\n  b: {source: ~/b.wasm}\n  c: {}\n  d: {source: /d.wasm}\n")
	s, err := Load(Options{File: file})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{filepath.Join(filepath.Dir(file), "sub", "a.wasm"), "/home/me/b.wasm", "", "/d.wasm"}
	for i, p := range s.Plugins {
		if p.Source != want[i] {
			t.Errorf("%s: got %s, want %s", p.Name, p.Source, want[i])
		}
	}
}
