package oauth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// attack is a token that must be refused.
type attack struct {
	name  string
	token string
	want  string // after "the access token "
}

// canary is in each token whose claims can hold it, and in no error.
const canary = "canary5eae1c"

// forged returns a good token whose header has changes.
func (s *server) forged(header map[string]any) string {
	h := map[string]any{"kid": "rsa"}
	for k, v := range header {
		h[k] = v
	}
	return sign(s.t, "RS256", rsaKey, h, encoded(s.claims(map[string]any{"note": canary})))
}

// unsigned returns a token with an algorithm that needs no key, or a shared one.
func (s *server) unsigned(algorithm, signature string) string {
	return part(encoded(map[string]any{"alg": algorithm, "kid": "rsa"})) + "." + part(encoded(s.claims(map[string]any{"note": canary}))) + "." + signature
}

// withSecret returns a token whose HMAC has the public key of the issuer as its secret.
func (s *server) withSecret(algorithm string, secret []byte) string {
	text := strings.TrimSuffix(s.unsigned(algorithm, ""), ".")
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(text))
	return text + "." + part(mac.Sum(nil))
}

// written returns a token with claims as they are written, which the issuer signed.
func (s *server) written(format string, args ...any) string {
	return sign(s.t, "RS256", rsaKey, map[string]any{"kid": "rsa"}, fmt.Appendf(nil, format, args...))
}

// claim returns a good token with another claim.
func (s *server) claim(name string, value any) string {
	return s.token(map[string]any{"note": canary, name: value})
}

func TestVerify_refusesForgedTokens(t *testing.T) {
	s := newServer(t)
	other := newServer(t)
	r := s.mustOpen(nil)
	good := s.token(map[string]any{"note": canary})
	parts := strings.Split(good, ".")
	der, _ := x509.MarshalPKIXPublicKey(&rsaKey.PublicKey)
	own := jose.JSONWebKey{Key: &foreignKey.PublicKey, KeyID: "rsa"}
	p384, _ := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	head, body, tail := parts[0], parts[1], parts[2]
	const (
		alphabet  = "has characters that tokens do not have"
		opaque    = "is not a JWT, and no issuer is asked about opaque ones"
		noneText  = "is not signed"
		shared    = "is signed with a shared secret: a key of the issuer is wanted"
		algorithm = "is signed with an algorithm that is not accepted"
		wrong     = "has a wrong signature"
		unknown   = "is signed by a key that its issuer does not publish"
		header    = "has a header that is not one JSON object with distinct names"
		object    = "has claims that are not one JSON object with distinct names"
		malformed = "is not a signed JWT"
		kid       = "has a kid that is not a text of 1 to 256 bytes"
	)
	refuse(t, r, []attack{
		{"none at all", "", "is missing"},
		{"garbage", "garbage", opaque},
		{"blanks", "a b", alphabet},
		{"a line end", good + "\n", alphabet},
		{"a NUL", "a\x00b", alphabet},
		{"beyond ASCII", "tokén", alphabet},
		{"two tokens", good + "," + good, alphabet},
		{"padding first", "=" + good, alphabet},
		{"1 MB", strings.Repeat("a", 1<<20), "is longer than 16384 bytes"},
		{"1 MB of dots", strings.Repeat(".", 1<<20), "is longer than 16384 bytes"},
		{"JSON serialization", `{"payload":"e30","signatures":[]}`, alphabet},
		{"JWE", head + "." + body + ".a.b.c", "is encrypted (JWE): signed ones are accepted"},
		{"two parts", head + "." + body, "is not a JWT of three parts"},
		{"four parts", good + ".a", "is not a JWT of three parts"},

		{"alg none", s.unsigned("none", ""), noneText},
		{"alg None", s.unsigned("None", ""), noneText},
		{"alg NONE with a signature", s.unsigned("NONE", tail), noneText},
		{"alg nOnE", s.unsigned("nOnE", "e30"), noneText},
		{"alg none and a blank", s.unsigned(" none ", ""), noneText},
		{"no alg", part([]byte(`{"typ":"JWT"}`)) + "." + body + "." + tail, "names no algorithm"},
		{"alg a list", part([]byte(`{"alg":["RS256"]}`)) + "." + body + "." + tail, "names no algorithm"},
		{"alg empty", s.unsigned("", tail), algorithm},
		{"alg in small letters", s.unsigned("rs256", tail), algorithm},
		{"alg unknown", s.unsigned("ES256K", tail), algorithm},
		{"HS256 with the public key, PEM", s.withSecret("HS256", pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})), shared},
		{"HS256 with the public key, DER", s.withSecret("HS256", der), shared},
		{"HS512 in small letters", s.withSecret("hs512", der), shared},
		{"HS256 with an empty secret", s.withSecret("HS256", nil), shared},

		{"signature stripped", head + "." + body + ".", wrong},
		{"signature of another token", head + "." + body + "." + strings.Split(s.token(nil), ".")[2], wrong},
		{"signature cut", good[:len(good)-4], wrong},
		{"signature not base64", head + "." + body + ".+++", malformed},
		{"signature by a foreign key", sign(t, "RS256", foreignKey, map[string]any{"kid": "rsa"}, encoded(s.claims(nil))), wrong},
		{"claims exchanged", head + "." + part(encoded(s.claims(map[string]any{"sub": "root"}))) + "." + tail, wrong},
		{"RS256 said to be PS256", strings.Replace(good, head, part([]byte(`{"alg":"PS256","kid":"rsa"}`)), 1), wrong},
		{"ES256 with a key of P-384", sign(t, "ES256", p384, map[string]any{"kid": "ec"}, encoded(s.claims(nil))), wrong},
		{"ES256 of zeros", strings.Join([]string{part([]byte(`{"alg":"ES256","kid":"ec"}`)), body, part(make([]byte, 64))}, "."), wrong},
		{"RS256 with the id of an EC key", s.forged(map[string]any{"kid": "ec"}), unknown},

		{"unknown kid", s.forged(map[string]any{"kid": "nobody"}), unknown},
		{"kid in capitals", s.forged(map[string]any{"kid": "RSA"}), unknown},
		{"kid as a path", s.forged(map[string]any{"kid": "../../dev/null"}), unknown},
		{"kid with SQL", s.forged(map[string]any{"kid": "rsa' OR '1'='1"}), unknown},
		{"kid empty", s.forged(map[string]any{"kid": ""}), kid},
		{"kid a number", s.forged(map[string]any{"kid": 1}), kid},
		{"kid an object", s.forged(map[string]any{"kid": map[string]any{}}), kid},
		{"kid of 300 bytes", s.forged(map[string]any{"kid": strings.Repeat("k", 300)}), kid},

		{"jku", s.forged(map[string]any{"jku": other.URL + "/jwks"}), "brings its own key (jku): keys are read from the issuer alone"},
		{"jwk", sign(t, "RS256", foreignKey, map[string]any{"jwk": own}, encoded(s.claims(nil))), "brings its own key (jwk): keys are read from the issuer alone"},
		{"x5u", s.forged(map[string]any{"x5u": other.URL}), "brings its own key (x5u): keys are read from the issuer alone"},
		{"x5c", s.forged(map[string]any{"x5c": []string{"AAAA"}}), "brings its own key (x5c): keys are read from the issuer alone"},
		{"crit", s.forged(map[string]any{"crit": []string{"exp"}, "exp": 1}), "has the header crit, which is not supported"},
		{"crit empty", s.forged(map[string]any{"crit": []string{}}), "has the header crit, which is not supported"},
		{"b64", s.forged(map[string]any{"b64": false}), "has the header b64, which is not supported"},
		{"zip", s.forged(map[string]any{"zip": "DEF"}), "has the header zip, which is not supported"},
		{"enc", s.forged(map[string]any{"enc": "A128GCM"}), "has the header enc, which is not supported"},
		{"typ of a logout", s.forged(map[string]any{"typ": "logout+jwt"}), "is a JWT of another type: want at+jwt or JWT"},
		{"typ of a DPoP proof", s.forged(map[string]any{"typ": "dpop+jwt"}), "is a JWT of another type: want at+jwt or JWT"},
		{"typ a list", s.forged(map[string]any{"typ": []string{"JWT"}}), "is a JWT of another type: want at+jwt or JWT"},
		{"alg twice", part([]byte(`{"alg":"none","kid":"rsa","alg":"RS256"}`)) + "." + body + "." + tail, header},
		{"alg twice, by case", part([]byte(`{"Alg":"none","kid":"rsa","alg":"RS256"}`)) + "." + body + "." + tail, header},

		{"claims not JSON", s.written("claims"), object},
		{"claims a list", s.written("[]"), object},
		{"claims empty", s.written(""), object},
		{"claims not UTF-8", s.written("{\"sub\":\"\xff\"}"), object},
		{"aud twice", s.written(`{"iss":%q,"sub":"a","exp":9e9,"aud":"x","aud":%q}`, s.URL, resourceURL), object},
		{"aud twice, by case", s.written(`{"iss":%q,"sub":"a","exp":9e9,"aud":"x","AUD":%q}`, s.URL, resourceURL), object},
		{"sub twice, by escapes", s.written(`{"iss":%q,"exp":9e9,"aud":%q,"sub":"a","s\u0075b":"root"}`, s.URL, resourceURL), object},
		{"10,000 nested arrays", s.written(`{"iss":%q,"groups":%s}`, s.URL, strings.Repeat("[", 4000)+strings.Repeat("]", 4000)), object},
	})
	if n := s.count("/jwks"); n > 2 {
		t.Errorf("got %d reads of the keys, want the first and one more", n)
	}
	if n := other.count("/jwks"); n != 0 {
		t.Errorf("got %d requests to the address in a token, want none", n)
	}
}

func TestVerify_refusesClaims(t *testing.T) {
	s := newServer(t)
	other := newServer(t)
	r := s.mustOpen(nil)
	now := s.clock().Unix()
	const (
		untrusted = "is of an issuer that is not trusted here"
		audience  = "is for another audience: want " + resourceURL
		audText   = "has an audience that is neither a text nor a list of texts"
		expired   = "has expired"
		noTime    = "has an exp that is not a time"
		subject   = "has a subject that is not a text of 1 to 255 bytes"
		groups    = "has groups that are not up to 512 texts of 1 to 256 bytes"
		scopes    = "has scopes that are not up to 512 texts of 1 to 256 bytes"
	)
	many := strings.Fields(strings.Repeat("g ", 600))
	refuse(t, r, []attack{
		{"another issuer", other.token(nil), untrusted},
		{"the issuer and a slash", s.claim("iss", s.URL+"/"), untrusted},
		{"the issuer in capitals", s.claim("iss", strings.ToUpper(s.URL)), untrusted},
		{"the issuer and a separator", s.claim("iss", s.URL+"|4711"), untrusted},
		{"no issuer", s.claim("iss", nil), "names no issuer"},
		{"issuers in a list", s.claim("iss", []string{s.URL}), "names no issuer"},

		{"no audience", s.claim("aud", nil), "has no audience: want " + resourceURL},
		{"another audience", s.claim("aud", "https://other.example.com/mcp"), audience},
		{"the audience and a slash", s.claim("aud", resourceURL+"/"), audience},
		{"the audience in capitals", s.claim("aud", strings.ToUpper(resourceURL)), audience},
		{"a part of the audience", s.claim("aud", "https://tools.example.com"), audience},
		{"audiences without ours", s.claim("aud", []string{"a", "b"}), audience},
		{"audiences of none", s.claim("aud", []string{}), audience},
		{"audience a number", s.claim("aud", 1), audText},
		{"audience an object", s.claim("aud", map[string]any{resourceURL: 1}), audText},
		{"audience in a nested list", s.claim("aud", []any{[]string{resourceURL}}), audText},
		{"AUD for aud", s.token(map[string]any{"aud": nil, "AUD": resourceURL}), "has no audience: want " + resourceURL},

		{"expired a second ago, and the skew", s.claim("exp", now-60), expired},
		{"expired in 1970", s.claim("exp", 0), expired},
		{"no expiry", s.claim("exp", nil), "has no time of expiry"},
		{"expiry a text", s.claim("exp", fmt.Sprint(now+60)), noTime},
		{"expiry negative", s.claim("exp", -1), noTime},
		{"expiry beyond all years", s.claim("exp", math.MaxInt64), noTime},
		{"expiry over all floats", s.written(`{"iss":%q,"aud":%q,"sub":"a","exp":1e999}`, s.URL, resourceURL), noTime},
		{"expiry null", s.written(`{"iss":%q,"aud":%q,"sub":"a","exp":null}`, s.URL, resourceURL), noTime},
		{"expiry true", s.claim("exp", true), noTime},
		{"not yet valid", s.claim("nbf", now+61), "is not valid yet (nbf)"},
		{"not before a text", s.claim("nbf", "now"), "has an nbf that is not a time"},
		{"issued in the future", s.claim("iat", now+61), "is not valid yet (iat)"},
		{"issued at a list", s.claim("iat", []int{1}), "has an iat that is not a time"},

		{"no subject", s.claim("sub", nil), subject},
		{"subject empty", s.claim("sub", ""), subject},
		{"subject a number", s.claim("sub", 4711), subject},
		{"subject a list", s.claim("sub", []string{"4711"}), subject},
		{"subject of 256 bytes", s.claim("sub", strings.Repeat("s", 256)), subject},
		{"subject with half a character", s.written(`{"iss":%q,"aud":%q,"exp":9e9,"sub":"\ud800"}`, s.URL, resourceURL), subject},
		{"bound to a key", s.claim("cnf", map[string]any{"jkt": "x"}), "is bound to a key of its client (cnf), which cannot be checked here: ask the issuer for bearer tokens"},

		{"groups nested", s.claim("groups", []any{[]any{[]any{"admins"}}}), groups},
		{"groups numbers", s.claim("groups", []int{1}), groups},
		{"groups an object", s.claim("groups", map[string]any{"admins": true}), groups},
		{"a group without a name", s.claim("groups", []string{""}), groups},
		{"600 groups", s.claim("groups", many), groups},
		{"a group with a line end", s.claim("groups", []string{"a\nb"}), groups},
		{"a group of 300 bytes", s.claim("groups", strings.Repeat("g", 300)), groups},
		{"scope an object", s.claim("scope", map[string]any{}), scopes},
		{"scope a number", s.claim("scope", 1), scopes},
		{"scope beyond ASCII", s.claim("scope", "wríte"), scopes},
		{"scope with a quote", s.claim("scope", `a"b`), scopes},
	})
}

// refuse verifies that each attack is refused with its text, also the second time, and that no text repeats a token.
func refuse(t *testing.T, r *Resource, attacks []attack) {
	t.Helper()
	for _, a := range attacks {
		for range 2 {
			id, err := r.Verify(t.Context(), a.token)
			var f *Failure
			if want := "the access token " + a.want; !errors.As(err, &f) || f.Code != InvalidToken || f.Reason != want || id.Principal != "" {
				t.Errorf("%s: got %+v, %v; want %s", a.name, id, err, want)
				continue
			}
			repeats(t, a.name, err.Error()+r.Challenge(f), a.token)
		}
	}
}

// repeats reports a part of a token in a text.
func repeats(t *testing.T, name, text, token string) {
	t.Helper()
	for _, p := range append(strings.Split(token, "."), canary) {
		if plain, _ := base64.RawURLEncoding.DecodeString(p); len(p) > 20 && strings.Contains(text, p) || len(plain) > 20 && strings.Contains(text, string(plain)) {
			t.Errorf("%s: got %q, want nothing of the token", name, text)
		}
	}
	if strings.Contains(text, canary) {
		t.Errorf("%s: got %q, want nothing of the claims", name, text)
	}
}

// The times in a token count with the skew, and not longer in the cache.
func TestVerify_acceptsATokenUntilItExpires(t *testing.T) {
	s := newServer(t)
	r := s.mustOpen(nil)
	now := s.clock().Unix()
	token := s.token(map[string]any{"exp": now + 10, "nbf": now + 60, "iat": now + 60})
	if _, err := r.Verify(t.Context(), token); err != nil {
		t.Fatalf("got %v, want a caller", err)
	}
	s.pass(69 * time.Second)
	if _, err := r.Verify(t.Context(), token); err != nil {
		t.Errorf("a second before: got %v, want a caller", err)
	}
	s.pass(time.Second)
	if _, err := r.Verify(t.Context(), token); err == nil || err.Error() != "the access token has expired" {
		t.Errorf("got %v, want the expiry", err)
	}
}

// Pairs of issuer and subject are different principals, also for readers that fold case, normalize or split.
func TestPrincipal_isInjective(t *testing.T) {
	pairs := [][2]string{
		{"https://a.example", "b|c"}, {"https://a.example", "b%7Cc"}, {"https://a.example", "b"}, {"https://a.example/b", "c"},
		{"https://a.example", "/b|c"}, {"https://a.example", "é"}, {"https://a.example", "e\u0301"}, {"https://a.example", "\u212a"}, {"https://a.example", "K"},
		{"https://a.example", "a\x00"}, {"https://a.example", "a"}, {"https://a.example", "a "}, {"https://a.example", "%61"}, {"https://a.example", "oauth:https://a.example|a"},
		{"https://a.example", "'; DROP TABLE kv; --"}, {"https://a.example", "аdmin"}, {"https://a.example", "admin"}, {"https://a.example", "a\u200db"}, {"https://a.example", "ab"},
	}
	seen := map[string][2]string{}
	for _, p := range pairs {
		name := principal(p[0], p[1])
		if other, found := seen[strings.ToLower(name)]; found {
			t.Errorf("got %q for %q and %q, want different principals", name, p, other)
		}
		if strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`'";\*?[]{}`, r) }) {
			t.Errorf("%q: got %q, want plain ASCII", p, name)
		}
		if at := strings.IndexByte(name, '|'); name[:at] != "oauth:"+p[0] || strings.Contains(name[at+1:], "|") {
			t.Errorf("%q: got %q, want one separator, behind the issuer", p, name)
		}
		seen[strings.ToLower(name)] = p
	}
}
