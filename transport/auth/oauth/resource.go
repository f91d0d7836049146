package oauth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

const (
	defaultSkew = time.Minute
	wellKnown   = "/.well-known/oauth-protected-resource"
)

// Options describe a resource.
type Options struct {
	// URL is the address of the endpoint for clients, and the identifier of the resource.
	URL string
	// Issuers are the authorization servers whose tokens are accepted.
	Issuers []Issuer
	// Scopes are required of each token.
	Scopes []string
	// Implied are the narrower scopes that a broader one has in it, at any depth; nil is none.
	Implied map[string][]string
	// Skew is the tolerated difference of clocks, at most MaxSkew; 0 means one minute.
	Skew time.Duration

	now func() time.Time // nil means time.Now
}

// Resource verifies the tokens for one endpoint. It is safe for concurrent use.
type Resource struct {
	url     string
	place   *url.URL
	issuers []*issuer
	scopes  []string
	implied func([]string) []string
	skew    time.Duration
	now     func() time.Time
	client  *http.Client
	cache   *cache
}

// Open reads the metadata and the keys of each issuer. An error means that clients could not sign in.
func Open(ctx context.Context, o *Options) (*Resource, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	place, err := checkAddress(o.URL)
	if err != nil {
		return nil, fmt.Errorf("the address of the resource: %w", err)
	}
	r := &Resource{
		url: o.URL, place: place, scopes: union(o.Scopes), implied: o.WithImplied,
		skew: o.Skew, now: o.now, client: newClient(), cache: newCache(),
	}
	if r.skew == 0 {
		r.skew = defaultSkew
	}
	if r.now == nil {
		r.now = time.Now
	}
	for _, i := range o.Issuers {
		opened, err := i.open(ctx, r)
		if err != nil {
			return nil, fmt.Errorf("issuer %s: %w", i.URL, err)
		}
		r.issuers = append(r.issuers, opened)
	}
	return r, nil
}

// union returns the names of some lists, sorted and each once.
func union(lists ...[]string) []string {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return slices.Compact(all)
}

// maxImplied bounds the scopes that imply others: each token is compared with them.
const maxImplied = 256

// WithImplied returns scopes with those that they imply, sorted and each once.
func (o *Options) WithImplied(scopes []string) []string {
	all := union(scopes)
	for i := 0; i < len(all); i++ {
		for _, s := range o.Implied[all[i]] {
			if !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
	}
	return union(all)
}

// Check refuses options that contradict each other, without a request. It does not read the URL.
func (o *Options) Check() error {
	if len(o.Issuers) == 0 {
		return errors.New("no issuer")
	}
	if o.Skew < 0 || o.Skew > MaxSkew {
		return fmt.Errorf("a skew of %v is not between 0 and %v", o.Skew, MaxSkew)
	}
	if len(o.Implied) > maxImplied {
		return fmt.Errorf("%d scopes imply others: %d may", len(o.Implied), maxImplied)
	}
	for _, s := range slices.Concat(append(slices.Collect(maps.Values(o.Implied)), o.Scopes, slices.Collect(maps.Keys(o.Implied)))...) {
		if !IsScope(s) {
			return fmt.Errorf("%q is not a scope: it may hold visible ASCII but quotes and backslashes", s)
		}
	}
	return o.checkIssuers()
}

func (o *Options) checkIssuers() error {
	urls, names, asked := map[string]bool{}, map[string]bool{}, 0
	for _, i := range o.Issuers {
		if err := i.check(); err != nil {
			return fmt.Errorf("issuer %s: %w", i.URL, err)
		}
		if urls[i.URL] {
			return fmt.Errorf("issuer %s: it is there twice", i.URL)
		}
		if len(o.Issuers) > 1 && (i.Name == "" || names[i.Name]) {
			return fmt.Errorf("issuer %s: among several each needs a name of its own, which precedes its groups", i.URL)
		}
		if i.Introspection != nil {
			asked++
		}
		urls[i.URL], names[i.Name] = true, true
	}
	if asked > 1 {
		return errors.New("two issuers have introspection: an opaque token does not say whose it is, and none is sent to a foreign issuer")
	}
	return nil
}

// Verify returns the caller with a token. The error is a *Failure.
func (r *Resource) Verify(ctx context.Context, token string) (identity.Identity, error) {
	d := digestOf(token)
	id, ok := r.cache.get(d, r.now())
	if !ok {
		v, err := r.verify(ctx, d, token)
		if err != nil {
			return identity.Identity{}, FailureOf(err)
		}
		r.cache.put(d, v)
		id = v.identity
	}
	if f := r.Missing(id.Scopes, nil); f != nil {
		return identity.Identity{}, f
	}
	return id, nil
}

// Missing returns the refusal of a caller that lacks one of the scopes that it needs, or that each token needs; nil if
// it has all. It names all of both at once, so that one step is enough (Scope Challenge Handling of MCP's authorization).
func (r *Resource) Missing(granted, needed []string) *Failure {
	all := union(r.scopes, needed)
	if !slices.ContainsFunc(all, func(s string) bool { return !slices.Contains(granted, s) }) {
		return nil
	}
	return &Failure{Code: InsufficientScope, Reason: "the access token lacks a scope", Scopes: all}
}

// verify verifies a token that is not in the cache.
func (r *Resource) verify(ctx context.Context, d digest, token string) (verified, error) {
	kind, err := shape(token)
	if err != nil {
		return verified{}, err
	}
	c := &claims{}
	if kind == signed {
		err = r.verifySigned(ctx, token, c)
	} else if i := r.introspecting(); i != nil {
		c.of(i)
	}
	if err != nil {
		return verified{}, err
	}
	return r.confirm(ctx, d, token, c)
}

// confirm asks the issuer, if it has introspection, and reads the claims of the token, or those of the answer.
func (r *Resource) confirm(ctx context.Context, d digest, token string, c *claims) (v verified, err error) {
	if c.issuer == nil {
		return v, invalid("is not a JWT, and no issuer is asked about opaque ones")
	}
	most := keysEvery
	if c.issuer.asks != nil {
		answer, err := c.issuer.asks.ask(ctx, d, token)
		if err != nil {
			return v, err
		}
		if said := jsonraw.Get(answer, "iss"); said != nil && !isText(said, c.issuer.URL) {
			return v, invalid("is of another issuer")
		}
		most = introspectedFor
		if c.raw == nil {
			c.raw = answer
		}
	}
	id, until, err := c.identity(r.now(), r.skew)
	if err != nil {
		return v, err
	}
	id.Scopes = r.implied(id.Scopes)
	if latest := r.now().Add(most); until.IsZero() || until.After(latest) {
		until = latest
	}
	return verified{identity: id, until: until, issuer: c.issuer, keys: c.keys}, nil
}

func isText(raw []byte, want string) bool {
	text, ok := exactText(raw)
	return ok && text == want
}

// introspecting returns the issuer of opaque tokens, nil if there is none.
func (r *Resource) introspecting() *issuer {
	for _, i := range r.issuers {
		if i.asks != nil {
			return i
		}
	}
	return nil
}

// verifySigned verifies the signature, the issuer and the audience of a JWT.
func (r *Resource) verifySigned(ctx context.Context, token string, c *claims) error {
	name, err := issuerOf(token)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(r.issuers, func(i *issuer) bool { return i.URL == name })
	if at < 0 {
		return invalid("is of an issuer that is not trusted here")
	}
	c.of(r.issuers[at])
	if err := checkHeader(token, c.issuer.Algorithms); err != nil {
		return err
	}
	c.raw, _ = decode(strings.Split(token, ".")[1]) // issuerOf has decoded it
	if jsonraw.Get(c.raw, "exp") == nil {
		return invalid("has no time of expiry")
	}
	if err := c.checkAudience(); err != nil {
		return err
	}
	err = c.issuer.verify(ctx, token)
	var f *Failure
	if err != nil && !errors.As(err, &f) { // the signature is good, and the library cannot read a claim
		_, _, err = c.identity(r.now(), r.skew)
		err = cmp.Or(err, invalid("is not valid"))
	}
	return err
}
