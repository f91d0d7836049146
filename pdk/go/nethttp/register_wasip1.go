package nethttp

import (
	"crypto/tls"
	"net/http"
)

// Register makes a transport send its requests by http/fetch. It panics if the transport has a protocol for http or
// https already.
func Register(t *http.Transport) {
	t.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{} // HTTP/2 would take https
	t.RegisterProtocol("http", fetcher{t})
	t.RegisterProtocol("https", fetcher{t})
}

func init() {
	if t, ok := http.DefaultTransport.(*http.Transport); ok {
		Register(t)
	}
}
