package oauth

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

func TestOpen_refusesKeySets(t *testing.T) {
	weak, _ := rsa.GenerateKey(rand.Reader, 1024)
	private := map[string]any{}
	raw := encoded(jose.JSONWebKey{Key: ecKey, KeyID: "x"})
	json.Unmarshal(raw, &private)
	good := public("rsa", "", &rsaKey.PublicKey)
	with := func(key string, value any) map[string]any {
		m := maps.Clone(good)
		m[key] = value
		return m
	}
	const (
		unknown = "its keys are of an unknown kind, or not valid"
		other   = "its keys are not for signatures"
	)
	for _, test := range []struct {
		name string
		keys any
		want string
	}{
		{"a list", []int{}, "it is not a JSON object"},
		{"without keys", map[string]any{}, `it has no array "keys"`},
		{"keys an object", map[string]any{"keys": good}, `it has no array "keys"`},
		{"no keys", map[string]any{"keys": []int{}}, "it has no key for signatures"},
		{"a key a text", map[string]any{"keys": []string{"k"}}, "a key is not an object"},
		{"a private key", set(good, private), "it publishes a private key"},
		{"a private RSA key", set(with("d", "AQAB")), "it publishes a private key"},
		{"a symmetric key", set(good, map[string]any{"kty": "oct", "k": "c2VjcmV0"}), "it publishes a symmetric key"},
		{"a symmetric key in an RSA one", set(with("k", "c2VjcmV0")), "it publishes a symmetric key"},
		{"two of one kid", set(good, public("rsa", "", &foreignKey.PublicKey)), "two keys have the same kid"},
		{"a key twice by case", map[string]any{"keys": []any{good}, "KEYS": []any{}}, "two members have the same name"},
		{"200 keys", map[string]any{"keys": make([]map[string]any, 200)}, "it has over 100 keys"},
		{"a weak RSA key", set(public("rsa", "", &weak.PublicKey)), "its RSA key has 1024 bits, want 2048 to 8192"},
		{"a huge RSA key", set(with("n", part(append([]byte{1}, make([]byte, 2048)...)))), unknown},
		{"an even exponent", set(with("e", "AQAA")), "its RSA key has a bad exponent"},
		{"an exponent of one", set(with("e", "AQ")), unknown},
		{"a point off the curve", set(map[string]any{"kty": "EC", "crv": "P-256", "x": part(make([]byte, 32)), "y": part(make([]byte, 32))}), unknown},
		{"an unknown curve", set(map[string]any{"kty": "EC", "crv": "secp256k1", "x": "AA", "y": "AA"}), unknown},
		{"an unknown kind", set(map[string]any{"kty": "PQ"}), unknown},
		{"for encryption", set(with("use", "enc")), other},
		{"for signing", set(with("key_ops", []string{"sign"})), other},
		{"huge", map[string]any{"keys": []any{good}, "x": strings.Repeat("x", maxDocument)}, "the document is larger than 262144 bytes"},
	} {
		s := newServer(t)
		s.replace(test.keys)
		want := fmt.Sprintf("issuer %s: keys at %s/jwks: %s", s.URL, s.URL, test.want)
		if _, err := s.open(nil); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", test.name, err, want)
		}
	}
}

func TestOpen_refusesIssuersThatDoNotServe(t *testing.T) {
	elsewhere := newServer(t)
	const metadata, keys = "/.well-known/oauth-authorization-server", "/jwks"
	text := func(s string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, s) }
	}
	status := func(n int) http.HandlerFunc { return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(n) } }
	redirect := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL+keys, http.StatusFound)
	}
	var give func()
	stuck := func(_ http.ResponseWriter, r *http.Request) {
		give()
		<-r.Context().Done()
	}
	drip := func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "{")
		w.(http.Flusher).Flush()
		stuck(w, r)
	}
	for _, test := range []struct {
		name, path string
		serve      http.HandlerFunc
		want       string
	}{
		{"none", metadata, http.NotFound, "no metadata: "},
		{"another issuer", metadata, text(`{"issuer":"https://id.example.com"}`), `the issuer there is "https://id.example.com", want the same as in the settings`},
		{"no issuer", metadata, text(`{}`), `the issuer there is "", want the same as in the settings`},
		{"HTML", metadata, text(`<html>`), "it is not JSON"},
		{"an error", metadata, status(500), "status 500, want 200"},
		{"redirected metadata", metadata, redirect, "status 302: redirects are not followed"},
		{"redirected keys", keys, redirect, "status 302: redirects are not followed"},
		{"keys that are gone", keys, http.NotFound, "status 404"},
		{"slow keys", keys, stuck, "context canceled"},
		{"keys that drip", keys, drip, "context canceled"},
	} {
		s := newServer(t)
		s.serve[test.path] = test.serve
		var ctx context.Context
		ctx, give = context.WithCancel(t.Context())
		_, err := Open(ctx, &Options{URL: resourceURL, Issuers: []Issuer{{URL: s.URL}}, now: s.clock})
		give()
		if err == nil || !strings.HasPrefix(err.Error(), "issuer "+s.URL+": ") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s", test.name, err, test.want)
		}
	}
	if n := elsewhere.count(keys); n != 0 {
		t.Errorf("got %d requests behind a redirect, want none", n)
	}
	if got := newClient().Timeout; got != 5*time.Second {
		t.Errorf("got a limit of %v for a request, want 5s", got)
	}
}

// Metadata does not lead to another host, unless the operator has written the address.
func TestOpen_readsKeysOfTheIssuersHost(t *testing.T) {
	s, elsewhere := newServer(t), newServer(t)
	for name, test := range map[string]struct{ address, want string }{
		"another host": {elsewhere.URL + "/jwks", "is on another host: if it is right, write jwks: " + elsewhere.URL + "/jwks"},
		"clear text":   {"http://192.0.2.1/jwks", "is sent in clear text"},
		"a file":       {"file:///etc/passwd", "is not of the form https://host/path"},
		"with a user":  {"http://u:p@127.0.0.1/jwks", "has a user, a query or a fragment"},
		"none":         {"", "the metadata has no jwks_uri: write jwks"},
	} {
		s.metadata = func(m map[string]any) { m["jwks_uri"] = test.address }
		if _, err := s.open(nil); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s", name, err, test.want)
		}
	}
	if n := elsewhere.count("/jwks"); n != 0 {
		t.Errorf("got %d requests to another host, want none", n)
	}
	if _, err := s.open(func(o *Options) { o.Issuers[0].Keys = elsewhere.URL + "/jwks" }); err != nil {
		t.Errorf("written by the operator: got %v, want a resource", err)
	}
}

func TestVerify_followsRotatedKeys(t *testing.T) {
	s := newServer(t)
	r := s.mustOpen(nil)
	old, later := s.token(nil), sign(t, "RS256", foreignKey, map[string]any{"kid": "new"}, encoded(s.claims(nil)))
	accepts(t, r, "the old key", old, "")
	accepts(t, r, "a key that is not there yet", later, "is signed by a key that its issuer does not publish")
	s.replace(set(public("new", "", &foreignKey.PublicKey)))
	accepts(t, r, "within the gap", later, "is signed by a key that its issuer does not publish")
	s.pass(keysGap)
	accepts(t, r, "behind the gap", later, "")
	accepts(t, r, "the withdrawn key, from the cache", old, "is signed by a key that its issuer does not publish")
}

// A key that is withdrawn ends, also if no token with another key arrives.
func TestVerify_endsWithdrawnKeys(t *testing.T) {
	s := newServer(t)
	r := s.mustOpen(nil)
	token := s.token(nil)
	accepts(t, r, "before", token, "")
	s.replace(set(public("new", "", &foreignKey.PublicKey)))
	s.pass(keysEvery)
	accepts(t, r, "after", token, "is signed by a key that its issuer does not publish")
}

// A key set that becomes bad does not replace the last good one, which serves for an hour.
func TestVerify_outlivesAnOutageOfItsIssuer(t *testing.T) {
	s := newServer(t)
	r := s.mustOpen(nil)
	s.replace(set(map[string]any{"kty": "oct", "k": "c2VjcmV0"}))
	s.pass(keysMost - time.Second)
	accepts(t, r, "in the hour", s.token(nil), "")
	s.pass(time.Second)
	_, err := r.Verify(t.Context(), s.token(nil))
	if f := FailureOf(err); f.Code != Unavailable || f.Reason != "the keys of the issuer cannot be read: retry later" {
		t.Errorf("got %v, want an outage", err)
	}
	s.replace(set(public("rsa", "", &rsaKey.PublicKey)))
	s.pass(keysGap)
	accepts(t, r, "afterwards", s.token(map[string]any{"n": 1}), "")
}

// Forged tokens cause one read of the keys, and those of callers that gave up too.
func TestVerify_readsKeysOnceForManyForgedTokens(t *testing.T) {
	s := newServer(t)
	r := s.mustOpen(nil)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			ctx := t.Context()
			if i%2 == 0 {
				ctx = gone
			}
			if _, err := r.Verify(ctx, sign(t, "RS256", foreignKey, map[string]any{"kid": fmt.Sprint(i)}, encoded(s.claims(nil)))); err == nil {
				t.Error("got a caller, want none")
			}
		})
	}
	all.Wait()
	if n := s.count("/jwks"); n > 2 {
		t.Errorf("got %d reads of the keys, want 2 at most", n)
	}
}

// accepts verifies a token; want is the reason of its refusal, "" for none.
func accepts(t *testing.T, r *Resource, name, token, want string) {
	t.Helper()
	if want != "" {
		want = "the access token " + want
	}
	got := ""
	if _, err := r.Verify(t.Context(), token); err != nil {
		got = err.Error()
	}
	if got != want {
		t.Errorf("%s: got %q, want %q", name, got, want)
	}
}
