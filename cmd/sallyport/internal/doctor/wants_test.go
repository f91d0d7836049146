package doctor

import (
	"context"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/registry"
)

// wanting returns the status of a serving plugin with wants.
func wanting(name string, wants ...string) registry.Status {
	p := registry.Status{Name: name, File: name + ".wasm", State: registry.StateLoaded, Digest: "sha256:0123456789abcdef"}
	for _, w := range wants {
		line, err := grant.ParseLine(w)
		if err != nil {
			panic(err)
		}
		p.Wants = append(p.Wants, line.String())
	}
	return p
}

func TestExamine_namesEachUnmetWant(t *testing.T) {
	const page = "net: GET https://a.example/**"
	for name, c := range map[string]struct {
		config string
		want   string
		others []registry.Status
		level  Level
		text   string
		next   string // its beginning
	}{
		"no grant":          {"", page, nil, Warning, "it wants " + page + ", which no grant allows", "sallyport grant a '" + page + "' --config "},
		"a ceiling":         {"max_grants: [kv: 1MiB]", page, nil, Warning, "it wants " + page + ", which max_grants do not reach", "write the line into max_grants in "},
		"a part":            {"plugins: {a: {grants: ['net: GET https://a.example/v1']}}", page, nil, Note, "of which the grants allow a part", "sallyport grant a '" + page + "'"},
		"a denial":          {"plugins: {a: {grants: ['deny: " + page + "']}}", page, nil, Note, "of which deny: " + page + " denies a part (line 1)", ""},
		"no workspace":      {"", "fs: read {workspace}/**", nil, Warning, "it wants fs: read {workspace}/**, and there is no workspace", "write workspace: FOLDER into "},
		"a config value":    {"plugins: {a: {grants: ['config: {lang: en}']}}", `config: {lang: en, api: ""}`, nil, Warning, `it wants config: {api: ""}, which no grant allows`, "sallyport grant a 'config: {api: VALUE}'"},
		"a proposed value":  {"", "config: {lang: en}", nil, Note, "it proposes config: {lang: en}, which no grant sets", "sallyport grant a 'config: {lang: en}'"},
		"a secret":          {"", "secret: KEY {to: https://a.example/**}", nil, Warning, "it wants secret: KEY {", "sallyport grant a 'secret: KEY {to: [\"GET https://a.example/**\"]}'"},
		"a tool of nobody":  {"plugins: {a: {grants: ['tools: b-get']}}", "tools: b-get", nil, Warning, "it wants the tool b-get, which no plugin of this folder publishes", "sallyport add SOURCE"},
		"a held tool":       {"", "tools: b-get", []registry.Status{{Name: "b", File: "b.wasm", State: registry.StateHeld}}, Warning, "it wants the tool b-get, and the plugin b is held", "sallyport approve b"},
		"an absent tool":    {"", "tools: b-get", []registry.Status{{Name: "b", File: "/p/b.wasm", State: registry.StateLoaded}}, Warning, "which the plugin b (loaded) does not publish", "sallyport inspect /p/b.wasm"},
		"a tool, no grant":  {"", "tools: [time-now, time-parse]", nil, Warning, "it wants tools: [time-parse], which no grant allows", "sallyport grant a 'tools: [time-parse]'"},
		"a tool of a grant": {"plugins: {a: {grants: ['tools: b-get']}}", "kv: 1MiB", nil, Warning, "its grants allow the tool b-get, which no plugin of this folder publishes", "sallyport add SOURCE"},
		"the model":         {"", "sampling", nil, Warning, "it wants sampling", "sallyport grant a 'sampling: "},
		"nothing else":      {"plugins: {a: {grants: ['" + page + "']}}", page, nil, OK, "granted", ""},
	} {
		t.Run(name, func(t *testing.T) {
			i := installed(t, c.config)
			all := append(c.others, wanting("a", c.want))
			i.Load = func(context.Context) (Folder, error) { return Folder{all, []string{"time-now", "time-parse"}}, nil }
			r := Examine(t.Context(), i.Subject)
			for _, f := range r.Findings {
				if f.Level == c.level && strings.HasPrefix(f.Topic, "plugins.a.") && strings.Contains(f.Text, c.text) && strings.HasPrefix(f.Next, c.next) {
					return
				}
			}
			t.Errorf("got %+v, want %s %q, next %q", r.Findings, c.level, c.text, c.next)
		})
	}
}

// The variables of a tool file are wants too: a secret that no line grants is named with its variable.
func TestExamine_namesVariablesWithoutTheirSecret(t *testing.T) {
	for config, want := range map[string]string{
		"": "its variable TOKEN is the secret KEY, which no grant allows",
		"plugins: {a: {grants: ['secret: KEY {to: https://a.example/**}']}}": "granted",
		"plugins: {a: {grants: ['config: {TOKEN: plain}']}}":                 "granted",
	} {
		i := installed(t, config)
		p := wanting("a")
		p.Variables = map[string]string{"TOKEN": "KEY"}
		i.Load = statuses(p)
		r, got := Examine(t.Context(), i.Subject), ""
		for _, f := range r.Findings {
			if f.Topic == "plugins.a.wants" {
				got += f.Text
			}
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", config, got, want)
		}
	}
}
