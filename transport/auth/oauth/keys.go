package oauth

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

const (
	// keysEvery is the time after which keys in use are read again, so that a withdrawn key ends.
	keysEvery = 5 * time.Minute
	// keysGap is the minimum time between two reads, for any sequence of tokens.
	keysGap = 10 * time.Second
	// keysMost is the time for which the last keys serve while their issuer does not answer.
	keysMost = time.Hour

	maxKeys    = 100
	minRSABits = 2048
	maxRSABits = 8192
)

// keySet holds the keys of an issuer, and reads them again when they are old, or when a token names an unknown one.
type keySet struct {
	address    string
	client     *http.Client
	now        func() time.Time
	algorithms []string

	current atomic.Pointer[keys]

	mu      sync.Mutex
	reading chan struct{} // closed when the read in progress ends; nil if none is
	next    time.Time     // the earliest next read
	failed  error         // of the last read
}

// keys are the keys of one read.
type keys struct {
	list []jose.JSONWebKey
	from digest // of the document
	at   time.Time
}

func newKeySet(r *Resource, address string, algorithms []string) *keySet {
	return &keySet{address: address, client: r.client, now: r.now, algorithms: algorithms}
}

// load reads the keys.
func (s *keySet) load(ctx context.Context) error {
	raw, err := get(ctx, s.client, s.address)
	if err != nil {
		return err
	}
	list, err := parseKeys(raw)
	if err != nil {
		return err
	}
	s.current.Store(&keys{list: list, from: sha256.Sum256(raw), at: s.now()})
	return nil
}

// refresh reads the keys again, unless they were read within keysGap. All callers share one read, which the end of a
// caller does not end.
func (s *keySet) refresh(ctx context.Context) {
	s.mu.Lock()
	if s.reading == nil {
		if s.now().Before(s.next) {
			s.mu.Unlock()
			return
		}
		s.next = s.now().Add(keysGap)
		s.reading = make(chan struct{})
		go s.read(context.WithoutCancel(ctx))
	}
	done := s.reading
	s.mu.Unlock()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

func (s *keySet) read(ctx context.Context) {
	err := s.load(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.reading)
	s.reading, s.failed = nil, err
}

// fresh returns the keys, read again if they are old. It fails if they are too old to be trusted.
func (s *keySet) fresh(ctx context.Context) (*keys, error) {
	if age := s.now().Sub(s.current.Load().at); age >= keysEvery {
		s.refresh(ctx)
	}
	k := s.current.Load()
	if s.now().Sub(k.at) >= keysMost {
		return nil, unavailable("the keys of the issuer cannot be read: retry later")
	}
	return k, nil
}

// attempt is the oidc.KeySet of one verification. It keeps the error, of which oidc passes on the text alone.
type attempt struct {
	set  *keySet
	made bool
	err  error
}

// VerifySignature returns the payload of a JWT with a signature by one of the keys.
func (a *attempt) VerifySignature(ctx context.Context, jwt string) (payload []byte, err error) {
	a.made = true
	payload, a.err = a.set.verify(ctx, jwt)
	return payload, a.err
}

func (s *keySet) verify(ctx context.Context, jwt string) ([]byte, error) {
	accepted := make([]jose.SignatureAlgorithm, len(s.algorithms))
	for i, a := range s.algorithms {
		accepted[i] = jose.SignatureAlgorithm(a)
	}
	signed, err := jose.ParseSignedCompact(jwt, accepted)
	if err != nil {
		return nil, invalid("is not a signed JWT")
	}
	k, err := s.fresh(ctx)
	if err != nil {
		return nil, err
	}
	payload, err := k.verify(signed)
	if err == nil {
		return payload, nil
	}
	s.refresh(ctx) // a rotated key
	again := s.current.Load()
	if again == k {
		return nil, err
	}
	return again.verify(signed)
}

// verify checks the signature by the key that the token names.
func (k *keys) verify(signed *jose.JSONWebSignature) ([]byte, error) {
	header := signed.Signatures[0].Protected
	var fitting []*jose.JSONWebKey
	for i := range k.list {
		if one := &k.list[i]; (header.KeyID == "" || one.KeyID == header.KeyID) && fits(one, header.Algorithm) {
			fitting = append(fitting, one)
		}
	}
	switch {
	case len(fitting) == 0:
		return nil, invalid("is signed by a key that its issuer does not publish")
	case len(fitting) > 1:
		return nil, invalid("names no key, and its issuer publishes several")
	}
	payload, err := signed.Verify(fitting[0].Key)
	if err != nil {
		return nil, invalid("has a wrong signature")
	}
	return payload, nil
}

// fits reports whether a key is for an algorithm.
func fits(k *jose.JSONWebKey, algorithm string) bool {
	if k.Algorithm != "" && k.Algorithm != algorithm {
		return false
	}
	switch key := k.Key.(type) {
	case *rsa.PublicKey:
		return algorithm[0] == 'R' || algorithm[0] == 'P'
	case *ecdsa.PublicKey:
		return algorithm == map[string]string{"P-256": "ES256", "P-384": "ES384", "P-521": "ES512"}[key.Params().Name]
	case ed25519.PublicKey:
		return algorithm == "EdDSA"
	}
	return false
}

// parseKeys returns the keys for signatures of a key set. A set that gives away secrets is refused as a whole, and keys
// of unknown kinds are skipped.
func parseKeys(raw []byte) (list []jose.JSONWebKey, err error) {
	items, err := jsonraw.Elements(jsonraw.Get(raw, "keys"))
	if err != nil {
		return nil, errors.New(`it has no array "keys"`)
	}
	if len(items) > maxKeys {
		return nil, fmt.Errorf("it has over %d keys", maxKeys)
	}
	skipped := errors.New("it has no key for signatures")
	for _, item := range items {
		if err := checkPublic(item); err != nil {
			return nil, err
		}
		key, err := parseKey(item)
		if err != nil {
			skipped = err
			continue
		}
		if slices.ContainsFunc(list, func(k jose.JSONWebKey) bool { return k.KeyID == key.KeyID && key.KeyID != "" }) {
			return nil, errors.New("two keys have the same kid")
		}
		list = append(list, *key)
	}
	if len(list) == 0 {
		return nil, skipped
	}
	return list, nil
}

// checkPublic refuses a set that publishes a secret: its owner has lost it.
func checkPublic(item json.RawMessage) error {
	if !jsonraw.IsObject(item) {
		return errors.New("a key is not an object")
	}
	for _, secret := range []string{"d", "p", "q", "dp", "dq", "qi", "oth", "priv"} {
		if jsonraw.Get(item, secret) != nil {
			return errors.New("it publishes a private key")
		}
	}
	if kind, _ := jsonraw.String(jsonraw.Get(item, "kty")); kind == "oct" || jsonraw.Get(item, "k") != nil {
		return errors.New("it publishes a symmetric key")
	}
	return nil
}

// parseKey returns a key for signatures. The error says why it cannot be used.
func parseKey(item json.RawMessage) (*jose.JSONWebKey, error) {
	if use := jsonraw.Get(item, "use"); use != nil && string(use) != `"sig"` {
		return nil, errors.New("its keys are not for signatures")
	}
	if operations := jsonraw.Get(item, "key_ops"); operations != nil {
		list, _ := texts(operations)
		if !slices.Contains(list, "verify") {
			return nil, errors.New("its keys are not for signatures")
		}
	}
	k := new(jose.JSONWebKey)
	if err := json.Unmarshal(item, k); err != nil {
		return nil, errors.New("its keys are of an unknown kind, or not valid")
	}
	if key, ok := k.Key.(*rsa.PublicKey); ok {
		if bits := key.N.BitLen(); bits < minRSABits || bits > maxRSABits {
			return nil, fmt.Errorf("its RSA key has %d bits, want %d to %d", bits, minRSABits, maxRSABits)
		}
		if key.E < 3 || key.E%2 == 0 {
			return nil, errors.New("its RSA key has a bad exponent")
		}
	}
	if !k.Valid() || !k.IsPublic() {
		return nil, errors.New("its keys are of an unknown kind, or not valid")
	}
	return k, nil
}
