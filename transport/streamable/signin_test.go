package streamable

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/sallyport-mcp/sallyport/transport/auth"
	"github.com/sallyport-mcp/sallyport/transport/auth/oauth"
)

const (
	publicURL   = "https://tools.example.com/mcp"
	metadataURL = `resource_metadata="https://tools.example.com/.well-known/oauth-protected-resource/mcp"`
)

// issuer is an authorization server on loopback.
type issuer struct {
	*httptest.Server
	key ed25519.PrivateKey
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	i := &issuer{key: private}
	keys := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: public, KeyID: "a", Algorithm: "EdDSA", Use: "sig"}}}
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/.well-known/oauth-authorization-server":
			fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, i.URL, i.URL+"/jwks")
		case "/jwks":
			json.NewEncoder(w).Encode(keys)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(i.Close)
	return i
}

// token returns an access token with changes of its claims.
func (i *issuer) token(t *testing.T, changes map[string]any) string {
	t.Helper()
	claims := map[string]any{"iss": i.URL, "aud": publicURL, "sub": "ann", "exp": time.Now().Add(time.Hour).Unix(), "scope": "call"}
	maps.Copy(claims, changes)
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: jose.JSONWebKey{Key: i.key, KeyID: "a"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// resource returns what a server with this issuer publishes; each token needs the scope "call".
func (i *issuer) resource(t *testing.T) *oauth.Resource {
	t.Helper()
	r, err := oauth.Open(t.Context(), &oauth.Options{URL: publicURL, Issuers: []oauth.Issuer{{URL: i.URL}}, Scopes: []string{"call"}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSignIn_asksForATokenAndItsScopes(t *testing.T) {
	i := newIssuer(t)
	f := newFake()
	named, err := (*auth.Tokens)(nil).With("ci", "secret-token-of-ci")
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, f, &Options{OAuth: i.resource(t), Tokens: named})
	bearer := func(token string) headers { return headers{"Authorization": "Bearer " + token} }
	body := legacyBody(1, "initialize", `{"protocolVersion":"2025-11-25"}`)
	for _, test := range []struct {
		name      string
		extra     headers
		status    int
		message   string
		challenge string
	}{
		{"no token", headers{"Authorization": "-"}, 401, noAccessToken, `Bearer realm="sallyport", scope="call", ` + metadataURL},
		{"another scheme", headers{"Authorization": "DPoP " + i.token(t, nil)}, 401, noAccessToken, `Bearer realm="sallyport", scope="call", ` + metadataURL},
		{"an expired token", bearer(i.token(t, map[string]any{"exp": 1})), 401, "the access token has expired",
			`Bearer realm="sallyport", error="invalid_token", error_description="the access token has expired", scope="call", ` + metadataURL},
		{"a token for another server", bearer(i.token(t, map[string]any{"aud": "https://other.example.com"})), 401, "the access token is for another audience: want " + publicURL,
			`Bearer realm="sallyport", error="invalid_token", error_description="the access token is for another audience: want ` + publicURL + `", scope="call", ` + metadataURL},
		{"a token without the scope", bearer(i.token(t, map[string]any{"scope": "other"})), 403, "the access token lacks a scope",
			`Bearer realm="sallyport", error="insufficient_scope", error_description="the access token lacks a scope", scope="call", ` + metadataURL},
	} {
		r := s.want(test.name, "POST", body, test.extra, test.status, refused(test.message))
		if got := r.Header.Get("WWW-Authenticate"); got != test.challenge {
			t.Errorf("%s: got %s, want %s", test.name, got, test.challenge)
		}
	}
	s.want("two tokens", "POST", body, bearer(i.token(t, nil)+"\nBearer x"), 400, refused("more than one Authorization header"))
	for want, token := range map[string]string{"oauth:" + i.URL + "|ann": i.token(t, nil), "token:ci": "secret-token-of-ci"} {
		if r, text := s.do("POST", body, bearer(token)); r.StatusCode != 200 || f.principal() != want {
			t.Errorf("got %d %s for %s, want the principal %s", r.StatusCode, text, f.principal(), want)
		}
	}
}

// A token counts in its header alone.
func TestSignIn_readsNoTokenElsewhere(t *testing.T) {
	i := newIssuer(t)
	s := start(t, newFake(), &Options{OAuth: i.resource(t)})
	token := i.token(t, nil)
	none := headers{"Authorization": "-"}
	for name, extra := range map[string]headers{
		"a cookie":       {"Authorization": "-", "Cookie": "access_token=" + token},
		"another header": {"Authorization": "-", "X-Forwarded-Access-Token": token},
		"a proxy header": {"Authorization": "-", "Proxy-Authorization": "Bearer " + token},
	} {
		s.want(name, "POST", "{}", extra, 401, refused(noAccessToken))
	}
	s.want("the body", "POST", "access_token="+token, headers{"Authorization": "-", "Content-Type": "application/x-www-form-urlencoded"}, 401, refused(noAccessToken))
	s.url += "?access_token=" + token
	s.want("the query", "POST", "{}", none, 401, refused(noAccessToken))
}

// A header over the limit never reaches the verification.
func TestSignIn_boundsTheHeader(t *testing.T) {
	i := newIssuer(t)
	o := &Options{Addr: "127.0.0.1:0", OAuth: i.resource(t)}
	l, err := Listen(o)
	if err != nil {
		t.Fatal(err)
	}
	h := newHandler(newFake(), o)
	ended := make(chan error, 1)
	go func() { ended <- l.Serve(t.Context(), h) }()
	r, err := http.NewRequestWithContext(t.Context(), "POST", l.URL(), strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+strings.Repeat("a", 1<<20))
	response, err := http.DefaultClient.Do(r)
	if err == nil {
		response.Body.Close()
		if response.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("got %s, want 431", response.Status)
		}
	} // or the connection ends while the client writes
	l.Close()
	<-ended
}

func TestSignIn_publishesMetadata(t *testing.T) {
	i := newIssuer(t)
	s := start(t, newFake(), &Options{OAuth: i.resource(t)})
	base := strings.TrimSuffix(s.url, "/mcp")
	want := fmt.Sprintf(`{"resource":%q,"authorization_servers":[%q],"scopes_supported":["call"],"bearer_methods_supported":["header"],"resource_name":"Sallyport"}`, publicURL, i.URL)
	for _, path := range []string{"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"} {
		s.url = base + path
		r := s.want(path, "GET", "", headers{"Authorization": "-", "Origin": "https://app.example.com"}, 200, want)
		if got := r.Header.Get("Access-Control-Allow-Origin"); got != "*" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: got the headers %v, want JSON for all origins", path, r.Header)
		}
		s.want(path, "OPTIONS", "", headers{"Authorization": "-", "Origin": "https://app.example.com", "Access-Control-Request-Method": "GET"}, 204, "")
		s.want(path, "POST", "{}", headers{"Authorization": "-"}, 405, refused("method POST is not served here"))
	}
	for _, path := range []string{"/.well-known/oauth-protected-resource/", "/.well-known/oauth-protected-resource/other", "/.well-known/oauth-authorization-server"} {
		s.url = base + path
		s.want(path, "GET", "", headers{"Authorization": "-"}, 404, refused("there is nothing here: the endpoint is /mcp"))
	}
}

// Neither a refused token nor an accepted one is logged or handed on.
func TestSignIn_keepsTokensToItself(t *testing.T) {
	i := newIssuer(t)
	var log bytes.Buffer
	srv, p := realServer(t)
	h := NewHandler(srv, &Options{OAuth: i.resource(t), Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	defer h.Close()
	_ = p
	good, bad := i.token(t, nil), i.token(t, map[string]any{"exp": 1})
	for token, status := range map[string]int{good: 200, bad: 401} {
		r := httptest.NewRequest("POST", "http://localhost/mcp", strings.NewReader(legacyBody(1, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"n","version":"1"}}`)))
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != status {
			t.Errorf("got %d %s, want %d", w.Code, w.Body, status)
		}
		seen := fmt.Sprint(w.Header(), w.Body, log.String())
		for part := range strings.SplitSeq(token, ".") {
			if strings.Contains(seen, part) {
				t.Errorf("got %s, want nothing of the token", seen)
			}
		}
	}
}

// An issuer that is away is no reason to sign in again.
func TestSignIn_answersOutagesWithRetryAfter(t *testing.T) {
	i := newIssuer(t)
	r, err := oauth.Open(t.Context(), &oauth.Options{URL: publicURL, Issuers: []oauth.Issuer{{URL: i.URL, Introspection: &oauth.Introspection{
		URL: i.URL + "/introspect", Client: "sallyport", Secret: func() (string, error) { return "s", nil },
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, newFake(), &Options{OAuth: r})
	response := s.want("outage", "POST", "{}", headers{"Authorization": "Bearer opaque"}, 503, refused("the issuer of the token does not answer: retry later"))
	if response.Header.Get("Retry-After") != "5" || response.Header.Get("WWW-Authenticate") != "" {
		t.Errorf("got the headers %v, want Retry-After alone", response.Header)
	}
}

// A call that lacks a scope is answered by one challenge with all scopes that the next token needs: those of each token,
// and those of the call. Without sign-in no client could get one, so that the error alone is answered.
func TestSignIn_challengesACallThatLacksAScope(t *testing.T) {
	i := newIssuer(t)
	named, err := (*auth.Tokens)(nil).With("ci", "secret-token-of-ci")
	if err != nil {
		t.Fatal(err)
	}
	const challenge = `Bearer realm="sallyport", error="insufficient_scope", error_description="the access token lacks a scope", scope="call files list", ` + metadataURL
	const body = `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"no"}}`
	call := func(text string) string { return fmt.Sprintf(`"name":"scope","arguments":{"text":%q},`, text) }
	for _, test := range []struct {
		name, token string
		o           *Options
		status      int
	}{
		{"a sign-in", i.token(t, map[string]any{"scope": "call list"}), &Options{OAuth: i.resource(t), Tokens: named}, 403},
		{"a named token beside sign-in", "secret-token-of-ci", &Options{OAuth: i.resource(t), Tokens: named}, 403},
		{"a named token", "secret-token-of-ci", &Options{Tokens: named}, 200},
	} {
		s := start(t, newFake(), test.o)
		token := headers{"Authorization": "Bearer " + test.token}
		r := s.want(test.name, "POST", modernBody("tools/call", call("")), modernHeaders("tools/call", "scope", token), test.status, body)
		got := []*http.Response{r}
		opened, _ := s.do("POST", legacyBody(0, "initialize", `{"protocolVersion":"2025-11-25"}`), token)
		session := headers{"Authorization": token["Authorization"], "Mcp-Session-Id": opened.Header.Get("Mcp-Session-Id")}
		got = append(got, s.want(test.name+", legacy", "POST", legacyBody(1, "tools/call", "{"+strings.TrimSuffix(call(""), ",")+"}"), session, test.status, body))
		for _, r := range got {
			if want := map[int]string{403: challenge}[test.status]; r.Header.Get("WWW-Authenticate") != want {
				t.Errorf("%s: got the challenge %s, want %s", test.name, r.Header.Get("WWW-Authenticate"), want)
			}
		}
		// A stream has begun with 200: the error is in it.
		if r, text := s.do("POST", modernBody("tools/call", call("talk")), modernHeaders("tools/call", "scope", token)); r.StatusCode != 200 || !strings.Contains(text, body) {
			t.Errorf("%s: got %d %s, want the error at the end of a stream", test.name, r.StatusCode, text)
		}
	}
}
