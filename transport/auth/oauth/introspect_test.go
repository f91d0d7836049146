package oauth

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// introspecting opens a resource that asks about each token.
func (s *server) introspecting() *Resource {
	s.t.Helper()
	return s.mustOpen(func(o *Options) {
		o.Issuers[0].Introspection = &Introspection{Client: "sallyport", Secret: func() (string, error) { return "p%ss", nil }}
	})
}

// know sets the issuer's answer about a token; nil removes it.
func (s *server) know(token string, answer map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens[token] = answer
}

// active returns the answer about a good token, with changes.
func (s *server) active(changes map[string]any) map[string]any {
	answer := s.claims(changes)
	if _, found := changes["active"]; !found {
		answer["active"] = true
	}
	return answer
}

func TestVerify_asksAboutOpaqueTokens(t *testing.T) {
	s := newServer(t)
	r := s.introspecting()
	s.know("opaque", s.active(map[string]any{"token_type": "Bearer"}))
	for range 3 {
		id, err := r.Verify(t.Context(), "opaque")
		if want := "oauth:" + s.URL + "|4711"; err != nil || id.Principal != want || len(id.Scopes) != 2 {
			t.Errorf("got %+v, %v; want the principal %s and two scopes", id, err, want)
		}
	}
	if n := s.count("/introspect"); n != 1 {
		t.Errorf("got %d questions, want 1", n)
	}
}

// A revoked token ends within a minute, also if it is a JWT that has not expired.
func TestVerify_refusesRevokedTokens(t *testing.T) {
	s := newServer(t)
	r := s.introspecting()
	for name, token := range map[string]string{"opaque": "opaque", "signed": s.token(nil)} {
		s.know(token, s.active(nil))
		accepts(t, r, name, token, "")
		s.know(token, nil)
		s.pass(introspectedFor)
		accepts(t, r, name+", revoked", token, "is not active: it is unknown to its issuer, expired or revoked")
	}
}

func TestVerify_refusesAnswersOfIntrospection(t *testing.T) {
	s := newServer(t)
	r := s.introspecting()
	const inactive = "is not active: it is unknown to its issuer, expired or revoked"
	for name, test := range map[string]struct {
		change map[string]any
		want   string
	}{
		"not active":              {map[string]any{"active": false}, inactive},
		"active a text":           {map[string]any{"active": "true"}, inactive},
		"active a number":         {map[string]any{"active": 1}, inactive},
		"Active for active":       {map[string]any{"active": nil, "Active": true}, inactive},
		"of another issuer":       {map[string]any{"iss": "https://id.example.com"}, "is of another issuer"},
		"issuer a list":           {map[string]any{"iss": []string{s.URL}}, "is of another issuer"},
		"no audience":             {map[string]any{"aud": nil}, "has no audience: want " + resourceURL},
		"another audience":        {map[string]any{"aud": "x"}, "is for another audience: want " + resourceURL},
		"no subject":              {map[string]any{"sub": nil}, "has a subject that is not a text of 1 to 255 bytes"},
		"expired":                 {map[string]any{"exp": s.clock().Unix() - 60}, "has expired"},
		"a token of another type": {map[string]any{"token_type": "DPoP"}, "is not a bearer token"},
		"type a list":             {map[string]any{"token_type": []string{"Bearer"}}, "is not a bearer token"},
		"bound to a certificate":  {map[string]any{"cnf": map[string]any{"x5t#S256": "x"}}, "is bound to a key of its client (cnf), which cannot be checked here: ask the issuer for bearer tokens"},
	} {
		s.know("opaque", s.active(test.change))
		accepts(t, r, name, "opaque", test.want)
	}
}

// An issuer that does not answer refutes no token: the client may try again.
func TestVerify_tellsOutagesFromRefusals(t *testing.T) {
	s := newServer(t)
	r := s.introspecting()
	const silent = "the issuer of the token does not answer: retry later"
	fails := func(name, want string) {
		t.Helper()
		_, err := r.Verify(t.Context(), "opaque")
		if f := FailureOf(err); f.Code != Unavailable || f.Reason != want {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
	s.know("opaque", s.active(nil))
	for name, serve := range map[string]http.HandlerFunc{
		"an error": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/jwks", http.StatusTemporaryRedirect)
		},
		"HTML":         func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") },
		"active twice": func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"active":false,"active":true}`) },
		"huge":         func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, strings.Repeat(" ", maxDocument+1)) },
		"cut off":      func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		s.mu.Lock()
		s.serve["/introspect"] = serve
		s.mu.Unlock()
		fails(name, silent)
	}
	s.mu.Lock()
	delete(s.serve, "/introspect")
	s.secrets["sallyport"] = "another"
	s.mu.Unlock()
	fails("a wrong secret", silent)
	r.issuers[0].asks.Secret = func() (string, error) { return "", errors.New("no file") }
	fails("no secret", "this server cannot read its secret for the issuer of the token")
}

// Calls with one token ask once, the end of a caller ends no question, and the number of tokens in question is bounded.
func TestVerify_boundsQuestions(t *testing.T) {
	s := newServer(t)
	r := s.introspecting()
	s.know("opaque", s.active(nil))
	release, arrived := make(chan struct{}), make(chan struct{}, maxFlights)
	s.serve["/introspect"] = func(w http.ResponseWriter, q *http.Request) {
		arrived <- struct{}{}
		<-release
		s.introspect(w, q)
	}
	fails := func(ctx context.Context, token, want string) {
		t.Helper()
		_, err := r.Verify(ctx, token)
		if f := FailureOf(err); f.Code != Unavailable || f.Reason != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	done := make(chan error)
	go func() {
		_, err := r.Verify(t.Context(), "opaque")
		done <- err
	}()
	<-arrived
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for range 10 {
		fails(gone, "opaque", "the request ended before the issuer of its token answered")
	}
	asks := r.issuers[0].asks
	asks.mu.Lock()
	for i := len(asks.flights); i < maxFlights; i++ {
		asks.flights[digest{byte(i), 1}] = &flight{}
	}
	asks.mu.Unlock()
	fails(t.Context(), "another", "too many tokens wait for their issuer: retry later")
	close(release)
	if err := <-done; err != nil {
		t.Errorf("got %v, want a caller", err)
	}
	if n := s.count("/introspect"); n != 1 {
		t.Errorf("got %d questions, want 1", n)
	}
}

func TestOpen_refusesIntrospectionThatCannotWork(t *testing.T) {
	s := newServer(t)
	secret := func() (string, error) { return "s", nil }
	for want, o := range map[string]Introspection{
		"introspection needs a client and its secret": {Client: "sallyport"},
		"introspection: no file":                      {Client: "sallyport", Secret: func() (string, error) { return "", errors.New("no file") }},
		"is sent in clear text":                       {Client: "sallyport", Secret: secret, URL: "http://id.example.com/introspect"},
	} {
		_, err := s.open(func(all *Options) { all.Issuers[0].Introspection = &o })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	s.metadata = func(m map[string]any) { m["introspection_endpoint"] = "https://id.example.com/introspect" }
	_, err := s.open(func(o *Options) { o.Issuers[0].Introspection = &Introspection{Client: "sallyport", Secret: secret} })
	if want := "introspection_endpoint in the metadata is on another host"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// The skew applies to an answer too, and an answer without expiry is believed for a minute.
func TestVerify_asksAgainAfterAMinute(t *testing.T) {
	s := newServer(t)
	r := s.introspecting()
	s.know("opaque", s.active(map[string]any{"exp": nil}))
	accepts(t, r, "first", "opaque", "")
	s.pass(introspectedFor - time.Second)
	accepts(t, r, "within the minute", "opaque", "")
	if n := s.count("/introspect"); n != 1 {
		t.Errorf("got %d questions, want 1", n)
	}
	s.pass(time.Second)
	accepts(t, r, "after the minute", "opaque", "")
	if n := s.count("/introspect"); n != 2 {
		t.Errorf("got %d questions, want 2", n)
	}
}

// A stranger's token has the keys read again. While they are the same, verified tokens are not asked about again.
func TestVerify_keepsTokensWhileKeysAreTheSame(t *testing.T) {
	s := newServer(t)
	r := s.introspecting()
	token := s.token(nil)
	s.know(token, s.active(nil))
	accepts(t, r, "a good token", token, "")
	s.pass(keysGap)
	forged := sign(t, "RS256", foreignKey, map[string]any{"kid": "unknown"}, encoded(s.claims(nil)))
	accepts(t, r, "a forged token", forged, "is signed by a key that its issuer does not publish")
	accepts(t, r, "a good token after a forged one", token, "")
	if n := s.count("/introspect"); n != 1 {
		t.Errorf("got %d questions, want 1", n)
	}
}

// A token whose key is withdrawn between the check of its signature and the issuer's answer is not kept.
func TestVerify_keepsNoTokenOfAKeyThatWasWithdrawnMeanwhile(t *testing.T) {
	s := newServer(t)
	r := s.introspecting()
	old, later := s.token(nil), sign(t, "RS256", foreignKey, map[string]any{"kid": "new"}, encoded(s.claims(nil)))
	s.know(old, s.active(nil))
	s.know(later, s.active(nil))
	var rotated atomic.Bool
	s.serve["/introspect"] = func(w http.ResponseWriter, q *http.Request) {
		if rotated.CompareAndSwap(false, true) {
			s.replace(set(public("new", "", &foreignKey.PublicKey)))
			s.pass(keysGap)
			if _, err := r.Verify(context.Background(), later); err != nil {
				t.Errorf("the new key: %v", err)
			}
		}
		s.introspect(w, q)
	}
	accepts(t, r, "a token of the old key", old, "")
	accepts(t, r, "the withdrawn key", old, "is signed by a key that its issuer does not publish")
}
