package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

const (
	// introspectedFor bounds the time for which an issuer's answer is believed, so that a revoked token ends.
	introspectedFor = time.Minute
	// maxFlights bounds the requests to one issuer at once.
	maxFlights = 64
)

// Introspection asks an issuer whether a token is active (RFC 7662).
type Introspection struct {
	// URL is the endpoint. "" is the one in the metadata, which must be on the issuer's host.
	URL string
	// Client is the identifier of this server at the issuer.
	Client string
	// Secret returns the client's secret. It is called for each request, so that a replaced one is used at once.
	Secret func() (string, error)
}

func (o *Introspection) check() error {
	if o.Client == "" || o.Secret == nil {
		return errors.New("introspection needs a client and its secret")
	}
	if o.URL == "" {
		return nil
	}
	_, err := checkAddress(o.URL)
	return err
}

// introspector asks one issuer. Concurrent questions about one token are one request.
type introspector struct {
	Introspection
	address string
	client  *http.Client

	mu      sync.Mutex
	flights map[digest]*flight
}

// flight is a request in progress.
type flight struct {
	done chan struct{}
	raw  []byte
	err  error
}

// introspector returns the introspector of an issuer. It fails if the secret cannot be read.
func (i *Issuer) introspector(metadata []byte, r *Resource) (*introspector, error) {
	address, err := i.endpoint(metadata, "introspection_endpoint", "introspection.url", i.Introspection.URL)
	if err != nil {
		return nil, err
	}
	if _, err := i.Introspection.Secret(); err != nil {
		return nil, fmt.Errorf("introspection: %w", err)
	}
	return &introspector{Introspection: *i.Introspection, address: address, client: r.client, flights: map[digest]*flight{}}, nil
}

// ask returns the claims of an active token.
func (s *introspector) ask(ctx context.Context, d digest, token string) ([]byte, error) {
	s.mu.Lock()
	f := s.flights[d]
	if f == nil {
		if len(s.flights) >= maxFlights {
			s.mu.Unlock()
			return nil, unavailable("too many tokens wait for their issuer: retry later")
		}
		f = &flight{done: make(chan struct{})}
		s.flights[d] = f
		go s.fly(context.WithoutCancel(ctx), f, d, token)
	}
	s.mu.Unlock()
	select {
	case <-f.done:
		return f.raw, f.err
	case <-ctx.Done():
		return nil, unavailable("the request ended before the issuer of its token answered")
	}
}

func (s *introspector) fly(ctx context.Context, f *flight, d digest, token string) {
	f.raw, f.err = s.request(ctx, token)
	s.mu.Lock()
	delete(s.flights, d)
	s.mu.Unlock()
	close(f.done)
}

func (s *introspector) request(ctx context.Context, token string) ([]byte, error) {
	secret, err := s.Secret()
	if err != nil {
		return nil, unavailable("this server cannot read its secret for the issuer of the token")
	}
	form := url.Values{"token": {token}, "token_type_hint": {"access_token"}}.Encode()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.address, strings.NewReader(form))
	if err != nil {
		return nil, unavailable("the issuer of the token cannot be asked")
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth(url.QueryEscape(s.Client), url.QueryEscape(secret)) // RFC 6749, section 2.3.1
	raw, err := exchange(s.client, r)
	if err != nil {
		return nil, unavailable("the issuer of the token does not answer: retry later")
	}
	return raw, checkActive(raw)
}

// checkActive accepts an answer about an active bearer token.
func checkActive(raw []byte) error {
	if string(jsonraw.Get(raw, "active")) != "true" {
		return invalid("is not active: it is unknown to its issuer, expired or revoked")
	}
	if kind := jsonraw.Get(raw, "token_type"); kind != nil {
		if text, _ := jsonraw.String(kind); !strings.EqualFold(text, "bearer") && !strings.EqualFold(text, "access_token") {
			return invalid("is not a bearer token")
		}
	}
	return nil
}
