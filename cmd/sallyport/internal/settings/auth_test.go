package settings

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// loadAuth loads a configuration file with a text.
func loadAuth(t *testing.T, text string) (*Settings, string, error) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	file := filepath.Join(dir, "sallyport.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Load(Options{File: file})
	return s, file, err
}

func TestLoad_readsIssuers(t *testing.T) {
	s, file, err := loadAuth(t, `
auth:
  scopes: [call, read]
  skew: 30s
  issuers:
    - issuer: https://id.example.com/realms/acme
      name: acme
      audience: tools
      jwks: https://keys.example.com/acme
      algorithms: [ES256]
      groups: [realm_access, roles]
      scopes: scp
      introspection: {client: sallyport, secret: issuer-secret, url: https://id.example.com/introspect}
    - {issuer: https://partner.example.com, name: partner}
`)
	if err != nil {
		t.Fatal(err)
	}
	o := s.Auth
	if o.Skew != 30*time.Second || !slices.Equal(o.Scopes, []string{"call", "read"}) || len(o.Issuers) != 2 || o.Issuers[1].Name != "partner" {
		t.Errorf("got %+v, want the values of the file", o)
	}
	i := o.Issuers[0]
	if i.URL != "https://id.example.com/realms/acme" || i.Name != "acme" || i.Audience != "tools" || i.Keys != "https://keys.example.com/acme" ||
		!slices.Equal(i.Algorithms, []string{"ES256"}) || !slices.Equal(i.Groups, []string{"realm_access", "roles"}) || !slices.Equal(i.Scopes, []string{"scp"}) {
		t.Errorf("got %+v, want the values of the file", i)
	}
	if _, err := i.Introspection.Secret(); err == nil {
		t.Error("without the file of the secret: got no error")
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(file), "issuer-secret"), []byte("hidden\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if secret, err := i.Introspection.Secret(); secret != "hidden" || err != nil {
		t.Errorf("got %q, %v; want the secret of the file beside the configuration", secret, err)
	}
}

func TestLoad_refusesIssuers(t *testing.T) {
	for text, want := range map[string]string{
		"auth: {issuer: https://a.example}":                                                             `1: unknown key "issuer"; did you mean issuers?`,
		"auth: {issuers: https://a.example}":                                                            "1: auth.issuers: want a list of {issuer: https://…}",
		"auth: {issuers: [https://a.example]}":                                                          "1: auth.issuers: want {issuer: https://…}",
		"auth: {scopes: [a]}":                                                                           "1: auth: no issuer",
		"auth: {}":                                                                                      "1: auth: no issuer",
		"auth: {issuers: [{issuer: http://a.example}]}":                                                 `"http://a.example" is sent in clear text: use https, or a loopback address`,
		"auth: {issuers: [{issuer: 'https://a.example|b'}]}":                                            `"https://a.example|b" is not of the form https://host/path`,
		"auth: {issuers: [{issuer: https://A.example}]}":                                                "has capital letters in its host",
		"auth: {issuers: [{issuer: https://a.example, algorithms: [HS256]}]}":                           `the algorithm "HS256" is none of RS256`,
		"auth: {issuers: [{issuer: https://a.example, algorithms: [none]}]}":                            `the algorithm "none" is none of RS256`,
		"auth: {issuers: [{issuer: https://a.example}, {issuer: https://b.example}]}":                   "issuer https://a.example: among several each needs a name of its own, which precedes its groups",
		"auth: {issuers: [{issuer: https://a.example, name: a}, {issuer: https://a.example, name: b}]}": "issuer https://a.example: it is there twice",
		"auth: {issuers: [{issuer: https://a.example, name: 'a:b'}]}":                                   `the name "a:b" may hold 1 to 32 small letters, digits and hyphens`,
		"auth: {issuers: [{issuer: https://a.example, introspection: {client: a}}]}":                    "1: introspection: want {client: NAME, secret: FILE}",
		"auth: {issuers: [{issuer: https://a.example, introspection: {password: a}}]}":                  `1: unknown key "password"`,
		"auth: {skew: 10m, issuers: [{issuer: https://a.example}]}":                                     "a skew of 10m0s is not between 0 and 5m0s",
		"auth: {scopes: ['a b'], issuers: [{issuer: https://a.example}]}":                               `"a b" is not a scope`,
	} {
		_, file, err := loadAuth(t, text)
		if err == nil || !strings.HasPrefix(err.Error(), file+":") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want the file and %s", text, err, want)
		}
	}
}
