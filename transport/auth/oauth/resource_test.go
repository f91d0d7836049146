package oauth

import (
	"slices"
	"testing"
)

func TestVerify_returnsTheCallerOfEachAlgorithm(t *testing.T) {
	s := newServer(t)
	r := s.mustOpen(nil)
	for _, test := range []struct {
		algorithm, kid string
		key            any
	}{{"RS256", "rsa", rsaKey}, {"PS256", "rsa", rsaKey}, {"ES256", "ec", ecKey}, {"EdDSA", "ed", edKey}} {
		token := sign(t, test.algorithm, test.key, map[string]any{"kid": test.kid}, encoded(s.claims(nil)))
		for range 2 {
			id, err := r.Verify(t.Context(), token)
			if want := "oauth:" + s.URL + "|4711"; err != nil || id.Principal != want {
				t.Errorf("%s: got %+v, %v; want the principal %s", test.algorithm, id, err, want)
			}
			if !slices.Equal(id.Groups, []string{"admins", "staff"}) || !slices.Equal(id.Scopes, []string{"read", "write"}) {
				t.Errorf("%s: got %+v, want the groups and scopes of the token, sorted", test.algorithm, id)
			}
		}
	}
	if n := s.count("/jwks"); n != 1 {
		t.Errorf("got %d reads of the keys, want 1", n)
	}
}

// A broader scope counts as those that it has in it, at any depth, and none counts as a broader one.
func TestVerify_broaderScopesImplyNarrowerOnes(t *testing.T) {
	s := newServer(t)
	r := s.mustOpen(func(o *Options) {
		o.Scopes = []string{"read"}
		o.Implied = map[string][]string{"all": {"admin"}, "admin": {"write", "read"}, "write": {"read", "write"}, "read": nil, "other": {"none"}}
	})
	for token, want := range map[string][]string{"all": {"admin", "all", "read", "write"}, "write": {"read", "write"}, "read": {"read"}, "read x": {"read", "x"}} {
		for range 2 {
			if id, err := r.Verify(t.Context(), s.token(map[string]any{"scope": token})); err != nil || !slices.Equal(id.Scopes, want) {
				t.Errorf("%s: got %q, %v, want %q", token, id.Scopes, err, want)
			}
		}
	}
	for _, token := range []string{"other", "none", "All", "rea", ""} {
		if id, err := r.Verify(t.Context(), s.token(map[string]any{"scope": token})); FailureOf(err).Code != InsufficientScope {
			t.Errorf("%q: got %v, %v, want the lack of a scope", token, id, err)
		}
	}
	for name, implied := range map[string]map[string][]string{"a broader one": {"a b": {"c"}}, "a narrower one": {"a": {"b\"c"}}} {
		if _, err := s.open(func(o *Options) { o.Implied = implied }); err == nil {
			t.Errorf("%s: got no error, want that it is no scope", name)
		}
	}
}
