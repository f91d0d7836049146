package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/sallyport-mcp/sallyport/transport/auth"
	"github.com/sallyport-mcp/sallyport/transport/auth/oauth"
)

// audience is the address for which the issuer of benchAuth issues tokens.
const audience = "https://tools.example.com/mcp"

// benchAuth measures the authentication of a call: by a JWT that was verified before, by a new one, and by a named token.
func benchAuth(ctx context.Context, o options) ([]row, error) {
	issuer, err := newIssuer()
	if err != nil {
		return nil, err
	}
	defer issuer.Close()
	resource, err := oauth.Open(ctx, &oauth.Options{URL: audience, Issuers: []oauth.Issuer{{URL: issuer.URL}}, Scopes: []string{"call"}})
	if err != nil {
		return nil, err
	}
	verify := func(token string) bool {
		id, err := resource.Verify(ctx, token)
		return err == nil && id.Principal == "oauth:"+issuer.URL+"|ada"
	}
	named, err := namedTokens(100)
	if err != nil {
		return nil, err
	}
	last := auth.New()
	if named, err = named.With("last", last); err != nil {
		return nil, err
	}
	cached, fresh := issuer.token(0), 0
	return costs(o, []timedRun{
		{"auth_cached_us", "a JWT of 1.5 KB that was verified before", func() bool { return verify(cached) }},
		{"auth_signed_us", "a JWT that comes for the first time, Ed25519, signing included", func() bool { fresh++; return verify(issuer.token(fresh)) }},
		{"auth_named_us", "the last of 101 named tokens", func() bool { name, _, ok := named.Verify(last); return ok && name == "last" }},
	})
}

// namedTokens returns n named tokens.
func namedTokens(n int) (*auth.Tokens, error) {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = auth.Line(fmt.Sprintf("token%d", i), auth.New())
	}
	return auth.Parse(strings.NewReader(strings.Join(lines, "\n")))
}

// issuer is an authorization server with one key, which its documents name.
type issuer struct {
	*httptest.Server
	key ed25519.PrivateKey
}

func newIssuer() (*issuer, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	i := &issuer{key: private}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/jwks"})
	})
	mux.HandleFunc("GET /jwks", func(w http.ResponseWriter, _ *http.Request) {
		key := map[string]any{"kty": "OKP", "crv": "Ed25519", "kid": "1", "use": "sig", "alg": "EdDSA", "x": base64.RawURLEncoding.EncodeToString(public)}
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": []any{key}})
	})
	i.Server = httptest.NewServer(mux)
	return i, nil
}

// token returns a token for audience, distinct for each n, as long as those of large companies.
func (i *issuer) token(n int) string {
	now := time.Now()
	claims, _ := json.Marshal(map[string]any{ // strings and numbers
		"iss": i.URL, "aud": audience, "sub": "ada", "jti": fmt.Sprint(n), "scope": "call read write", "groups": []string{"staff", "admins"},
		"iat": now.Unix(), "exp": now.Add(time.Hour).Unix(), "note": strings.Repeat("x", 900),
	})
	part := base64.RawURLEncoding.EncodeToString
	text := part([]byte(`{"alg":"EdDSA","typ":"at+jwt","kid":"1"}`)) + "." + part(claims)
	return text + "." + part(ed25519.Sign(i.key, []byte(text)))
}
