package hostfuncs_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/runtime"
)

func TestFetch_followsRedirects(t *testing.T) {
	mux := http.NewServeMux()
	for _, code := range []int{301, 302, 303, 307, 308} {
		mux.HandleFunc(fmt.Sprintf("/%d", code), func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/end?from="+strconv.Itoa(code), code)
		})
	}
	mux.HandleFunc("/end", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %q %q", r.Method, body, r.Header.Get("Authorization"), r.Header.Get("Content-Type"))
	})
	mux.HandleFunc("/304", func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Location", "/end"); w.WriteHeader(304) })
	mux.HandleFunc("/none", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(302); io.WriteString(w, "here") })
	s := httptest.NewServer(mux)
	defer s.Close()
	g := newGate(t, nil, "net: GET,POST,PUT,HEAD "+s.URL+"/**")
	tests := []struct {
		method string
		code   int
		want   string
	}{
		{"POST", 301, `GET  "k" ""`},
		{"POST", 302, `GET  "k" ""`},
		{"POST", 303, `GET  "k" ""`},
		{"POST", 307, ""},
		{"POST", 308, ""},
		{"PUT", 301, ""},
		{"PUT", 302, ""},
		{"PUT", 303, `GET  "k" ""`},
	}
	for _, tt := range tests {
		st := &streams{taken: map[uint32][]byte{3: []byte("data")}}
		a, err := fetchWith(t, g, fmt.Sprintf(`{"method":%q,"url":"%s/%d","headers":{"Authorization":"k","Content-Type":"text/x"},"body":{"dev.sallyport/stream":3}}`, tt.method, s.URL, tt.code), st)
		at, status := fmt.Sprintf("%s/end?from=%d", s.URL, tt.code), 200
		if tt.want == "" { // it would repeat a change
			at, status = fmt.Sprintf("%s/%d", s.URL, tt.code), tt.code
		}
		if err != nil || a.text != tt.want || a.URL != at || a.Status != status {
			t.Errorf("%s %d: %q at %s, %v, want %q", tt.method, tt.code, a.text, a.URL, err, tt.want)
		}
	}
	if a, err := fetch(t, g, fmt.Sprintf(`{"method":"HEAD","url":"%s/303"}`, s.URL)); err != nil || a.Status != 200 || a.text != "" {
		t.Errorf("HEAD: got %+v, %v, want status 200 and no text", a, err)
	}
	if a, err := fetch(t, g, get(s.URL+"/304")); err != nil || a.Status != 304 {
		t.Errorf("304: got %+v, %v, want status 304", a, err)
	}
	if a, err := fetch(t, g, get(s.URL+"/none")); err != nil || a.Status != 302 || a.text != "here" {
		t.Errorf("without Location: got %+v, %v, want status 302 and here", a, err)
	}
}

func TestFetch_checksEachRedirect(t *testing.T) {
	touched := false
	other := serve(t, func(http.ResponseWriter, *http.Request) { touched = true })
	to := ""
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Location", to); w.WriteHeader(302) })
	g := newGate(t, nil, "net: GET "+s.URL+"/**")
	tests := []struct {
		to      string
		kind    runtime.Kind
		message string
		hint    string
	}{
		{other.URL + "/x", runtime.KindDenied, `plugin "demo" may not GET ` + other.URL + `/x (where ` + s.URL + `/a redirects): no grant allows it`, "net: GET " + other.URL + "/x?"},
		{"file:///etc/passwd", runtime.KindInvalid, s.URL + `/a redirects to an invalid address: scheme "file" is not allowed: use http or https`, ""},
		{"http://me@" + strings.TrimPrefix(s.URL, "http://"), runtime.KindInvalid, s.URL + `/a redirects to an invalid address: user information in an address is not allowed: use a header`, ""},
		{"/loop", runtime.KindLimit, "more than 10 redirects, the last to " + s.URL + "/loop", ""},
	}
	for _, tt := range tests {
		to = tt.to
		_, err := fetch(t, g, get(s.URL+"/a"))
		wantAsk(t, err, tt.kind, tt.message, tt.hint)
	}
	if touched {
		t.Errorf("a redirect beyond the grants: got a request, want none")
	}
}

func TestFetch_credentialsStayWithTheirOrigin(t *testing.T) {
	seen := make(chan http.Header, 1)
	other := serve(t, func(_ http.ResponseWriter, r *http.Request) { seen <- r.Header })
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, http.StatusFound) })
	g := newGate(t, nil, "net: GET "+s.URL+"/**", "net: GET "+other.URL+"/**")
	_, err := fetch(t, g, fmt.Sprintf(`{"url":%q,"headers":{"Authorization":"a","Cookie":"b","X-Api-Key":"c","Accept":"d","User-Agent":"e"}}`, s.URL))
	if err != nil {
		t.Fatal(err)
	}
	h := <-seen
	if h.Get("Authorization")+h.Get("Cookie")+h.Get("X-Api-Key") != "" || h.Get("Accept") != "d" || h.Get("User-Agent") != "e" {
		t.Errorf("the other origin got headers %v, want no credentials, Accept d, User-Agent e", h)
	}
}

func TestFetch_returnsRedirectsThatAreManual(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://elsewhere.example/", http.StatusFound)
	})
	g := newGate(t, nil, "net: GET "+s.URL+"/**")
	a, err := fetch(t, g, fmt.Sprintf(`{"url":%q,"redirect":"manual"}`, s.URL))
	if err != nil || a.Status != 302 || a.Headers["location"] != "http://elsewhere.example/" {
		t.Errorf("got %+v, %v, want status 302 with its location", a, err)
	}
	_, err = fetch(t, g, fmt.Sprintf(`{"url":%q,"redirect":"error"}`, s.URL))
	wantAsk(t, err, runtime.KindInvalid, `redirect is "follow" or "manual"`, "")
}

func TestFetch_endsAtTheTimeoutOfTheRequest(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/begins" {
			w.(http.Flusher).Flush()
		}
		<-r.Context().Done()
	})
	g := newGate(t, nil, "net: GET "+s.URL+"/**")
	_, err := fetch(t, g, fmt.Sprintf(`{"url":%q,"timeoutMs":20}`, s.URL))
	wantAsk(t, err, runtime.KindTimeout, strings.TrimPrefix(s.URL, "http://")+" does not answer within the 20ms of the request", "")
	a, err := fetch(t, g, fmt.Sprintf(`{"url":%q,"timeoutMs":200}`, s.URL+"/begins"))
	for ms := 400; a.Status == 0 && ms < 60_000; ms *= 2 { // the machine was slower than that
		a, err = fetch(t, g, fmt.Sprintf(`{"url":%q,"timeoutMs":%d}`, s.URL+"/begins", ms))
	}
	if err == nil || a.Status != 200 {
		t.Errorf("got %+v, %v, want status 200 and a body that breaks off", a, err)
	}
	_, err = fetch(t, g, fmt.Sprintf(`{"url":%q,"timeoutMs":0}`, s.URL))
	wantAsk(t, err, runtime.KindInvalid, "timeoutMs is a number of milliseconds from 1 to 4294967295", "")
}
