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
