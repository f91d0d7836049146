package egress

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/runtime"
)

func TestClassify_namesRangeOfAddress(t *testing.T) {
	ranges := newTable()
	for address, want := range map[string]Class{
		"93.184.216.34": Public, "8.8.8.8": Public, "2606:4700::1111": Public,
		"127.0.0.1": Loopback, "127.255.255.254": Loopback, "::1": Loopback,
		"10.1.2.3": Private, "172.16.0.1": Private, "172.31.255.255": Private, "172.32.0.1": Public, "192.168.1.1": Private, "100.64.0.1": Private,
		"fd12::1": Private, "fec0::1": Private,
		"169.254.169.254": LinkLocal, "fe80::1": LinkLocal,
		"168.63.129.16": Metadata, "fd00:ec2::254": Metadata,
		"0.0.0.0": Special, "::": Special, "192.0.2.1": Special, "255.255.255.255": Special, "2001:db8::1": Special, "4000::1": Special,
		"224.0.0.1": Multicast, "ff02::1": Multicast,
		"::ffff:8.8.8.8": Embedded, "64:ff9b::808:808": Embedded, "2002:7f00:1::": Embedded,
	} {
		if got := ranges.classify(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
	for host, want := range map[string]Class{"localhost": Loopback, "a.localhost": Loopback, "127.0.0.1": Loopback, "10.0.0.1": Private, "localhost.example": Public} {
		if got := ranges.classOf(host); got != want {
			t.Errorf("%s: %q, want %q", host, got, want)
		}
	}
}

func TestParse_makesRequestCanonical(t *testing.T) {
	r, err := Parse(json.RawMessage(`{"method":"post","url":"HTTP://Example.COM:80/a/../b","headers":{"x-a":["1","2"]},"body":"text"}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := r.Body.Bytes(4)
	if r.Method != "POST" || r.URL.String() != "http://example.com/b" || strings.Join(r.Header["X-A"], " ") != "1 2" || string(body) != "text" || err != nil {
		t.Errorf("got %+v, body %q, %v, want POST http://example.com/b with two headers and text", r, body, err)
	}
	if r.Target() != "POST http://example.com" {
		t.Errorf("got target %q, want POST http://example.com", r.Target())
	}
	if _, err := r.Body.Bytes(3); err == nil {
		t.Errorf("a body over the limit: got success, want an error")
	}
	for _, params := range []string{
		`{}`, `{"url":7}`, `{"url":"ftp://a.example/"}`, `{"url":"http://u:p@a.example/"}`, `{"url":"http://a.example/","method":"CONNECT"}`,
		`{"url":"http://a.example/","headers":7}`, `{"url":"http://a.example/","headers":{"Host":"b"}}`, `{"url":"http://a.example/","headers":{"a b":"c"}}`,
		`{"url":"http://a.example/","headers":{"a":"b\r\nc: d"}}`, `{"url":"http://a.example/","headers":{"Content-Length":"1"}}`,
		`{"url":"http://a.example/","headers":{"a":"` + strings.Repeat("x", maxFieldBytes) + `"}}`,
		`{"url":"http://a.example/","body":7}`, `{"url":"http://a.example/","body":{"dev.sallyport/stream":-1}}`,
	} {
		var ask *runtime.AskError
		if _, err := Parse(json.RawMessage(params), nil); !errors.As(err, &ask) {
			t.Errorf("%.80s: got %v, want an AskError", params, err)
		}
	}
}

func TestRedirect_dropsBodyAndKeyAsBrowsersDo(t *testing.T) {
	for _, tt := range []struct {
		method, body string
		status       int
		to           string
		want         string // method, URL, and whether body and key are kept
	}{
		{"GET", "", 200, "/b", ""},
		{"GET", "", 302, "", ""},
		{"GET", "", 301, "/b", "GET http://a.example/b key"},
		{"POST", "x", 301, "/b", "GET http://a.example/b key"},
		{"POST", "x", 303, "/b", "GET http://a.example/b key"},
		{"PUT", "x", 302, "/b", ""},
		{"POST", "x", 307, "/b", ""},
		{"POST", "x", 308, "http://b.example/", ""},
		{"GET", "x", 307, "/b", "GET http://a.example/b body key"},
		{"GET", "x", 308, "http://b.example/", "GET http://b.example/ body"},
		{"GET", "", 302, "http://a.example:81/", "GET http://a.example:81/"},
		{"GET", "", 302, "https://a.example/", "GET https://a.example/"},
		{"GET", "", 302, "//b.example/c", "GET http://b.example/c"},
		{"GET", "", 302, "file:///etc/passwd", "error"},
		{"GET", "", 302, "http://u:p@b.example/", "error"},
	} {
		u, err := ParseURL("http://a.example/a", nil)
		if err != nil {
			t.Fatal(err)
		}
		r := &Request{Method: tt.method, URL: u, Header: http.Header{"Authorization": {"key"}, "Content-Type": {"text/plain"}}}
		if tt.body != "" {
			r.Body = &Payload{data: []byte(tt.body)}
		}
		res := &Response{Status: tt.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(""))}
		if tt.to != "" {
			res.Header.Set("Location", tt.to)
		}
		next, err := r.redirect(res)
		if got := told(next, err); got != tt.want {
			t.Errorf("%s %d %s: %q, want %q", tt.method, tt.status, tt.to, got, tt.want)
		}
	}
}

func told(r *Request, err error) string {
	switch {
	case err != nil:
		return "error"
	case r == nil:
		return ""
	}
	s := r.Method + " " + r.URL.String()
	if r.Body != nil && r.Header.Get("Content-Type") != "" {
		s += " body"
	}
	if r.Header.Get("Authorization") != "" {
		s += " key"
	}
	return s
}
