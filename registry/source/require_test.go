package source

import (
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/sigstore"
)

func TestIdentity_matchesExactlyOrByItsBeginning(t *testing.T) {
	const github, google = "https://token.actions.githubusercontent.com", "https://accounts.google.com"
	for _, c := range []struct {
		want     Identity
		by, name string
		matches  bool
	}{
		{Identity{github, "https://github.com/acme/**"}, github, "https://github.com/acme/w/.github/workflows/r.yml@refs/tags/v1", true},
		{Identity{github, "https://github.com/acme/**"}, google, "https://github.com/acme/w/.github/workflows/r.yml@refs/tags/v1", false},
		{Identity{github, "https://github.com/acme/**"}, github, "https://github.com/acme-evil/w", false},
		{Identity{github, "https://github.com/acme/w/r.yml@refs/tags/**"}, github, "https://github.com/acme/w/r.yml@refs/heads/x", false},
		{Identity{google, "ann@acme.example"}, google, "ann@acme.example", true},
		{Identity{google, "ann@acme.example"}, google, "ann@acme.example.evil", false},
		{Identity{google, "ann@acme.example"}, google, "Ann@acme.example", false},
		{Identity{google, "ann@acme.example"}, google, "", false},
	} {
		if got := c.want.matches(sigstore.Signer{Issuer: c.by, Identity: c.name}); got != c.matches {
			t.Errorf("%s: got %v for %s of %s, want %v", c.want, got, c.name, c.by, c.matches)
		}
	}
}

func TestIdentity_refusesPatternsThatAreTooWide(t *testing.T) {
	for _, c := range []struct{ issuer, name, want string }{
		{"", "ann@acme.example", "issuer: is missing"}, {"https://a.example", "", "identity: is missing"},
		{"https://**", "ann@acme.example", "a star stands only at the end of identity:"}, {"https://a.example", "*@acme.example", "a star stands only at the end"},
		{"https://a.example", "https://github.com/acme**", "follows a slash or an @"}, {"https://a.example", "**", "follows a slash"},
		{"https://a.example", "ann@**", "follows the name of an owner"},
		{"https://a.example", "https://**", "follows the name of an owner"}, {"https://a.example", "https://github.com/**", "follows the name of an owner"},
	} {
		if err := (Identity{c.issuer, c.name}).Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q of %q: got %v, want %q", c.name, c.issuer, err, c.want)
		}
	}
	for _, name := range []string{"ann@acme.example", "https://github.com/acme/**", "https://github.com/acme/w/.github/workflows/r.yml@**"} {
		if err := (Identity{"https://a.example", name}).Check(); err != nil {
			t.Errorf("%q: got %v, want it taken", name, err)
		}
	}
}

func TestPolicy_acceptsStatementsThatVouch(t *testing.T) {
	p := Policy{Require: []Identity{{"https://a.example", "ann@acme.example"}}}
	for statement, want := range map[string]string{
		"": "", "https://slsa.dev/provenance/v1": "", "https://slsa.dev/provenance/v0.2": "", "https://sigstore.dev/cosign/sign/v1": "",
		"https://cosign.sigstore.dev/attestation/vuln/v1": "states something else about it",
	} {
		err := p.accepts(sigstore.Signer{Issuer: "https://a.example", Identity: "ann@acme.example", Statement: statement})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got %v, want %q", statement, err, want)
		}
	}
}
