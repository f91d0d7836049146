package hostfuncs_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/egress"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/receipt"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// streams are the streams of a call, as an ABI keeps them.
type streams struct {
	open  []io.ReadCloser
	taken map[uint32][]byte
	full  bool
}

func (s *streams) Open(r io.ReadCloser) (uint32, error) {
	if s.full {
		r.Close()
		return 0, &runtime.AskError{Kind: runtime.KindLimit, Message: "too many streams"}
	}
	s.open = append(s.open, r)
	return uint32(len(s.open) + 1), nil
}

func (s *streams) Take(id uint32) (io.ReadCloser, int64, error) {
	data, ok := s.taken[id]
	if !ok {
		return nil, 0, &runtime.AskError{Kind: runtime.KindInvalid, Message: "no such stream"}
	}
	delete(s.taken, id)
	return io.NopCloser(bytes.NewReader(data)), int64(len(data)), nil
}

// answer is the result of http/fetch with its body.
type answer struct {
	Status  int
	URL     string
	Headers map[string]any
	Body    map[string]uint32
	text    string
}

// fetch performs a request and reads the whole body.
func fetch(t testing.TB, g *hostfuncs.Gate, params string) (answer, error) {
	t.Helper()
	return fetchWith(t, g, params, &streams{})
}

func fetchWith(t testing.TB, g *hostfuncs.Gate, params string, s *streams) (a answer, err error) {
	t.Helper()
	raw, err := g.Ask(t.Context(), "http/fetch", json.RawMessage(params), s)
	if err != nil {
		return a, err
	}
	if err := json.Unmarshal(raw, &a); err != nil {
		t.Fatalf("answer %s: got %v, want JSON", raw, err)
	}
	body := s.open[a.Body["dev.sallyport/stream"]-2]
	data, err := io.ReadAll(body)
	a.text = string(data)
	body.Close()
	return a, err
}

func get(u string) string { return fmt.Sprintf(`{"url":%q}`, u) }

func serve(t testing.TB, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// zone is a resolver with answers set by the test. Each lookup takes the next answer of a name, and the last one
// repeats.
type zone struct {
	mu    sync.Mutex
	names map[string][][]string
	asked []string
}

func (z *zone) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.asked = append(z.asked, host)
	answers := z.names[host]
	if len(answers) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if len(answers) > 1 {
		z.names[host] = answers[1:]
	}
	var out []netip.Addr
	for _, a := range answers[0] {
		out = append(out, netip.MustParseAddr(a))
	}
	return out, nil
}

// wire connects the allowed addresses to a test server, and records them.
type wire struct {
	to     string
	mu     sync.Mutex
	dialed []string
}

func (w *wire) dial(ctx context.Context, network, address string) (net.Conn, error) {
	w.mu.Lock()
	w.dialed = append(w.dialed, address)
	w.mu.Unlock()
	if strings.HasPrefix(address, "192.0.9.") {
		return nil, errors.New("dead")
	}
	return (&net.Dialer{}).DialContext(ctx, network, w.to)
}

func TestFetch_returnsStatusHeadersAndBody(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Seen", fmt.Sprintf("%s %s %s %s %d %s", r.Method, r.URL, r.Header.Get("X-A"), r.UserAgent(), r.ContentLength, r.Host))
		w.Header().Add("Set-Cookie", "a=1")
		w.Header().Add("Set-Cookie", "b=2")
		w.Header().Set("Keep-Alive", "1")
		w.WriteHeader(201)
		w.Write(append([]byte("got "), body...))
	})
	g := newGate(t, nil, "net: GET,POST "+s.URL+"/**")
	a, err := fetch(t, g, fmt.Sprintf(`{"method":"post","url":"%s/x/../%%7ey?q=%%41#f","headers":{"x-a":["1","2"]},"body":"hällo"}`, s.URL))
	if err != nil {
		t.Fatal(err)
	}
	host := strings.TrimPrefix(s.URL, "http://")
	if a.Status != 201 || a.URL != s.URL+"/~y?q=A" || a.text != "got hällo" {
		t.Errorf("got %+v, want status 201, URL %s/~y?q=A and text got hällo", a, s.URL)
	}
	if want := "POST /~y?q=A 1 sallyport 6 " + host; a.Headers["x-seen"] != want {
		t.Errorf("the server saw %v, want %s", a.Headers["x-seen"], want)
	}
	if fmt.Sprint(a.Headers["set-cookie"]) != "[a=1 b=2]" || a.Headers["keep-alive"] != nil || a.Headers["content-length"] != "10" {
		t.Errorf("got headers %v, want two cookies, content-length 10 and no keep-alive", a.Headers)
	}
	r := g.Receipt()
	want := receipt.Effect{Family: "net", Target: "POST " + s.URL, Count: 1, Sent: 6, Received: 10}
	if len(r.Effects) != 1 || r.Effects[0] != want {
		t.Errorf("got effects %+v, want only %+v", r.Effects, want)
	}
}

func TestFetch_sendsStreamAsBody(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Write(body)
	})
	g := newGate(t, nil, "net: PUT "+s.URL+"/** {body: 1KiB}")
	st := &streams{taken: map[uint32][]byte{7: bytes.Repeat([]byte("x"), 1024), 8: make([]byte, 1025)}}
	params := fmt.Sprintf(`{"method":"PUT","url":%q,"body":{"dev.sallyport/stream":7}}`, s.URL)
	if a, err := fetchWith(t, g, params, st); err != nil || len(a.text) != 1024 {
		t.Errorf("body by stream: got %d bytes, %v, want 1024", len(a.text), err)
	}
	_, err := fetchWith(t, g, params, st)
	wantAsk(t, err, runtime.KindInvalid, "no such stream", "")
	_, err = fetchWith(t, g, strings.Replace(params, "7}", "8}", 1), st)
	wantAsk(t, err, runtime.KindLimit, "the body of the request is longer than 1024 bytes", "")
	_, err = fetchWith(t, g, fmt.Sprintf(`{"method":"PUT","url":%q,"body":%q}`, s.URL, strings.Repeat("x", 1025)), st)
	wantAsk(t, err, runtime.KindLimit, "the body of the request is longer than 1024 bytes", "")
}

func TestFetch_deniesWithNarrowestLine(t *testing.T) {
	touched := false
	s := serve(t, func(http.ResponseWriter, *http.Request) { touched = true })
	l := &listener{}
	h := hostfuncs.NewHost(nil)
	defer h.Close()
	g := h.Plugin(hostfuncs.Plugin{Name: "demo", Grants: mustSet(t,
		"net: GET https://api.example.com/v1/**", "net: POST "+s.URL+"/ask {ask: true}", "net: POST "+s.URL+"/any", "deny: net: GET "+s.URL+"/secret/**", "net: GET "+s.URL+"/secret/**",
	)}).NewGate(hostfuncs.Call{ID: "c1", Client: l})
	defer g.Close()
	tests := []struct{ params, message, hint string }{
		{get(s.URL + "/v1/x"), `plugin "demo" may not GET ` + s.URL + `/v1/x: no grant allows it`, "net: GET " + s.URL + "/v1/x?"},
		{get("https://api.example.com/v1/../v2/*"), `plugin "demo" may not GET https://api.example.com/v2/*: no grant allows it`, "net: GET https://api.example.com/v2/%2A?"},
		{`{"method":"DELETE","url":"https://api.example.com/v1/x?k=v"}`, `plugin "demo" may not DELETE https://api.example.com/v1/x?k=v: no grant allows it`, "net: DELETE https://api.example.com/v1/x?k=v"},
		{get(s.URL + "/secret/x"), `plugin "demo" may not GET ` + s.URL + `/secret/x: a grant denies it`, ""},
		{get(s.URL + "/SEC%AD%E2%80%8Bret/x"), `plugin "demo" may not GET ` + s.URL + `/SEC%AD%E2%80%8Bret/x: a grant denies it, as servers may read it, some of which leave byte 0xAD out or take it for another character`, ""},
		{`{"method":"POST","url":"` + s.URL + `/any?_method=DELETE"}`, `plugin "demo" may not POST ` + s.URL + `/any?_method=DELETE: no grant allows it: its query has servers take another method, which a line has to name`, "net: POST " + s.URL + "/any?_method=DELETE"},
		{`{"method":"POST","url":"` + s.URL + `/ask"}`, `plugin "demo" may not POST ` + s.URL + `/ask: a grant asks for a confirmation`, ""},
		{get("https://bücher.example/"), `plugin "demo" may not GET https://xn--bcher-kva.example/: no grant allows it`, "net: GET https://xn--bcher-kva.example/?"},
	}
	for _, tt := range tests {
		_, err := fetch(t, g, tt.params)
		wantAsk(t, err, runtime.KindDenied, tt.message, tt.hint)
	}
	_, _ = fetch(t, g, tests[0].params)
	d := g.Denials()
	if len(d) != len(tests) || d[0].Count != 2 || d[0].Reason != tests[0].message || d[0].Hint != tests[0].hint || d[0].Effect != "GET "+s.URL+"/v1/x" || d[0].Family != "net" {
		t.Errorf("got denials %+v, want %d, the first twice with its reason and hint", d, len(tests))
	}
	if len(l.denied) != len(tests)+1 || touched {
		t.Errorf("got %d denials told, server reached: %t, want %d, false", len(l.denied), touched, len(tests)+1)
	}
}

func TestFetch_rejectsInvalidParams(t *testing.T) {
	g := newGate(t, nil, "net: GET,POST http://**/**")
	tests := []struct{ params, message string }{
		{`{}`, "a fetch needs a url"},
		{`{"url":1}`, "a fetch needs a url"},
		{get("http://a b/"), `url "http://a b/" cannot be read`},
		{get("/x"), `scheme "" is not allowed: use http or https`},
		{get("file:///etc/passwd"), `scheme "file" is not allowed: use http or https`},
		{get("http://u:p@a/"), "user information in an address is not allowed: use a header"},
		{get("http://127.1/"), `host "127.1" is not an address: write four decimal numbers`},
		{get("http://１２７.１/"), `host "127.1" is not an address: write four decimal numbers`},
		{get("http://-é-/"), `host "-é-" is not a name`},
		{get("http://a/%2e%2e%2fb"), `path segment "..%2Fb" hides a dot segment`},
		{`{"url":"http://a/","method":"CONNECT"}`, `method "CONNECT" is not allowed`},
		{`{"url":"http://a/","method":"trace"}`, `method "trace" is not allowed`},
		{`{"url":"http://a/","method":"GET /x HTTP/1.1\r\n"}`, `method "GET /x HTTP/1.1\r\n" is not allowed`},
		{`{"url":"http://a/","method":5}`, `method "" is not allowed`},
		{`{"url":"http://a/","body":5}`, `a body is text or {"dev.sallyport/stream": n}`},
		{`{"url":"http://a/","body":{"dev.sallyport/stream":-1}}`, `a body is text or {"dev.sallyport/stream": n}`},
		{`{"url":"http://a/","headers":[]}`, "headers are an object of names and texts"},
		{`{"url":"http://a/","headers":{"X":5}}`, `header "X" is not a text or a list of texts`},
		{`{"url":"http://a/","headers":{"X":"a\r\nY: b"}}`, `header "X" holds a control character`},
		{`{"url":"http://a/","headers":{"X":["ok","a\u0000"]}}`, `header "X" holds a control character`},
		{`{"url":"http://a/","headers":{"X\r\nY":"b"}}`, `header name "X\r\nY" is not allowed`},
		{`{"url":"http://a/","headers":{"X Y":"b"}}`, `header name "X Y" is not allowed`},
		{`{"url":"http://a/","headers":{"":"b"}}`, `header name "" is not allowed`},
		{`{"url":"http://a/","headers":{":authority":"b"}}`, `header name ":authority" is not allowed`},
		{`{"url":"http://a/","headers":{"host":"b"}}`, `header "host" is set by the host: remove it`},
	}
	for _, name := range []string{"Connection", "Transfer-Encoding", "Content-Length", "TE", "Trailer", "Upgrade", "Expect", "Keep-Alive", "Proxy-Authorization", "proxy-connection",
		"Transfer_Encoding"} {
		tests = append(tests, struct{ params, message string }{
			fmt.Sprintf(`{"url":"http://a/","headers":{%q:"x"}}`, name), fmt.Sprintf("header %q is set by the host: remove it", name)})
	}
	for _, name := range []string{"X-HTTP-Method-Override", "X_Override.Method", "X-HTTP-DestinationURL", "Forwarded"} {
		tests = append(tests, struct{ params, message string }{
			fmt.Sprintf(`{"url":"http://a/","headers":{%q:"x"}}`, name), fmt.Sprintf("header %q has some servers take another method, address or client than the one that was allowed: remove it", name)})
	}
	for _, tt := range tests {
		_, err := fetch(t, g, tt.params)
		wantAsk(t, err, runtime.KindInvalid, tt.message, "")
	}
	many := map[string]any{"url": "http://a/", "headers": map[string]any{"X": slices.Repeat([]string{"v"}, 129)}}
	raw, _ := json.Marshal(many)
	_, err := fetch(t, g, string(raw))
	wantAsk(t, err, runtime.KindLimit, "the headers are more than 128 fields or 65536 bytes", "")
}

func TestFetch_decodesGzip(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write(bytes.Repeat([]byte("0123456789abcdef"), 5<<16)) // 5 MiB
	z.Close()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Accept", r.Header.Get("Accept-Encoding"))
		switch r.URL.Path {
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(zipped.Bytes())
		case "/lie":
			w.Header().Set("Content-Encoding", "gzip")
			io.WriteString(w, "this is not compressed")
		case "/empty":
			w.Header().Set("Content-Encoding", "gzip")
		case "/ok":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			io.WriteString(z, "plain")
			z.Close()
		}
	})
	h := hostfuncs.NewHost(&hostfuncs.Options{Web: egress.Options{MaxResponse: 4 << 20}})
	defer h.Close()
	g := h.Plugin(hostfuncs.Plugin{Name: "demo", Grants: mustSet(t, "net: GET "+s.URL+"/**")}).NewGate(hostfuncs.Call{})
	defer g.Close()
	if a, err := fetch(t, g, get(s.URL+"/ok")); err != nil || a.text != "plain" || a.Headers["content-encoding"] != nil || a.Headers["content-length"] != nil {
		t.Errorf("/ok: got %+v, %v, want plain without encoding and length", a, err)
	}
	if a, err := fetch(t, g, get(s.URL+"/empty")); err != nil || a.text != "" {
		t.Errorf("/empty: got %+v, %v, want no text", a, err)
	}
	a, err := fetch(t, g, fmt.Sprintf(`{"url":"%s/ok","headers":{"accept-encoding":"gzip, br"}}`, s.URL))
	if err != nil || a.text == "plain" || a.Headers["content-encoding"] != "gzip" || a.Headers["x-accept"] != "gzip, br" {
		t.Errorf("the guest's own encoding: got %+v, %v, want encoded text, accepted gzip, br", a, err)
	}
	_, err = fetch(t, g, get(s.URL+"/lie"))
	wantAsk(t, err, runtime.KindUnavailable, "the answer is not the gzip it says", "")
	a, err = fetch(t, g, get(s.URL+"/bomb"))
	wantAsk(t, err, runtime.KindLimit, "the answer is longer than 4194304 bytes", "")
	if len(a.text) != 4<<20 {
		t.Errorf("/bomb: got %d bytes, want %d", len(a.text), 4<<20)
	}
}

func TestFetch_endsAtMaximumAnswer(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/headers" {
			w.Header().Set("X", strings.Repeat("x", 300<<10))
			return
		}
		w.Header().Set("Content-Length", strconv.Itoa(65<<20))
		w.WriteHeader(200)
	})
	g := newGate(t, nil, "net: GET "+s.URL+"/**")
	host := strings.TrimPrefix(s.URL, "http://")
	_, err := fetch(t, g, get(s.URL+"/"))
	wantAsk(t, err, runtime.KindLimit, "the answer of "+host+" is longer than 67108864 bytes", "")
	_, err = fetch(t, g, get(s.URL+"/headers"))
	wantAsk(t, err, runtime.KindUnavailable, host+" gives no answer: net/http: HTTP/1.x transport connection broken: net/http: server response headers exceeded 262144 bytes; aborted", "")
}

func TestFetch_limitsRequestsInFlight(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "x") })
	g := newGate(t, nil, "net: GET "+s.URL+"/**")
	st := &streams{}
	for range 16 {
		if _, err := g.Ask(t.Context(), "http/fetch", json.RawMessage(get(s.URL)), st); err != nil {
			t.Fatal(err)
		}
	}
	_, err := g.Ask(t.Context(), "http/fetch", json.RawMessage(get(s.URL)), st)
	wantAsk(t, err, runtime.KindLimit, "more than 16 requests of the plugin are in flight: read or close their answers", "")
	st.open[0].Close()
	st.open[0].Close()
	if _, err := g.Ask(t.Context(), "http/fetch", json.RawMessage(get(s.URL)), &streams{full: true}); err == nil || err.Error() != "limit: too many streams" {
		t.Errorf("without a stream to give: got %v, want limit: too many streams", err)
	}
	if _, err := g.Ask(t.Context(), "http/fetch", json.RawMessage(get(s.URL)), st); err != nil {
		t.Errorf("after a close: got %v, want success", err)
	}
}

// TestFetch_closeReleasesConnections checks that closing a gate releases the connections that its call left open.
func TestFetch_closeReleasesConnections(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "x") })
	h := hostfuncs.NewHost(nil)
	defer h.Close()
	p := h.Plugin(hostfuncs.Plugin{Name: "demo", Grants: mustSet(t, "net: GET "+s.URL+"/**")})
	for range 3 {
		g := p.NewGate(hostfuncs.Call{})
		deadline := time.Now().Add(time.Minute)
		for n := 0; n < 16; {
			_, err := g.Ask(t.Context(), "http/fetch", json.RawMessage(get(s.URL)), &streams{})
			if err == nil {
				n++
			} else if time.Now().After(deadline) {
				t.Fatal(err)
			}
		}
		g.Close()
	}
}

// lateContext is a context whose deadline is exceeded when over is closed.
type lateContext struct {
	context.Context
	over chan struct{}
}

func (c lateContext) Done() <-chan struct{} { return c.over }

func (c lateContext) Err() error {
	select {
	case <-c.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

func TestFetch_endsWithItsContext(t *testing.T) {
	entered, release := make(chan struct{}, 8), make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			w.WriteHeader(200)
			w.(http.Flusher).Flush()
		}
		entered <- struct{}{}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	defer close(release)
	h := hostfuncs.NewHost(nil)
	defer h.Close()
	p := h.Plugin(hostfuncs.Plugin{Name: "demo", Grants: mustSet(t, "net: GET "+s.URL+"/**")})

	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-entered; cancel() }()
	g := p.NewGate(hostfuncs.Call{})
	_, err := g.Ask(ctx, "http/fetch", json.RawMessage(get(s.URL)), &streams{})
	wantAsk(t, err, runtime.KindUnavailable, "the call is over", "")

	late := lateContext{t.Context(), make(chan struct{})}
	go func() { <-entered; close(late.over) }()
	_, err = g.Ask(late, "http/fetch", json.RawMessage(get(s.URL)), &streams{})
	wantAsk(t, err, runtime.KindTimeout, "the call's deadline is exceeded", "")

	go func() { <-entered; g.Close() }()
	_, err = g.Ask(t.Context(), "http/fetch", json.RawMessage(get(s.URL)), &streams{})
	wantAsk(t, err, runtime.KindUnavailable, "the call is over", "")

	g = p.NewGate(hostfuncs.Call{})
	st := &streams{}
	if _, err := g.Ask(t.Context(), "http/fetch", json.RawMessage(get(s.URL+"/body")), st); err != nil {
		t.Fatal(err)
	}
	<-entered
	go g.Close()
	if _, err := io.ReadAll(st.open[0]); err == nil {
		t.Error("read of a body after its call ended: got success, want an error")
	}
}

// nobody is an address that no server of a test gets: its port is privileged.
const nobody = "127.0.0.1:1"

func TestFetch_reportsUnreachableServer(t *testing.T) {
	const address = nobody
	g := newGate(t, nil, "net: GET http://"+address+"/", "net: GET https://"+address+"/")
	_, err := fetch(t, g, get("http://"+address))
	wantAsk(t, err, runtime.KindUnavailable, address+" cannot be reached: connection refused", "")
}

func TestFetch_verifiesCertificates(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Proto) }))
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // it logs the client that rejects it
	s.StartTLS()
	defer s.Close()
	z := &zone{names: map[string][][]string{"example.com": {{"93.184.216.34"}}, "other.example": {{"93.184.216.34"}}}}
	w := &wire{to: strings.TrimPrefix(s.URL, "https://")}
	o := &hostfuncs.Options{Web: egress.Options{Resolver: z, Dial: w.dial, TLS: s.Client().Transport.(*http.Transport).TLSClientConfig}}
	g := newGate(t, o, "net: GET https://**/**")
	if a, err := fetch(t, g, get("https://example.com/")); err != nil || a.text != "HTTP/2.0" {
		t.Errorf("got %+v, %v, want HTTP/2.0", a, err)
	}
	_, err := fetch(t, g, get("https://other.example/"))
	var ask *runtime.AskError
	if !errors.As(err, &ask) || ask.Kind != runtime.KindUnavailable || !strings.Contains(ask.Message, "certificate") {
		t.Errorf("a certificate of another name: got %v, want an unavailable server for its certificate", err)
	}
}

func TestFetch_isSafeForConcurrentCalls(t *testing.T) {
	var n atomic.Int64
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { n.Add(1); http.Error(w, "x", 500) })
	h := hostfuncs.NewHost(nil)
	defer h.Close()
	p := h.Plugin(hostfuncs.Plugin{Name: "demo", Grants: mustSet(t, "net: GET "+s.URL+"/**")})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				g := p.NewGate(hostfuncs.Call{})
				if a, err := fetch(t, g, get(s.URL)); err != nil || a.Status != 500 {
					t.Errorf("got %+v, %v, want status 500", a, err)
				}
				g.Close()
			}
		})
	}
	wg.Wait()
	if n.Load() != 160 {
		t.Errorf("got %d requests, want 160", n.Load())
	}
}

func TestFetch_needsStreams(t *testing.T) {
	g := newGate(t, nil)
	_, err := g.Ask(t.Context(), "http/fetch", json.RawMessage(get("http://a/")), nil)
	wantAsk(t, err, runtime.KindUnsupported, "http/fetch needs streams, and there are none here", "")
}

// FuzzAsk checks that requests without grants are denied with the gate's own messages and have no effect.
func FuzzAsk(f *testing.F) {
	f.Add("http/fetch", `{"url":"http://A.example:80/%7e/..;x?y#z","method":"get","headers":{"X":["a"]},"body":"b"}`)
	f.Add("http/fetch", `{"url":"http://[::1]:99999/","body":{"dev.sallyport/stream":2}}`)
	f.Add("notifications/message", `{"level":"info","data":{"a":[1]},"logger":"x"}`)
	f.Add("notifications/progress", `{"progress":-1e3}`)
	f.Fuzz(func(t *testing.T, method, params string) {
		if jsonraw.Valid([]byte(params)) != nil {
			return
		}
		dial := func(context.Context, string, string) (net.Conn, error) {
			t.Error("dial: got a call, want none")
			return nil, errors.New("no")
		}
		h := hostfuncs.NewHost(&hostfuncs.Options{Web: egress.Options{Dial: dial, Resolver: &zone{}}})
		defer h.Close()
		g := h.Plugin(hostfuncs.Plugin{Name: "demo"}).NewGate(hostfuncs.Call{})
		defer g.Close()
		result, err := g.Ask(t.Context(), method, json.RawMessage(params), &streams{})
		var ask *runtime.AskError
		if err != nil && (!errors.As(err, &ask) || ask.Message == "" || strings.ContainsAny(ask.Message, "\x00\n\x1b")) {
			t.Errorf("%s %s: got %#v, want an AskError with a printable message", method, params, err)
		}
		if err == nil && string(result) != "{}" {
			t.Errorf("%s %s: got %s, want {}", method, params, result)
		}
	})
}
