package streamable

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/sallyport-mcp/sallyport/transport/listener"
)

// Requests on one connection come one after the other in HTTP/1.1, with TLS too, and at once in HTTP/2. A foreign listener's
// are not told apart.
func TestSoleConn(t *testing.T) {
	dir := t.TempDir()
	pool := writeCertificate(t, dir)
	certificate, err := tls.LoadX509KeyPair(filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name        string
		own, secure bool
		http2       bool
		sole        bool
	}{
		{name: "HTTP/1.1", own: true, sole: true}, {name: "HTTP/1.1 over TLS", own: true, secure: true, sole: true},
		{name: "HTTP/2", own: true, secure: true, http2: true}, {name: "a foreign listener"},
	} {
		var got []any
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if (r.ProtoMajor == 2) != c.http2 {
				t.Errorf("%s: got %s", c.name, r.Proto)
			}
			got = append(got, soleConn(r))
		}))
		if c.own {
			srv.Listener = listener.NewPlaces(8).Listen(srv.Listener)
			srv.Config.ConnContext = withConn
		}
		srv.EnableHTTP2 = c.http2
		if c.secure {
			srv.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
			srv.StartTLS()
		} else {
			srv.Start()
		}
		clients := []*http.Transport{}
		for range 2 {
			clients = append(clients, &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: c.http2})
		}
		for _, client := range []*http.Transport{clients[0], clients[0], clients[1]} {
			r, err := (&http.Client{Transport: client}).Get(srv.URL)
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			r.Body.Close()
		}
		for _, client := range clients {
			client.CloseIdleConnections()
		}
		srv.Close()
		if first, second, other := got[0], got[1], got[2]; c.sole && (first == nil || first != second || first == other) {
			t.Errorf("%s: got %v, %v and, on another connection, %v; want one, the same and another", c.name, first, second, other)
		} else if !c.sole && (first != nil || second != nil || other != nil) {
			t.Errorf("%s: got %v, %v and %v, want nil each", c.name, first, second, other)
		}
	}
}
