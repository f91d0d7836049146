package egress

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/secret"
)

// A call that ends while its response begins releases its place exactly once, without other effects.
func TestDo_releasesPlaceOnceIfEndedAsResponseBegins(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("answer")) }))
	defer server.Close()
	c := NewClient(Options{Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
	}})
	defer c.Close()
	for range 200 {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		r, err := c.Do(ctx, &Request{Method: "GET", URL: &url.URL{Scheme: "http", Host: "192.88.98.1", Path: "/"}, Header: http.Header{}}, nil, Exchange{
			Prepare:  func(*http.Request) (bool, error) { return false, nil },
			Answered: func(int, http.Header) *secret.Redactor { cancel(); return nil },
			Read:     func(int) error { return nil },
			Done:     func() { close(done) },
		})
		if err != nil {
			t.Fatal(err)
		}
		<-done
		r.Body.Close()
		if n := c.inFlight.Load(); n != 0 {
			t.Fatalf("got %d requests in flight, want 0", n)
		}
	}
}
