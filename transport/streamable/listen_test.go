package streamable

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// served is a site behind Listen and Serve.
type served struct {
	*site
	l    *Listener
	stop context.CancelFunc
	done chan error
}

func serve(t *testing.T, f *fake, o *Options) *served {
	t.Helper()
	if o.Addr == "" {
		o.Addr = "127.0.0.1:0"
	}
	l, err := Listen(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	h := newHandler(f, o)
	s := &served{&site{t, h, l.URL()}, l, stop, make(chan error, 1)}
	go func() { s.done <- l.Serve(ctx, h) }()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		stop()
	})
	return s
}

func (s *served) end() {
	s.t.Helper()
	s.stop()
	if err := receive(s.t, s.done); err != nil {
		s.t.Errorf("Serve: %v", err)
	}
}

// dial opens a raw connection.
func (s *served) dial() net.Conn {
	s.t.Helper()
	c, err := net.Dial("tcp", s.l.Addr().String())
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(patience))
	return c
}

// raw sends bytes and returns the status line of the response and the rest of the connection.
func raw(t *testing.T, c net.Conn, request string) (status, rest string) {
	t.Helper()
	go io.WriteString(c, request)
	all, _ := io.ReadAll(c) // a reset after the response is fine
	status, rest, _ = strings.Cut(string(all), "\r\n")
	return status, rest
}

func TestServe_answersMalformedHTTP(t *testing.T) {
	s := serve(t, newFake(), &Options{})
	for _, test := range []struct{ name, request, status string }{
		{"no http", "hello\r\n\r\n", "HTTP/1.1 400 Bad Request"},
		{"tls", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", "HTTP/1.1 400 Bad Request"},
		{"huge header", "POST /mcp HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 64<<10) + "\r\n\r\n", "HTTP/1.1 431 Request Header Fields Too Large"},
		{"many headers", "POST /mcp HTTP/1.1\r\nHost: localhost\r\n" + strings.Repeat("A: b\r\n", 20000) + "\r\n", "HTTP/1.1 431 Request Header Fields Too Large"},
		{"control in header", "POST /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Name: a\x01b\r\n\r\n", "HTTP/1.1 400 Bad Request"},
		{"two lengths", "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "HTTP/1.1 400 Bad Request"},
		{"two hosts", "POST /mcp HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n", "HTTP/1.1 400 Bad Request"},
		{"no host", "POST /mcp HTTP/1.0\r\n\r\n", "HTTP/1.0 403 Forbidden"},
		{"absolute evil url", "POST http://evil.example/mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", "HTTP/1.1 403 Forbidden"},
		{"huge length", "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n", "HTTP/1.1 413 Request Entity Too Large"},
		{"bad chunk", "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n", "HTTP/1.1 400 Bad Request"},
		{"endless chunks", "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.Repeat("100000\r\n"+strings.Repeat(" ", 1<<20)+"\r\n", 18), "HTTP/1.1 413 Request Entity Too Large"},
	} {
		if got, _ := raw(t, s.dial(), test.request); got != test.status {
			t.Errorf("%s: %q, want %q", test.name, got, test.status)
		}
	}
	s.want("the next call still works", "POST", callBody("echo", "hi"), modernHeaders("tools/call", "echo", nil), 200, `{"jsonrpc":"2.0","id":1,"result":"hi"}`)
	s.end()
}

const rawHead = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "

func TestServe_refusesSlowBodies(t *testing.T) {
	s := serve(t, newFake(), &Options{})
	s.h.bodyTimeout = 50 * time.Millisecond
	status, rest := raw(t, s.dial(), rawHead+"100\r\n\r\n{")
	if status != "HTTP/1.1 408 Request Timeout" || !strings.HasSuffix(rest, refused("the body took too long")) {
		t.Errorf("got %s\n%s", status, rest)
	}
	patient := serve(t, newFake(), &Options{})
	patient.h.bodyTimeout = 2 * patience // the body would be waited for longer than this test lasts
	evil := strings.Replace(rawHead, "Host", "Origin: http://evil\r\nHost", 1)
	if status, _ = raw(t, patient.dial(), evil+"100\r\n\r\n{"); status != "HTTP/1.1 403 Forbidden" {
		t.Errorf("got %s, want \"HTTP/1.1 403 Forbidden\"", status)
	}
	c := patient.dial()
	io.WriteString(c, rawHead+"100\r\n\r\n{")
	c.(*net.TCPConn).CloseWrite()
	status, rest = raw(t, c, "")
	if status != "HTTP/1.1 400 Bad Request" || !strings.HasSuffix(rest, refused("the body ended early")) {
		t.Errorf("got %s\n%s", status, rest)
	}
	patient.end()
	s.end()
}

// TestServe_renewsDeadlinesForEachRequest sends a second request on a connection after the deadlines of the first.
func TestServe_renewsDeadlinesForEachRequest(t *testing.T) {
	s := serve(t, newFake(), &Options{})
	s.h.bodyTimeout = 2 * time.Second // of the proper requests too
	c := s.dial()
	in := bufio.NewReader(c)
	for range 2 {
		body := callBody("echo", "hi")
		fmt.Fprintf(c, "%s%d\r\nMcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: echo\r\n\r\n%s", rawHead, len(body), body)
		r, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(r.Body)
		if r.StatusCode != 200 || !strings.Contains(string(got), `"hi"`) {
			t.Errorf("got %d %s; want 200, %q in it", r.StatusCode, got, `"hi"`)
		}
		// A later slow body is refused even after the deadline of this one.
		if status, _ := raw(t, s.dial(), rawHead+"100\r\n\r\n{"); status != "HTTP/1.1 408 Request Timeout" {
			t.Errorf("got %s, want \"HTTP/1.1 408 Request Timeout\"", status)
		}
	}
	c.Close()
	s.end()
}

func TestListen_refusesBadOptionsAndTakenAddresses(t *testing.T) {
	s := serve(t, newFake(), &Options{})
	if _, err := Listen(&Options{Addr: ":0"}); err == nil || !strings.HasPrefix(err.Error(), ":0 can be reached from other machines: ") {
		t.Errorf("got %v, want \":0 can be reached from other machines: \" at its begin", err)
	}
	if _, err := Listen(&Options{Addr: s.l.Addr().String()}); err == nil {
		t.Error("the same address twice")
	}
	_, err := Listen(&Options{Addr: "127.0.0.1:0", TLSCert: "/none/cert", TLSKey: "/none/key"})
	if !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), "TLS: ") {
		t.Errorf("got %v, want \"TLS: \" at its begin", err)
	}
	s.end()
}

func TestListener_returnsTheURLOfItsEndpoint(t *testing.T) {
	s := serve(t, newFake(), &Options{Path: "/x"})
	if want := "http://" + s.l.Addr().String() + "/x"; s.l.URL() != want {
		t.Errorf("got %q, want %q", s.l.URL(), want)
	}
	s.end()
}

// A handler without tokens serves only its own machine, with any listener.
func TestHandler_withoutTokensServesItsOwnMachine(t *testing.T) {
	for _, o := range []*Options{{BehindProxy: true}, {Addr: ":8470"}, {Addr: "unix:/run/x", BehindProxy: true}} {
		s := start(t, newFake(), o)
		s.want(o.Addr, "POST", modernBody("tools/list", ""), modernHeaders("tools/list", "", headers{"X-Forwarded-For": "127.0.0.1"}), 401,
			refused("this server has no tokens and answers its own machine only"))
	}
}

func TestServe_acceptsOnlyModernTLS(t *testing.T) {
	dir := t.TempDir()
	pool := writeCertificate(t, dir)
	o := &Options{TLSCert: filepath.Join(dir, "cert.pem"), TLSKey: filepath.Join(dir, "key.pem")}
	s := serve(t, newFake(), o)
	if !strings.HasPrefix(s.url, "https://") {
		t.Errorf("URL %q", s.url)
	}
	for _, http2 := range []bool{false, true} {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: http2}
		r, err := (&http.Client{Transport: transport}).Do(s.request(t.Context(), "POST", callBody("talk", ""), modernHeaders("tools/call", "talk", nil)))
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(r.Body)
		r.Body.Close()
		if want := sse(progress(0)) + sse(progress(1)) + sse(doneBody); string(body) != want || (r.ProtoMajor == 2) != http2 {
			t.Errorf("%s: got %s, want %s", r.Proto, body, want)
		}
		transport.CloseIdleConnections()
	}
	if status, _ := raw(t, s.dial(), "GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n"); status != "HTTP/1.0 400 Bad Request" {
		t.Errorf("in clear text: got %q, want \"HTTP/1.0 400 Bad Request\"", status)
	}
	_, err := tls.Dial("tcp", s.l.Addr().String(), &tls.Config{RootCAs: pool, MaxVersion: tls.VersionTLS11})
	if err == nil {
		t.Error("TLS 1.1 is accepted")
	}
	s.end()
}

// writeCertificate makes a self-signed certificate for 127.0.0.1.
func writeCertificate(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	os.WriteFile(filepath.Join(dir, "cert.pem"), cert, 0o600)
	os.WriteFile(filepath.Join(dir, "key.pem"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), 0o600)
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(bytes.TrimSpace(cert)) {
		t.Fatal("no certificate")
	}
	return pool
}

// 0.0.0.0 is reachable over IPv4 only, and [::] over both versions.
func TestListen_opensTheIPVersionsOfItsAddress(t *testing.T) {
	for addr, want := range map[string]map[string]bool{
		"0.0.0.0:0": {"tcp4": true, "tcp6": false},
		"[::]:0":    {"tcp4": true, "tcp6": true},
	} {
		l, err := Listen(&Options{Addr: addr, BehindProxy: true, Tokens: tokens{}})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		port := l.Addr().(*net.TCPAddr).Port
		for network, reached := range want {
			here := map[string]string{"tcp4": "127.0.0.1", "tcp6": "::1"}[network]
			c, err := net.Dial(network, net.JoinHostPort(here, strconv.Itoa(port)))
			if got := err == nil; got != reached {
				t.Errorf("%s over %s: %v", addr, network, err)
			}
			if err == nil {
				c.Close()
			}
		}
	}
}
