package grant_test

import (
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
)

func TestSet_Coverage_comparesWantsWithLines(t *testing.T) {
	const none, part, all = "none", "part", "all"
	for _, tt := range []struct {
		want string
		set  []string
		is   string
	}{
		{"net: GET https://a.example/**", nil, none},
		{"net: GET https://a.example/**", []string{"net: GET https://a.example/**"}, all},
		{"net: GET https://a.example/**", []string{"net: GET https://**"}, all},
		{"net: GET https://a.example/**", []string{"net: GET,POST https://*.example/**"}, all},
		{"net: GET https://a.example/**", []string{"net: GET https://a.example/** {ask: true}"}, all},
		{"net: GET https://a.example/**", []string{"net: GET https://a.example/v1/**"}, part},
		{"net: GET https://a.example/**", []string{"net: GET https://a.example/?q=1"}, part},
		{"net: GET https://a.example/**", []string{"net: GET https://a.example/** {for: [x]}"}, part},
		{"net: GET https://a.example/**", []string{"net: GET https://a.example/{args.id}"}, part},
		{"net: GET,POST https://a.example/**", []string{"net: GET https://a.example/**"}, part},
		{"net: GET https://a.example/**", []string{"net: POST https://a.example/**"}, none},
		{"net: GET https://a.example/**", []string{"net: GET https://b.example/**"}, none},
		{"net: GET https://a.example/** {for: [x]}", []string{"net: GET https://a.example/** {for: [x]}"}, all},
		{"net: GET https://a.example/** {for: [x]}", []string{"net: GET https://a.example/** {for: [y]}"}, none},
		{"net: GET https://a.example/** {for: [x]}", []string{"net: GET https://a.example/v1"}, part},
		{"net: GET {args.url:url}", []string{"net: GET {args.url:url}"}, all},
		{"net: GET {args.url:url}", []string{"net: GET https://**"}, all},
		{"net: GET {args.url:url}", []string{`net: GET {args.url:url} {within: ["https://a.example/**"]}`}, part},
		{"net: GET https://{args.site:host}/**", []string{"net: GET https://{args.site:host}/**"}, all},
		{"net: GET https://{args.site:host}/**", []string{"net: GET https://a.example/**"}, none},
		{"net: GET http://localhost:8080/{args.id}", []string{"net: GET http://localhost:8080/**"}, all},
		{"fs: read ~/notes/**", []string{"fs: read ~/notes/**"}, all},
		{"fs: read ~/notes/**", []string{"fs: write ~/**"}, all},
		{"fs: write ~/notes/**", []string{"fs: read ~/notes/**"}, part},
		{"fs: read ~/notes/**", []string{"fs: read ~/notes/a"}, part},
		{"fs: read ~/notes/**", []string{"fs: read /data/**"}, none},
		{"fs: read ~/{args.dir:path}/**", []string{"fs: read ~/**"}, all},
		{"fs: read {roots}/** {within: [~/work]}", []string{"fs: read {roots}/** {within: [~/work]}"}, all},
		{"fs: read {roots}/** {within: [~/work]}", []string{"fs: read {roots}/** {within: [/data]}"}, none},
		{"fs: read {workspace}/**", []string{"fs: read {workspace}/**"}, all},
		{"fs: read {workspace}/**", []string{"fs: read ~/**"}, none},
		{"tools: time-now", []string{"tools: [time-now, time-parse]"}, all},
		{"tools: {a-get: {owner: me}}", []string{"tools: {a-get: {owner: me}}"}, all},
		{"tools: {a-get: {owner: me}}", []string{"tools: a-get {any: true}"}, all},
		{"tools: a-get {any: true}", []string{"tools: {a-get: {owner: me}}"}, part},
		{`tools: {a-get: {owner: "{args.owner}"}}`, []string{`tools: {a-get: {owner: "{args.owner}"}}`}, all},
		{"tools: a-get", []string{"tools: b-get"}, none},
		{"kv: 16MiB", []string{"kv: 16MiB"}, all},
		{"kv: 16MiB", []string{"kv: 1MiB"}, part},
		{"sampling: {calls: 2, tokens: 100}", []string{"sampling"}, all},
		{"sampling", []string{"sampling: {calls: 1, tokens: 100}"}, part},
		{"roots", []string{"roots"}, all},
		{"roots", nil, none},
		{"elicitation", []string{"elicitation"}, all},
		{"elicitation", []string{"elicitation: {url: https://a.example/**}"}, none},
		{"elicitation: {url: https://a.example/**}", []string{"elicitation: {url: https://a.example/**}"}, all},
		{"config: {lang: en}", []string{"config: {lang: de}"}, all},
		{"config: {lang: en}", []string{"config: {language: en}"}, none},
		{"secret: T {to: https://a.example/**}", []string{"secret: T {to: https://a.example/**}"}, all},
		{"secret: T {to: https://a.example/**}", []string{`secret: T {to: https://a.example/**, as: "X: {secret}"}`}, all},
		{"secret: T {to: https://a.example/**}", []string{"secret: T {to: https://a.example/v1}"}, part},
		{"secret: T {to: https://a.example/**}", []string{"secret: U {to: https://a.example/**}"}, none},
		{"secret: T {reveal: true}", []string{"secret: T {to: https://a.example/**}"}, none},
	} {
		line, err := grant.ParseLine(tt.want)
		if err != nil {
			t.Fatal(tt.want, err)
		}
		c, is := mustSet(t, tt.set...).Coverage(line, grant.Places{Home: "/home/me"}), none
		switch {
		case c.All:
			is = all
		case c.Some:
			is = part
		}
		if is != tt.is {
			t.Errorf("%s with %q: got %s, want %s", tt.want, tt.set, is, tt.is)
		}
	}
}

func TestSet_Coverage_namesTheLimit(t *testing.T) {
	want, err := grant.ParseLine("net: GET https://a.example/**")
	if err != nil {
		t.Fatal(err)
	}
	places := grant.Places{Home: "/home/me"}
	if c := mustSet(t, "net: GET https://a.example/**", "deny: net: GET https://a.example/**").Coverage(want, places); c.All || c.Deny == nil {
		t.Errorf("denied: got %+v, want a deny line", c)
	}
	under := mustSet(t, "net: GET https://a.example/**").Under(mustSet(t, "net: GET https://b.example/**"))
	if c := under.Coverage(want, places); c.All || c.Some || !c.Beyond {
		t.Errorf("under a ceiling: got %+v, want it beyond the ceiling", c)
	}
}

func TestGrant_Parts_areLinesOfTheirOwn(t *testing.T) {
	for line, want := range map[string][]string{
		"tools: [time-now, {a-get: {owner: me}}]":             {"tools: [time-now]", "tools: [{a-get: {owner: me}}]"},
		"config: {b: 2, a: 1}":                                {"config: {a: 1}", "config: {b: 2}"},
		"net: GET,POST https://a.example/** {for: [x]}":       {"net: GET,POST https://a.example/** {for: [x]}"},
		"tools: [time-now, time-parse] {any: true, for: [x]}": {"tools: [time-now] {any: true, for: [x]}", "tools: [time-parse] {any: true, for: [x]}"},
	} {
		g, err := grant.ParseLine(line)
		if err != nil {
			t.Fatal(line, err)
		}
		var got []string
		for _, part := range g.Parts() {
			got = append(got, part.String())
			if _, err := grant.ParseLine(part.String()); err != nil {
				t.Errorf("%s: got part %s, which is no line: %v", line, part, err)
			}
		}
		if len(got) != len(want) || got[0] != want[0] || got[len(got)-1] != want[len(want)-1] {
			t.Errorf("%s: got parts %q, want %q", line, got, want)
		}
	}
}
