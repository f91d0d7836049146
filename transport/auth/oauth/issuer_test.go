package oauth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const resourceURL = "https://tools.example.com/mcp"

// Keys of all tests, as RSA keys take long to make.
var (
	rsaKey, _     = rsa.GenerateKey(rand.Reader, 2048)
	foreignKey, _ = rsa.GenerateKey(rand.Reader, 2048)
	ecKey, _      = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	_, edKey, _   = ed25519.GenerateKey(rand.Reader)
)

// server is an authorization server on loopback.
type server struct {
	*httptest.Server
	t *testing.T

	mu       sync.Mutex
	keys     any                         // the document at /jwks
	serve    map[string]http.HandlerFunc // overrides a path
	asked    map[string]int              // requests of a path
	tokens   map[string]map[string]any   // answers of introspection
	metadata func(m map[string]any)      // changes the metadata
	now      time.Time                   // of the resource
	secrets  map[string]string           // of clients
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{
		t: t, serve: map[string]http.HandlerFunc{}, asked: map[string]int{}, tokens: map[string]map[string]any{},
		now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), secrets: map[string]string{"sallyport": "p%ss"},
	}
	s.keys = set(public("rsa", "", &rsaKey.PublicKey), public("ec", "", &ecKey.PublicKey), public("ed", "EdDSA", edKey.Public()))
	s.Server = httptest.NewServer(http.HandlerFunc(s.answer))
	t.Cleanup(s.Close)
	return s
}

func (s *server) answer(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked[r.URL.Path]++
	special, keys := s.serve[r.URL.Path], s.keys
	s.mu.Unlock()
	switch {
	case special != nil:
		special(w, r)
	case r.URL.Path == "/.well-known/oauth-authorization-server":
		m := map[string]any{"issuer": s.URL, "jwks_uri": s.URL + "/jwks", "introspection_endpoint": s.URL + "/introspect"}
		if s.metadata != nil {
			s.metadata(m)
		}
		json.NewEncoder(w).Encode(m)
	case r.URL.Path == "/jwks":
		json.NewEncoder(w).Encode(keys)
	case r.URL.Path == "/introspect":
		s.introspect(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (s *server) introspect(w http.ResponseWriter, r *http.Request) {
	client, secret, _ := r.BasicAuth()
	s.mu.Lock()
	defer s.mu.Unlock()
	if want := s.secrets[client]; want == "" || escape(want) != secret {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	token := r.PostFormValue("token")
	answer := map[string]any{"active": false}
	if known := s.tokens[token]; known != nil {
		answer = known
	}
	json.NewEncoder(w).Encode(answer)
}

func escape(s string) string { return strings.ReplaceAll(s, "%", "%25") }

// replace changes the keys.
func (s *server) replace(keys any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys = keys
}

// count returns the number of requests of a path.
func (s *server) count(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[path]
}

// pass moves the clock.
func (s *server) pass(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

func (s *server) clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// open returns a resource that trusts this server.
func (s *server) open(change func(o *Options)) (*Resource, error) {
	o := &Options{URL: resourceURL, Issuers: []Issuer{{URL: s.URL}}, now: s.clock}
	if change != nil {
		change(o)
	}
	return Open(s.t.Context(), o)
}

func (s *server) mustOpen(change func(o *Options)) *Resource {
	s.t.Helper()
	r, err := s.open(change)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// claims returns those of a good token, with changes; a nil value removes one.
func (s *server) claims(changes map[string]any) map[string]any {
	c := map[string]any{
		"iss": s.URL, "aud": resourceURL, "sub": "4711", "exp": s.clock().Add(time.Hour).Unix(), "iat": s.clock().Unix(),
		"scope": "read write", "groups": []string{"staff", "admins"},
	}
	maps.Copy(c, changes)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	return c
}

// token returns a good token, but for changes of its claims.
func (s *server) token(changes map[string]any) string {
	return sign(s.t, "RS256", rsaKey, map[string]any{"kid": "rsa"}, encoded(s.claims(changes)))
}

func encoded(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

// sign returns a JWT with a payload that need not be JSON.
func sign(t *testing.T, algorithm string, key any, header map[string]any, payload []byte) string {
	t.Helper()
	h := map[string]any{"alg": algorithm, "typ": "at+jwt"}
	maps.Copy(h, header)
	return signRaw(t, algorithm, key, encoded(h), payload)
}

// signRaw returns a JWT with a header as it is written.
func signRaw(t *testing.T, algorithm string, key any, header, payload []byte) string {
	t.Helper()
	text := part(header) + "." + part(payload)
	signature, err := signature(algorithm, key, text)
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + part(signature)
}

func signature(algorithm string, key any, text string) ([]byte, error) {
	hash := crypto.SHA256
	h := hash.New()
	h.Write([]byte(text))
	switch k := key.(type) {
	case *rsa.PrivateKey:
		if strings.HasPrefix(algorithm, "PS") {
			return rsa.SignPSS(rand.Reader, k, hash, h.Sum(nil), nil)
		}
		return rsa.SignPKCS1v15(rand.Reader, k, hash, h.Sum(nil))
	case *ecdsa.PrivateKey:
		r, s, err := ecdsa.Sign(rand.Reader, k, h.Sum(nil))
		size := (k.Params().BitSize + 7) / 8
		return append(r.FillBytes(make([]byte, size)), s.FillBytes(make([]byte, size))...), err
	case ed25519.PrivateKey:
		return ed25519.Sign(k, []byte(text)), nil
	}
	return nil, fmt.Errorf("no key of type %T", key)
}

func part(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// public returns the JWK of a public key.
func public(kid, algorithm string, key crypto.PublicKey) map[string]any {
	raw := encoded(jose.JSONWebKey{Key: key, KeyID: kid, Algorithm: algorithm, Use: "sig"})
	m := map[string]any{}
	json.Unmarshal(raw, &m)
	return m
}

func set(keys ...map[string]any) map[string]any { return map[string]any{"keys": keys} }
