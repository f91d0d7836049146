//go:build unix

package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// wanting copies a packed plugin into a folder, with other wants.
func wanting(t *testing.T, from, dir, wants string) {
	t.Helper()
	wasm, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	b, err := wasmbin.Read(wasm)
	if err != nil {
		t.Fatal(err)
	}
	packed, _ := b.CustomSection(wasmbin.ManifestSection)
	var m map[string]json.RawMessage
	err = json.Unmarshal(packed, &m)
	m["wants"] = json.RawMessage(wants)
	packed, again := json.Marshal(m)
	wasm, set := wasmbin.SetCustomSection(wasm, wasmbin.ManifestSection, packed)
	if err := errors.Join(err, again, set); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, filepath.Base(from)), wasm)
}

// unmet returns the findings of doctor about wants and secrets that are no "ok", as "TOPIC: TEXT", with their commands.
func (a *added) unmet() map[string]string {
	a.t.Helper()
	out, _ := a.program("doctor", a.dir, "--json").Output() // exit code 1: a problem of this machine
	var report struct {
		Findings []struct{ Level, Topic, Text, Next string }
	}
	if err := json.Unmarshal(out, &report); err != nil {
		a.t.Fatalf("doctor: got %s, %v, want JSON", out, err)
	}
	found := map[string]string{}
	for _, f := range report.Findings {
		if f.Level != "ok" && (strings.HasPrefix(f.Topic, "plugins.") || strings.HasPrefix(f.Topic, "secret ")) {
			found[f.Topic+": "+f.Text] = f.Next
		}
	}
	return found
}

// grantLine matches a command that adds a grant: the plugin and the line, as the shell has it.
var grantLine = regexp.MustCompile(`^sallyport grant (\w+) '([^']*)' --config ~/sallyport.yaml --state ~/state`)

// Each kind of plugins names its wants, inspect prints them, doctor compares them with the grants before the first
// call, and the command of each finding meets the want.
func TestChallenge20_dependencies(t *testing.T) {
	web, _ := webSite(t)
	a := newAdded(t)
	a.dir = badServer(t, "")
	wanting(t, bundled(t, "fetch"), a.dir, `[{"net":"GET `+web.URL+`/**"},{"config":{"lang":"en","region":""}},
		{"secret":"FETCH_KEY","to":"`+web.URL+`/**"},{"config":{"key":{"secret":"FETCH_KEY"}}},{"tools":["time-now","gone-get"]}]`)
	for _, file := range []string{bundled(t, "time"), bundled(t, "gojq"), extismGuest(t, "vowels")} {
		wasm, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(a.dir, filepath.Base(file)), wasm)
	}
	for name, text := range map[string]string{
		"script.ts": `import { tool, want } from "sallyport";
want("fs", "read ~/notes/**", "reads notes");
tool("say", "Says a text.", {}, () => "hello");`,
		"gojq.tool.yaml":   "wants: [{kv: 1MiB}]\ntools:\n  - name: version\n    description: Prints the version.\n    args: [--version]\n    env: {TOKEN: '{secret.JQ_TOKEN}'}\n",
		"server.tool.yaml": "wants: [{net: 'GET https://forge.example/**'}]\nserver:\n  env: {FORGE_TOKEN: '{secret.FORGE_TOKEN}'}\n",
		"letters.json":     `{"wasm":[{"path":"vowels.wasm"}],"allowed_hosts":["letters.example"]}`,
	} {
		put(t, filepath.Join(a.dir, name), []byte(text))
	}
	for file, lines := range map[string][]string{
		"fetch.wasm":       {"- net: GET " + web.URL + "/**", `- config: {"lang":"en","region":""}`, "- secret: FETCH_KEY", "- tools: "},
		"script.ts":        {"- fs: read ~/notes/**"},
		"gojq.tool.yaml":   {"- secret: JQ_TOKEN {to: …}", "# the variable TOKEN", "- kv: 1MiB"},
		"server.tool.yaml": {"- secret: FORGE_TOKEN {to: …}", "- net: GET https://forge.example/**"},
		"letters.json":     {"letters.example"},
	} {
		out, err := a.program("inspect", filepath.Join(a.dir, file)).CombinedOutput()
		for _, want := range lines {
			if err != nil || !strings.Contains(string(out), want) {
				t.Errorf("inspect %s: got %v, want %q in it:\n%s", file, err, want, out)
			}
		}
	}

	found := a.unmet()
	for _, want := range []string{
		"plugins.fetch.wants: it wants net: GET " + web.URL + "/**, which no grant allows",
		"plugins.fetch.wants: it proposes config: {lang: en}, which no grant sets",
		`plugins.fetch.wants: it wants config: {region: ""}, which no grant allows`,
		`plugins.fetch.wants: it wants secret: FETCH_KEY {to: ["GET ` + web.URL + `/**"]}, which no grant allows`,
		"plugins.fetch.wants: it wants config: {key: {secret: FETCH_KEY}}, which no grant allows",
		"plugins.fetch.wants: it wants tools: [time-now], which no grant allows",
		"plugins.fetch.wants: it wants the tool gone-get, which no plugin of this folder publishes",
		"plugins.script.wants: it wants fs: read ~/notes/**, which no grant allows",
		"plugins.gojq.wants: it wants kv: 1MiB, which no grant allows",
		"plugins.gojq.wants: its variable TOKEN is the secret JQ_TOKEN, which no grant allows",
		"plugins.server.wants: it wants net: GET https://forge.example/**, which no grant allows",
		"plugins.server.wants: its variable FORGE_TOKEN is the secret FORGE_TOKEN, which no grant allows",
		"plugins.letters.wants: it wants net: ",
	} {
		here := false
		for text := range found {
			here = here || strings.HasPrefix(text, want)
		}
		if !here {
			t.Errorf("doctor: got %q, want a finding %q", found, want)
		}
	}

	plugins, value := map[string][]string{}, strings.NewReplacer("VALUE", "north", "HOST", "host.example")
	for text, command := range found {
		if m := grantLine.FindStringSubmatch(command); m != nil {
			plugins[m[1]] = append(plugins[m[1]], value.Replace(m[2]))
		} else if !strings.Contains(text, "gone-get") {
			t.Errorf("doctor: %s: got the command %q, want one that grants it", text, command)
		}
	}
	config := "plugins:\n"
	for name, lines := range plugins {
		config += "  " + name + ": {grants: ['" + strings.Join(lines, "', '") + "']}\n"
	}
	put(t, filepath.Join(a.home, "sallyport.yaml"), []byte(config))
	found = a.unmet()
	for name, user := range map[string]string{"FETCH_KEY": "fetch", "FORGE_TOKEN": "server", "JQ_TOKEN": "gojq"} {
		text, want := "secret "+name+": "+user+" uses it: it has no value", "sallyport secret set "+name+" --config ~/sallyport.yaml --state ~/state"
		if got := found[text]; got != want {
			t.Errorf("%s: got the command %q, want %q", text, got, want)
		}
		t.Setenv(name, "value-of-a-secret")
	}
	found = a.unmet()
	for text, line := range found {
		if len(found) != 1 || !strings.Contains(text, "gone-get") || line == "" {
			t.Errorf("after the commands: got %q, want only the tool of no plugin", found)
			break
		}
	}
	if out, err := a.program("compile", a.dir).CombinedOutput(); err != nil {
		t.Fatalf("compile: got %v: %s", err, out)
	}
	s := session(t, commandTransport(a.program("serve", a.dir)), nil)
	if got := text(call(t, s, "fetch-fetch", map[string]any{"url": web.URL + "/a"})); !strings.Contains(got, "page /a") {
		t.Errorf("the first call: got %q, want page /a", got)
	}
}
