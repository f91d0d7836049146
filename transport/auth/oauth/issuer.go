package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// Issuer is an authorization server as the operator describes it.
type Issuer struct {
	// URL is the issuer identifier, compared as text.
	URL string
	// Name precedes the issuer's groups, as NAME:GROUP. Groups of an issuer without a name are as it wrote them.
	Name string
	// Audience is the value that a token's audience must contain. "" is the address of the resource.
	Audience string
	// Keys is the address of the key set. "" is the one in the metadata, which must be on the issuer's host.
	Keys string
	// Algorithms are the accepted signature algorithms, a subset of Algorithms(). None means all of them.
	Algorithms []string
	// Groups and Scopes are the claims that hold groups and scopes, as paths. Empty are "groups", and "scope" or "scp".
	Groups, Scopes []string
	// Introspection asks the issuer about each token. Nil trusts the signature until the token expires.
	Introspection *Introspection
}

// Algorithms returns the signature algorithms that can be accepted. All are asymmetric.
func Algorithms() []string {
	return []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA}
}

// maxIssuer bounds an issuer, in bytes: it is a part of each principal.
const maxIssuer = 240

var issuerName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)

// check refuses a description that no issuer can satisfy.
func (i *Issuer) check() error {
	if _, err := checkAddress(i.URL); err != nil {
		return err
	}
	if len(i.URL) > maxIssuer {
		return fmt.Errorf("it is longer than %d bytes", maxIssuer)
	}
	if i.Name != "" && !issuerName.MatchString(i.Name) {
		return fmt.Errorf("the name %q may hold 1 to 32 small letters, digits and hyphens", i.Name)
	}
	for _, a := range i.Algorithms {
		if !slices.Contains(Algorithms(), a) {
			return fmt.Errorf("the algorithm %q is none of %s", a, strings.Join(Algorithms(), ", "))
		}
	}
	if i.Keys != "" {
		if _, err := checkAddress(i.Keys); err != nil {
			return err
		}
	}
	if i.Introspection != nil {
		return i.Introspection.check()
	}
	return nil
}

// issuer is an opened Issuer.
type issuer struct {
	Issuer
	keys *keySet
	asks *introspector // nil without introspection
}

// open reads the metadata and the keys of an issuer.
func (i Issuer) open(ctx context.Context, r *Resource) (*issuer, error) {
	i.Audience = orDefault(i.Audience, r.url)
	if len(i.Algorithms) == 0 {
		i.Algorithms = Algorithms()
	}
	m, err := i.metadata(ctx, r.client)
	if err != nil {
		return nil, err
	}
	keysAt, err := i.endpoint(m, "jwks_uri", "jwks", i.Keys)
	if err != nil {
		return nil, err
	}
	found := &issuer{Issuer: i, keys: newKeySet(r, keysAt, i.Algorithms)}
	if err := found.keys.load(ctx); err != nil {
		return nil, fmt.Errorf("keys at %s: %w", keysAt, err)
	}
	if i.Introspection != nil {
		found.asks, err = i.introspector(m, r)
	}
	return found, err
}

// verify checks the signature, the issuer and the audience of a JWT.
func (i *issuer) verify(ctx context.Context, token string) error {
	a := &attempt{set: i.keys}
	_, err := oidc.NewVerifier(i.URL, a, &oidc.Config{
		ClientID: i.Audience, SupportedSigningAlgs: i.Algorithms,
		SkipExpiryCheck: true, // claims.checkTimes has a smaller skew
	}).Verify(ctx, token)
	switch {
	case a.err != nil:
		return a.err
	case err != nil && !a.made:
		return invalid("is not a signed JWT")
	}
	return err
}

// metadata reads the issuer's metadata (RFC 8414, or OpenID Connect discovery) from the first place that has it.
func (i *Issuer) metadata(ctx context.Context, c *http.Client) ([]byte, error) {
	var last error
	for _, place := range metadataPlaces(i.URL) {
		raw, err := get(ctx, c, place)
		if errors.Is(err, errNotFound) {
			last = errors.Join(last, fmt.Errorf("%s: %w", place, err))
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("metadata at %s: %w", place, err)
		}
		if said, _ := jsonraw.String(jsonraw.Get(raw, "issuer")); said != i.URL {
			return nil, fmt.Errorf("metadata at %s: the issuer there is %q, want the same as in the settings", place, said)
		}
		return raw, nil
	}
	return nil, fmt.Errorf("no metadata: %w", last)
}

// metadataPlaces returns the addresses of an issuer's metadata, in the order of the MCP specification.
func metadataPlaces(issuer string) []string {
	u, _ := url.Parse(issuer) // checked
	path := strings.TrimSuffix(u.EscapedPath(), "/")
	base := u.Scheme + "://" + u.Host
	places := []string{
		base + "/.well-known/oauth-authorization-server" + path,
		base + "/.well-known/openid-configuration" + path,
	}
	if path != "" {
		places = append(places, base+path+"/.well-known/openid-configuration")
	}
	return places
}

// endpoint returns the address that the operator wrote, or else the one in the metadata, which must be on the issuer's
// host: metadata that an attacker could change must not direct requests elsewhere.
func (i *Issuer) endpoint(metadata []byte, member, key, written string) (string, error) {
	if written != "" {
		return written, nil
	}
	found, _ := jsonraw.String(jsonraw.Get(metadata, member))
	if found == "" {
		return "", fmt.Errorf("the metadata has no %s: write %s", member, key)
	}
	u, err := checkAddress(found)
	if err != nil {
		return "", fmt.Errorf("%s in the metadata: %w", member, err)
	}
	if own, _ := url.Parse(i.URL); own.Scheme != u.Scheme || own.Host != u.Host {
		return "", fmt.Errorf("%s in the metadata is on another host: if it is right, write %s: %s", member, key, found)
	}
	return found, nil
}

func orDefault(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
