package oauth

import (
	"testing"
	"time"
)

// BenchmarkVerify measures the authentication of a call whose token was verified before.
func BenchmarkVerify(b *testing.B) {
	i := &issuer{Issuer: Issuer{URL: "https://id.example.com"}, keys: &keySet{}}
	k := &keys{}
	i.keys.current.Store(k)
	r := &Resource{now: time.Now, cache: newCache(), scopes: []string{"call"}}
	token := string(make([]byte, 1500))
	v := verified{until: time.Now().Add(24 * time.Hour), issuer: i, keys: k}
	v.identity.Scopes = []string{"call"}
	r.cache.put(digestOf(token), v)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Verify(b.Context(), token); err != nil {
			b.Fatal(err)
		}
	}
}
