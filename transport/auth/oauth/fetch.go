package oauth

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

const (
	// fetchTimeout bounds one request to an issuer, from the connection to the last byte.
	fetchTimeout = 5 * time.Second
	// maxDocument bounds a document of an issuer, in bytes. Large key sets with certificates have 20 KiB.
	maxDocument = 256 << 10
)

// errNotFound reports a document that does not exist.
var errNotFound = errors.New("status 404")

// newClient returns the client for requests to issuers. It follows no redirect: each address is one that the operator
// wrote, or one on the same host.
func newClient() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	t.MaxResponseHeaderBytes = 64 << 10
	t.MaxConnsPerHost = 16
	return &http.Client{
		Timeout: fetchTimeout, Transport: t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// get reads a JSON object of an issuer.
func get(ctx context.Context, c *http.Client, address string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	return exchange(c, r)
}

// exchange sends a request and reads the JSON object in its response.
func exchange(c *http.Client, r *http.Request) ([]byte, error) {
	r.Header.Set("Accept", "application/json")
	response, err := c.Do(r)
	if err != nil {
		return nil, withoutAddress(err)
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode == http.StatusNotFound:
		return nil, errNotFound
	case response.StatusCode >= 300 && response.StatusCode < 400:
		return nil, fmt.Errorf("status %d: redirects are not followed", response.StatusCode)
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("status %d, want 200", response.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxDocument+1))
	switch {
	case err != nil:
		return nil, withoutAddress(err)
	case len(body) > maxDocument:
		return nil, fmt.Errorf("the document is larger than %d bytes", maxDocument)
	}
	return body, checkObject(body)
}

// withoutAddress strips the address from an error, as each caller adds it.
func withoutAddress(err error) error {
	var e *url.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// checkObject accepts a JSON object in which no two keys are equal under case folding, so that every parser reads the
// same members.
func checkObject(raw []byte) error {
	if err := jsonraw.Valid(raw); err != nil {
		return errors.New("it is not JSON")
	}
	if !jsonraw.IsObject(raw) {
		return errors.New("it is not a JSON object")
	}
	if _, found := jsonraw.AmbiguousKey(raw); found {
		return errors.New("two members have the same name")
	}
	return nil
}

// checkAddress accepts an https address, or an http one on loopback, without user, query or fragment.
func checkAddress(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "" || u.Opaque != "":
		return nil, fmt.Errorf("%q is not of the form https://host/path", text)
	case strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`|"\<>^{}`+"`", r) }):
		return nil, fmt.Errorf("%q has a character that addresses do not have", text)
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || strings.Contains(text, "#"):
		return nil, fmt.Errorf("%q has a user, a query or a fragment", text)
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, fmt.Errorf("%q is not of the form https://host/path", text)
	case u.Scheme == "http" && !isLoopback(u.Hostname()):
		return nil, fmt.Errorf("%q is sent in clear text: use https, or a loopback address", text)
	case u.Host != strings.ToLower(u.Host):
		return nil, fmt.Errorf("%q has capital letters in its host: write them small, since addresses are compared as text", text)
	}
	return u, nil
}

// isLoopback accepts the name localhost and literal addresses, without name resolution.
func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}
