package hostfuncs_test

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/egress"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/journal"
)

// breaker is a server that reads and counts each request, and then breaks the connection as the path says. A request
// to /warm is answered, and its connection kept.
type breaker struct {
	net.Listener
	mu    sync.Mutex
	acted map[string]int
}

// breaks are the bytes sent before the connection is closed, by path.
var breaks = map[string]string{
	"/before":  "",
	"/status":  "HTTP/1.1 2",
	"/header":  "HTTP/1.1 200 OK\r\nContent-Le",
	"/body":    "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
	"/chunk":   "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nha",
	"/after":   "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
	"/100":     "HTTP/1.1 100 Continue\r\n\r\n",
	"/408":     "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
	"/417":     "HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n",
	"/421":     "HTTP/1.1 421 Misdirected Request\r\nContent-Length: 0\r\n\r\n",
	"/425":     "HTTP/1.1 425 Too Early\r\nContent-Length: 0\r\n\r\n",
	"/503":     "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n",
	"/307":     "HTTP/1.1 307 Temporary Redirect\r\nLocation: /307\r\nContent-Length: 0\r\n\r\n",
	"/308":     "HTTP/1.1 308 Permanent Redirect\r\nLocation: /308\r\nContent-Length: 0\r\n\r\n",
	"/nowhere": "HTTP/1.1 307 Temporary Redirect\r\nLocation: ftp://nowhere\r\nContent-Length: 0\r\n\r\n",
	"/reset":   "",
}

func newBreaker(t *testing.T) *breaker {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &breaker{Listener: l, acted: map[string]int{}}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go b.serve(conn.(*net.TCPConn))
		}
	}()
	return b
}

func (b *breaker) serve(conn *net.TCPConn) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	for {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		io.Copy(io.Discard, req.Body)
		b.mu.Lock()
		b.acted[req.Method+" "+req.URL.Path]++
		b.mu.Unlock()
		if req.URL.Path == "/warm" {
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
			continue
		}
		if req.URL.Path == "/reset" {
			conn.SetLinger(0)
		}
		io.WriteString(conn, breaks[req.URL.Path])
		return
	}
}

// taken returns and resets the number of processed requests.
func (b *breaker) taken(what string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.acted[what]
	delete(b.acted, what)
	return n
}

// TestFetch_changesArriveOnce checks that a request that may change state arrives once, wherever its connection
// breaks, for all fields and bodies, with and without a journal. Idle connections are available each time: a GET is
// repeated on them.
func TestFetch_changesArriveOnce(t *testing.T) {
	b := newBreaker(t)
	at := "http://" + b.Addr().String()
	open := func(j *journal.Journal) *hostfuncs.Gate {
		h := hostfuncs.NewHost(nil)
		t.Cleanup(h.Close)
		g := h.Plugin(hostfuncs.Plugin{Name: "demo", Grants: mustSet(t, "net: GET,POST,PUT,PATCH,DELETE,OPTIONS "+at+"/**")}).NewGate(hostfuncs.Call{ID: "c1", Journal: j})
		t.Cleanup(g.Close)
		return g
	}
	tried := 0
	for name, g := range map[string]*hostfuncs.Gate{"plain": open(nil), "journal": open(journal.New())} {
		warm := func() {
			for _, method := range []string{"GET", "POST", "GET"} {
				if a, err := fetch(t, g, fmt.Sprintf(`{"method":%q,"url":%q}`, method, at+"/warm")); err != nil || a.text != "ok" {
					t.Fatalf("%s: got %+v, %v, want ok", method, a, err)
				}
			}
		}
		warm()
		fetch(t, g, get(at+"/before"))
		if n := b.taken("GET /before"); n < 2 {
			t.Fatalf("%s: got %d GET requests on a kept connection, want 2 or more: nothing here is repeated", name, n)
		}
		for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
			for _, headers := range []string{`{}`, `{"Idempotency-Key":"k"}`, `{"X-Idempotency-Key":"k"}`, `{"idempotency-key":[]}`} {
				for _, body := range []string{"null", `""`, `"data"`} {
					for path := range breaks {
						warm()
						fetch(t, g, fmt.Sprintf(`{"method":%q,"url":%q,"headers":%s,"body":%s}`, method, at+path, headers, body))
						if n := b.taken(method + " " + path); n != 1 {
							t.Errorf("%s: %s %s %s %s: got %d requests, want 1", name, method, path, headers, body, n)
						}
						tried++
					}
				}
			}
		}
	}
	if want := 2 * 5 * 4 * 3 * len(breaks); tried != want {
		t.Errorf("%d requests were tried, want %d", tried, want)
	}
}

// refuser is an HTTP/2 server that processes each request and then refuses its stream.
type refuser struct {
	mu    sync.Mutex
	acted map[string]int
}

func (f *refuser) note(method, proto string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.acted[method+" "+proto]++
}

// serve serves HTTP/2 on a connection until it is closed.
func (f *refuser) serve(_ *http.Server, conn *tls.Conn, _ http.Handler) {
	io.ReadFull(conn, make([]byte, len(http2.ClientPreface)))
	framer := http2.NewFramer(conn, conn)
	framer.WriteSettings()
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return
		}
		h, ok := frame.(*http2.HeadersFrame)
		if !ok {
			continue
		}
		fields, _ := hpack.NewDecoder(4096, nil).DecodeFull(h.HeaderBlockFragment())
		for _, field := range fields {
			if field.Name == ":method" {
				f.note(field.Value, "HTTP/2.0")
			}
		}
		framer.WriteGoAway(0, http2.ErrCodeNo, nil)
		framer.WriteRSTStream(h.StreamID, http2.ErrCodeRefusedStream)
		return
	}
}

// TestFetch_changesAreNeverSentOverHTTP2 checks that a GET is repeated after a refused HTTP/2 stream. Requests that
// change state are never sent over HTTP/2.
func TestFetch_changesAreNeverSentOverHTTP2(t *testing.T) {
	f := &refuser{acted: map[string]int{}}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { f.note(r.Method, r.Proto) }))
	s.TLS = &tls.Config{NextProtos: []string{"h2", "http/1.1"}}
	s.Config.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){"h2": f.serve}
	s.StartTLS()
	defer s.Close()
	config := s.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	config.NextProtos = nil
	z := &zone{names: map[string][][]string{"example.com": {{"93.184.216.34"}}}}
	w := &wire{to: strings.TrimPrefix(s.URL, "https://")}
	g := newGate(t, &hostfuncs.Options{Web: egress.Options{Resolver: z, Dial: w.dial, TLS: config}}, "net: GET,POST https://example.com/**")
	if _, err := fetch(t, g, get("https://example.com/")); err == nil || !strings.Contains(err.Error(), "goes away each time") {
		t.Errorf("a server that closes each connection: got %v, want an error that says so", err)
	}
	for _, body := range []string{"null", `"data"`} {
		if _, err := fetch(t, g, fmt.Sprintf(`{"method":"POST","url":"https://example.com/","headers":{"Idempotency-Key":"k"},"body":%s}`, body)); err != nil {
			t.Error(err)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.acted["GET HTTP/2.0"] < 2 || f.acted["POST HTTP/1.1"] != 2 || f.acted["POST HTTP/2.0"] != 0 {
		t.Errorf("got requests %v, want 2 or more GET by HTTP/2.0, 2 POST by HTTP/1.1 and none by HTTP/2.0", f.acted)
	}
}

// TestFetch_returnsRedirectOfChange checks that a redirect that would repeat a change at a new URL is returned to the
// guest.
func TestFetch_returnsRedirectOfChange(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/next", http.StatusPermanentRedirect)
	})
	g := newGate(t, nil, "net: PUT "+s.URL+"/**")
	raw, err := g.Ask(t.Context(), "http/fetch", json.RawMessage(fmt.Sprintf(`{"method":"PUT","url":%q,"body":"x"}`, s.URL+"/a")), &streams{})
	if err != nil || !strings.Contains(string(raw), `"status":308,"url":"`+s.URL+`/a"`) || !strings.Contains(string(raw), `"location":"/next"`) {
		t.Errorf("a redirect of PUT: got %s, %v, want status 308 with its location", raw, err)
	}
	if e := g.Receipt().Effects; len(e) != 1 || e[0].Count != 1 {
		t.Errorf("got effects %+v, want one request", e)
	}
}
