package grant_test

import (
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
)

func TestSecret_formatsCanonically(t *testing.T) {
	for line, want := range map[string]string{
		`secret: T {to: https://a.example, as: "Authorization: Bearer {secret}"}`:                  `secret: T {as: "Authorization: Bearer {secret}", to: ["GET https://a.example/"]}`,
		`secret: T {to: ["POST,GET https://a.example/**", "https://b.example/"], from: env OTHER}`: `secret: T {from: "env OTHER", to: ["GET,POST https://a.example/**", "GET https://b.example/"]}`,
		`secret: T {to: https://a.example/**, as: "?key={secret}", from: "keyring svc/me"}`:        `secret: T {as: "?key={secret}", from: "keyring svc/me", to: ["GET https://a.example/**"]}`,
		`secret: T {reveal: true, from: "file ~/x"}`:                                               `secret: T {from: "file ~/x", reveal: true}`,
	} {
		g, err := grant.ParseLine(line)
		if err != nil || g.String() != want {
			t.Errorf("%s\n got %s, %v\nwant %s", line, g, err, want)
			continue
		}
		if again, err := grant.ParseLine(g.String()); err != nil || again.String() != want {
			t.Errorf("%s became %s, %v", want, again, err)
		}
	}
}

func TestSecret_explainsErrors(t *testing.T) {
	const as = `as says where the value goes: write such as as: "Authorization: Bearer {secret}" or as: "?key={secret}"`
	for line, want := range map[string]string{
		`secret: T`:                                        `a secret goes somewhere: write such as "secret: T {to: https://api.example.com/**}"`,
		`secret: T {as: "X: {secret}"}`:                    `a secret goes somewhere: write such as "secret: T {to: https://api.example.com/**}"`,
		`secret: T {reveal: true, as: "X: {secret}"}`:      "as needs to: the addresses that the value goes to",
		`secret: T {to: https://a/, as: "{secret}"}`:       as,
		`secret: T {to: https://a/, as: "X: y"}`:           as,
		`secret: T {to: https://a/, as: "X Y: {secret}"}`:  as,
		`secret: T {to: https://a/, as: "?k=x{secret}"}`:   as,
		`secret: T {to: https://a/, as: "Host: {secret}"}`: "header Host is the host's own: the value cannot go there",
		`secret: T {to: ftp://a/}`:                         `an address begins with https:// or http://: write such as "net: GET https://api.example.com/v1/**"`,
		`secret: T {to: "https://a/{args.x}"}`:             "to: holds no braces: write the addresses themselves",
		`secret: T {to: https://a/, from: pass x}`:         "from says where the value is: write env NAME, file ~/PATH or keyring SERVICE/USER",
		`secret: T {to: https://a/, from: "file x"}`:       "from says where the value is: write env NAME, file ~/PATH or keyring SERVICE/USER",
		`secret: T {to: https://a/, reveal: yes}`:          "reveal is true or false",
		`deny: secret: T {to: https://a/}`:                 "secret cannot be denied: remove the line that grants it",
	} {
		if g, err := grant.ParseLine(line); err == nil || err.Error() != want {
			t.Errorf("%s\n got %s, %v\nwant %s", line, g, err, want)
		}
	}
}

func names(s []grant.Secret) string {
	var out []string
	for _, x := range s {
		out = append(out, x.Name)
	}
	return strings.Join(out, " ")
}

func TestSet_SecretsFor_onlyCoveredAddresses(t *testing.T) {
	s := mustSet(t, `secret: A {to: https://a.example/v1/**}`, `secret: B {to: ["POST https://a.example/v1/x", "https://b.example/"]}`, "secret: C {reveal: true}")
	for _, tt := range []struct{ method, url, want string }{
		{"GET", "https://a.example/v1/x", "A"}, {"POST", "https://a.example/v1/x", "B"}, {"GET", "https://b.example/", "B"},
		{"GET", "https://a.example/v2", ""}, {"GET", "http://a.example/v1/x", ""}, {"GET", "https://a.example:8443/v1/x", ""},
		{"GET", "https://a.example.evil.example/v1/x", ""}, {"PUT", "https://a.example/v1/x", ""},
	} {
		if got := names(s.SecretsFor(tt.method, mustURL(t, tt.url))); got != tt.want {
			t.Errorf("%s %s: got %q, want %q", tt.method, tt.url, got, tt.want)
		}
	}
	if got := names(s.Secrets()); got != "A B C" {
		t.Errorf("secrets are %s", got)
	}
	cut := s.Under(mustSet(t, "secret: A {to: https://a.example/v1/x}"))
	if got := names(cut.Secrets()); got != "A" {
		t.Errorf("under a ceiling: %s", got)
	}
	if got := names(cut.SecretsFor("GET", mustURL(t, "https://a.example/v1/y"))); got != "" {
		t.Errorf("beyond the ceiling: %s", got)
	}
}

func TestConfigSecrets_needSecretLine(t *testing.T) {
	s, err := grant.Parse([]grant.Node{
		mapping(1, "", mapping(1, "config", scalar(1, "lang", "en"), mapping(1, "key", scalar(1, "secret", "T")))),
		mapping(2, "", scalar(2, "secret", "T"), scalar(2, "to", "https://a.example/")),
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Lines().ConfigSecrets(); got["key"] != "T" || len(got) != 1 || len(s.Lines().Config()) != 1 {
		t.Errorf("got %v, %v", got, s.Lines().Config())
	}
	if want := "config: {key: {secret: T}, lang: en}\nsecret: T {to: [\"GET https://a.example/\"]}\n"; s.String() != want {
		t.Errorf("got %s", s)
	}
}

// A secret of each caller has no source but what the operator keeps for it, and is revealed in no configuration.
func TestSecret_perPrincipal(t *testing.T) {
	g := parsed(t, `secret: KEY per principal {to: "GET https://a.example/**"}`)
	if secrets := grant.NewSet(g).Secrets(); len(secrets) != 1 || secrets[0].Name != "KEY" || !secrets[0].PerPrincipal {
		t.Fatalf("got %+v, want KEY per principal", secrets)
	}
	if again := parsed(t, g.String()); again.String() != g.String() || !grant.NewSet(again).Secrets()[0].PerPrincipal {
		t.Errorf("read again: got %s, want %s", again, g)
	}
	for _, line := range []string{
		"secret: KEY per principal {from: env KEY, to: https://a.example/**}", "secret: KEY per  principal {to: https://a.example/**}", "secret: KEY per caller {to: https://a.example/**}",
		"secret: per principal {to: https://a.example/**}", "secret: KEY per principal per principal {to: https://a.example/**}", "secret: KEY Per principal {to: https://a.example/**}",
	} {
		if g, err := grant.ParseLine(line); err == nil {
			t.Errorf("%s: got %s, want an error", line, g)
		}
	}
	for _, first := range []string{"secret: KEY per principal {reveal: true}", "secret: KEY {reveal: true, who: [group:ops]}"} {
		_, err := grant.Parse([]grant.Node{{Value: first, Line: 1}, {Value: "config: {key: {secret: KEY}}", Line: 2}})
		if err == nil || !strings.Contains(err.Error(), "config is the same for all") {
			t.Errorf("%s: got %v, want a refusal", first, err)
		}
	}
}
