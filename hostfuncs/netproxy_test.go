package hostfuncs_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/egress"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// proxy is an HTTP proxy that connects all tunnels to a test server and records its requests.
type proxy struct {
	to     string
	answer string // sent instead of opening a tunnel
	mu     sync.Mutex
	asked  []string
}

func (p *proxy) start(t *testing.T) *url.URL {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(conn)
		}
	}()
	return &url.URL{Scheme: "http", Host: l.Addr().String(), User: url.UserPassword("me", "pass")}
}

func (p *proxy) serve(conn net.Conn) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	req, err := http.ReadRequest(r)
	if err != nil {
		return
	}
	p.mu.Lock()
	p.asked = append(p.asked, req.Method+" "+req.Host+" "+req.Header.Get("Proxy-Authorization"))
	p.mu.Unlock()
	if p.answer != "" {
		io.WriteString(conn, p.answer)
		return
	}
	server, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer server.Close()
	io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n")
	go io.Copy(server, r)
	io.Copy(conn, server)
}

func behind(u *url.URL, z *zone) *hostfuncs.Options {
	return &hostfuncs.Options{Web: egress.Options{Resolver: z, Proxy: func(*url.URL) (*url.URL, error) { return u, nil }}}
}

func TestProxy_carriesRequests(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s %q", r.Host, r.URL, r.Header.Get("Proxy-Authorization"))
	})
	p := &proxy{to: strings.TrimPrefix(s.URL, "http://")}
	z := &zone{names: map[string][][]string{"public.example": {{"93.184.216.34"}}, "cloud.example": {{"169.254.169.254"}}}}
	g := newGate(t, behind(p.start(t), z), "net: GET http://**/**")
	a, err := fetch(t, g, get("http://public.example/x"))
	if err != nil || a.text != `public.example /x ""` {
		t.Errorf("got %q, %v, want public.example /x without a header", a.text, err)
	}
	if len(p.asked) != 1 || p.asked[0] != "CONNECT 93.184.216.34:80 Basic bWU6cGFzcw==" {
		t.Errorf("proxy: got requests %q, want one CONNECT with its password", p.asked)
	}
	if e := g.Receipt().Effects; len(e) != 1 || e[0].Target != "GET http://public.example via proxy" {
		t.Errorf("got effects %+v, want GET http://public.example via proxy", e)
	}
	_, err = fetch(t, g, get("http://cloud.example/x"))
	wantAsk(t, err, runtime.KindDenied, `plugin "demo" may not GET http://cloud.example/x: cloud.example leads to a link-local address, which no grant names`, "")
	_, err = fetch(t, g, get("http://127.0.0.1/x"))
	wantAsk(t, err, runtime.KindDenied, `plugin "demo" may not GET http://127.0.0.1/x: 127.0.0.1 is a loopback address, which no grant names`, "net: GET http://127.0.0.1/x?")
	if len(p.asked) != 1 {
		t.Errorf("a loopback address: got proxy requests %q, want only the one before", p.asked)
	}
}

func TestProxy_tunnelsTLS(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.TLS.ServerName) }))
	defer s.Close()
	p := &proxy{to: strings.TrimPrefix(s.URL, "https://")}
	o := behind(p.start(t), &zone{names: map[string][][]string{"example.com": {{"93.184.216.34"}}}})
	o.Web.TLS = s.Client().Transport.(*http.Transport).TLSClientConfig
	g := newGate(t, o, "net: GET https://example.com/")
	if a, err := fetch(t, g, get("https://example.com/")); err != nil || a.text != "example.com" {
		t.Errorf("got %q, %v, want example.com", a.text, err)
	}
	if len(p.asked) != 1 || !strings.HasPrefix(p.asked[0], "CONNECT 93.184.216.34:443 ") {
		t.Errorf("proxy: got requests %q, want one CONNECT 93.184.216.34:443", p.asked)
	}
}

func TestProxy_isReachedOverTLS(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "ok") })
	to := strings.TrimPrefix(s.URL, "http://")
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		server, err := net.Dial("tcp", to)
		if err != nil {
			return
		}
		defer server.Close()
		io.WriteString(conn, "HTTP/1.1 200 ok\r\n\r\n")
		go io.Copy(server, rw)
		io.Copy(conn, server)
	}))
	defer secure.Close()
	u, _ := url.Parse(secure.URL)
	o := behind(u, &zone{names: map[string][][]string{"public.example": {{"93.184.216.34"}}}})
	o.Web.TLS = secure.Client().Transport.(*http.Transport).TLSClientConfig
	g := newGate(t, o, "net: GET http://public.example/")
	if a, err := fetch(t, g, get("http://public.example/")); err != nil || a.text != "ok" {
		t.Errorf("got %q, %v, want ok", a.text, err)
	}
}

func TestProxy_reportsErrors(t *testing.T) {
	z := &zone{names: map[string][][]string{"public.example": {{"93.184.216.34"}}}}
	tests := []struct{ answer, want string }{
		{"HTTP/1.1 403 no\r\n\r\n", "it answers 403"},
		{"HTTP/1.1 200 ok\r\n\r\nHTTP/1.1 200 smuggled\r\n\r\n", "it speaks before it is spoken to"},
		{"nonsense\r\n", "it does not answer"},
		{"HTTP/1.1 200 ok\r\nX: " + strings.Repeat("x", 20<<10), "it does not answer"},
	}
	for _, tt := range tests {
		p := &proxy{answer: tt.answer}
		g := newGate(t, behind(p.start(t), z), "net: GET http://public.example/")
		_, err := fetch(t, g, get("http://public.example/"))
		wantAsk(t, err, runtime.KindUnavailable, "the proxy gives no way to public.example: "+tt.want, "")
	}
	g := newGate(t, behind(&url.URL{Scheme: "socks5", Host: "127.0.0.1:1"}, z), "net: GET http://public.example/")
	_, err := fetch(t, g, get("http://public.example/"))
	wantAsk(t, err, runtime.KindUnavailable, "the proxy gives no way to public.example: a proxy speaks http or https", "")
	g = newGate(t, behind(&url.URL{Scheme: "http", Host: "127.0.0.1:1"}, z), "net: GET http://public.example/")
	_, err = fetch(t, g, get("http://public.example/"))
	wantAsk(t, err, runtime.KindUnavailable, "the proxy gives no way to public.example: it cannot be reached", "")
	g = newGate(t, &hostfuncs.Options{Web: egress.Options{Proxy: func(*url.URL) (*url.URL, error) { return nil, errors.New("bad") }}}, "net: GET http://public.example/")
	_, err = fetch(t, g, get("http://public.example/"))
	wantAsk(t, err, runtime.KindUnavailable, "the proxy settings of the host cannot be read", "")
}
