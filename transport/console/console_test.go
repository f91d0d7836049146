package console_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/consent"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/transport/console"
)

// evil is the output of a hostile plugin, in all places that allow plugin text.
const evil = `</script><img src=x onerror=alert(1)>"'` + "`${alert(1)}\u202e"

// desk is a listening console with one question.
type desk struct {
	t       *testing.T
	store   *store.Store
	base    string // http://127.0.0.1:PORT
	token   string
	log     bytes.Buffer
	noted   []string // recorded answers
	backend backend
}

// backend is one host with one held plugin, and one call with a denial.
type backend struct{ did []string }

func (h *backend) Hosts() []console.Host {
	return []console.Host{{ID: "h1", Dir: evil, Clients: []string{evil}, Plugins: []console.Plugin{{Name: evil, Wants: []string{evil}, Grants: []string{evil}, Waits: "sha256:2"}}}}
}

func (h *backend) Calls() ([]console.Call, error) {
	return []console.Call{{Plugin: evil, Tool: evil, Effects: []string{evil}, Denials: []console.Denial{{Effect: evil, Line: "fs: read /x"}}}}, nil
}

func (h *backend) Find(_ context.Context, word string) ([]console.Call, error) {
	h.did = append(h.did, "find "+word)
	return h.Calls()
}

func (h *backend) Receipt(_ context.Context, call string) (string, error) {
	if call != "c1" {
		return "", errors.New("no such call")
	}
	return evil, nil
}

func (h *backend) Review(_ context.Context, host, plugin string) (console.Review, error) {
	if host != "h1" {
		return console.Review{}, errors.New("no such host")
	}
	return console.Review{Text: evil, Answers: []string{evil}, Seen: "s1"}, nil
}

func (h *backend) Decide(_ context.Context, host, plugin, seen string, v console.Verdict) error {
	if seen != "s1" {
		return console.ErrChanged
	}
	h.did = append(h.did, fmt.Sprint(host, " ", plugin, " ", v.Approve, " ", v.Carry))
	return nil
}

func (h *backend) Propose(host, plugin, line string) (console.Proposal, error) {
	return console.Proposal{File: "f", Lines: []string{"+ " + line}, Seen: "s2"}, nil
}

func (h *backend) Grant(host, plugin, line, seen string) error {
	if seen != "s2" {
		return console.ErrChanged
	}
	h.did = append(h.did, fmt.Sprint(host, " ", plugin, " ", line))
	return nil
}

func (h *backend) Offer(_ context.Context, host, link string) (console.Offer, error) {
	if host != "h1" {
		return console.Offer{}, errors.New("no such host")
	}
	h.did = append(h.did, "offer "+link)
	return console.Offer{Name: evil, Text: evil, Wants: []console.Wanted{{Line: "fs: read /x", Why: evil}}, Seen: "s3"}, nil
}

func (h *backend) Install(_ context.Context, host, link, seen string, lines []string) (string, error) {
	if seen != "s3" {
		return "", console.ErrChanged
	}
	h.did = append(h.did, fmt.Sprint("install ", host, " ", link, " ", lines))
	return evil, nil
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, store: store.New(store.Options{Dir: t.TempDir()})}
	t.Cleanup(func() { d.store.Close() })
	c := console.New(console.Options{
		Store: d.store, Logger: slog.New(slog.NewTextHandler(&d.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Note: func(a consent.Answered) error {
			d.noted = append(d.noted, a.By+" "+a.Answer+" "+a.ID+" "+a.Digest)
			return nil
		},
		Backend: &d.backend,
	})
	whole, err := c.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	base, token, _ := strings.Cut(whole, "/#")
	if d.base, d.token = base, token; len(token) < 26 {
		t.Fatalf("got a token of %d characters, want at least 26", len(token))
	}
	d.ask("q1")
	return d
}

func (d *desk) ask(id string) {
	d.t.Helper()
	_, err := d.store.Ask(d.t.Context(), store.Question{ID: id, Plugin: evil, Digest: "d", Principal: "me", Line: "net: GET https://a/" + id,
		Want: "net: GET https://**", Effect: evil + id, Why: evil, Binding: "b", Expires: time.Now().Add(time.Hour)})
	if err != nil {
		d.t.Fatal(err)
	}
}

// do makes one request. Headers are pairs, which may include Host.
func (d *desk) do(method, path, body string, headers ...string) (int, string, http.Header) {
	d.t.Helper()
	r, err := http.NewRequestWithContext(d.t.Context(), method, d.base+path, strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		if headers[i] == "Content-Type" {
			r.Header.Set(headers[i], headers[i+1])
			continue
		}
		r.Header.Add(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		d.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return res.StatusCode, string(text), res.Header
}

func (d *desk) post(body string, headers ...string) (int, string) {
	d.t.Helper()
	code, text, _ := d.do("POST", "/answer", body, append([]string{"Authorization", "Bearer " + d.token, "Content-Type", "application/json"}, headers...)...)
	return code, text
}

func (d *desk) waits(n int) {
	d.t.Helper()
	if all, err := d.store.Questions(context.Background()); len(all) != n || err != nil {
		d.t.Errorf("got %d waiting questions, %v; want %d", len(all), err, n)
	}
}

// Only the page can answer or read anything: not a foreign site, a rebound host name, or a client without the token.
func TestConsole_servesOnlyItsPage(t *testing.T) {
	d := newDesk(t)
	host := strings.TrimPrefix(d.base, "http://")
	port := host[strings.LastIndexByte(host, ':'):]
	bearer := "Bearer " + d.token
	for name, headers := range map[string][]string{
		"no token":           {},
		"another token":      {"Authorization", "Bearer " + strings.Repeat("A", 26)},
		"half a token":       {"Authorization", "Bearer " + d.token[:13]},
		"an empty token":     {"Authorization", "Bearer "},
		"a cookie":           {"Cookie", "token=" + d.token},
		"basic":              {"Authorization", "Basic " + d.token},
		"a rebound name":     {"Authorization", bearer, "Host", "evil.example" + port},
		"a name like ours":   {"Authorization", bearer, "Host", "localhost.evil.example" + port},
		"another port":       {"Authorization", bearer, "Host", "127.0.0.1:1"},
		"no port":            {"Authorization", bearer, "Host", "127.0.0.1"},
		"another origin":     {"Authorization", bearer, "Origin", "https://evil.example"},
		"no origin":          {"Authorization", bearer, "Origin", "null"},
		"a page of a port":   {"Authorization", bearer, "Origin", "http://127.0.0.1:1"},
		"another site":       {"Authorization", bearer, "Sec-Fetch-Site", "cross-site"},
		"a page beside this": {"Authorization", bearer, "Sec-Fetch-Site", "same-site"},
		"two origins":        {"Authorization", bearer, "Origin", d.base, "Origin", "https://evil.example"},
		"two sites":          {"Authorization", bearer, "Sec-Fetch-Site", "same-origin", "Sec-Fetch-Site", "cross-site"},
		"two tokens":         {"Authorization", bearer, "Authorization", "Bearer x"},
		"a navigation":       {"Authorization", bearer, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"},
	} {
		for _, request := range [][3]string{
			{"GET", "/state", ""}, {"POST", "/answer", `{"id":"q1","answer":"always","want":true}`},
			{"POST", "/order", `{"do":"approve","host":"h1","plugin":"p","seen":"s1"}`}, {"POST", "/order", `{"do":"grant","plugin":"p","line":"fs: read /x","seen":"s2"}`},
		} {
			code, text, h := d.do(request[0], request[1], request[2], append([]string{"Content-Type", "application/json"}, headers...)...)
			if code != http.StatusForbidden && code != http.StatusUnauthorized {
				t.Errorf("%s: %s: got %d %s, want 401 or 403", name, request[1], code, text)
			}
			if h.Get("Access-Control-Allow-Origin") != "" || strings.Contains(text, d.token) {
				t.Errorf("%s: got header %v, body %s; want no CORS header and no token", name, h, text)
			}
		}
	}
	code, _, _ := d.do("OPTIONS", "/answer", "", "Origin", "https://evil.example", "Access-Control-Request-Method", "POST")
	if code != http.StatusForbidden {
		t.Errorf("preflight: got %d, want 403", code)
	}
	if code, _, _ = d.do("GET", "/state?token="+d.token, ""); code != http.StatusUnauthorized {
		t.Errorf("token in the query: got %d, want 401", code)
	}
	// A form of a foreign site can send neither JSON nor the token.
	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""} {
		if code, _ := d.post(`{"id":"q1","answer":"always"}`, "Content-Type", kind); code != http.StatusBadRequest {
			t.Errorf("%q: got %d, want %d", kind, code, http.StatusBadRequest)
		}
	}
	d.waits(1)
	if d.backend.did != nil {
		t.Errorf("got orders %q, want none", d.backend.did)
	}
	if strings.Contains(d.log.String(), d.token) {
		t.Errorf("got log %s, want it without the token", d.log.String())
	}
	// A local file of this user may open the page in a tab. A foreign site can neither frame nor read it.
	open := []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest"}
	for dest, want := range map[string]int{"document": http.StatusOK, "iframe": http.StatusForbidden, "script": http.StatusForbidden} {
		if code, _, _ := d.do("GET", "/", "", append(open, dest)...); code != want {
			t.Errorf("%s: got %d, want %d", dest, code, want)
		}
	}
}

// The page is static, loads nothing from elsewhere, and renders no data as markup.
func TestConsole_pageLoadsNothingFromElsewhere(t *testing.T) {
	d := newDesk(t)
	foreign := regexp.MustCompile(`(?i)https?://|innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|\son[a-z]+=|javascript:|style="`)
	for _, path := range []string{"/", "/console.js", "/console.css"} {
		code, text, h := d.do("GET", path, "")
		if code != http.StatusOK || foreign.MatchString(text) || strings.Contains(text, d.token) {
			t.Errorf("%s: got %d with %q, token in the text: %v; want 200 with nothing foreign and no token", path, code, foreign.FindString(text), strings.Contains(text, d.token))
		}
		csp := h.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "form-action 'none'", "base-uri 'none'", "require-trusted-types-for 'script'"} {
			if !strings.Contains(csp, part) {
				t.Errorf("%s: the policy lacks %s: got %s, want %s in it", path, part, csp, part)
			}
		}
		if strings.Contains(csp, "unsafe") || h.Get("Referrer-Policy") != "no-referrer" || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: got header %v, want no unsafe source, no referrer, no sniffing and no store", path, h)
		}
	}
	if code, _, _ := d.do("GET", "/page/index.html", ""); code != http.StatusNotFound {
		t.Errorf("got %v, want %v", code, http.StatusNotFound)
	}
}

// State is JSON, which browsers do not render as a page.
func TestConsole_stateIsJSON(t *testing.T) {
	d := newDesk(t)
	code, text, h := d.do("GET", "/state", "", "Authorization", "Bearer "+d.token, "Origin", d.base)
	var s struct {
		Questions []struct{ ID, Plugin, Why, Line, Open, Want, WantOpen string }
		Hosts     []console.Host
		Calls     []console.Call
	}
	if code != http.StatusOK || json.Unmarshal([]byte(text), &s) != nil || h.Get("Content-Type") != "application/json" {
		t.Fatalf("got %d %s with %v, want 200 with a state in JSON", code, text, h)
	}
	if len(s.Questions) != 1 || s.Questions[0].Plugin != evil || s.Questions[0].Why != evil || s.Hosts[0].Plugins[0].Name != evil || s.Calls[0].Tool != evil {
		t.Errorf("got state %+v, want %q as question, host and call", s, evil)
	}
	if q := s.Questions[0]; q.Open != "any headers and any body" || q.WantOpen != q.Open {
		t.Errorf("got question %+v, want open \"any headers and any body\" in both", q)
	}
	if strings.ContainsAny(text, "<>") {
		t.Errorf("got JSON %s, want no markup", text)
	}
}

func TestConsole_storesAnswersOnce(t *testing.T) {
	d := newDesk(t)
	for _, body := range []string{`{"id":"q1","answer":"maybe"}`, `{"id":"q1"`, `[]`, "", `{"id":"q1","answer":"` + strings.Repeat("x", 2000) + `"}`} {
		if code, text := d.post(body); code != http.StatusBadRequest {
			t.Errorf("%.30q: got %d %s, want 400", body, code, text)
		}
	}
	d.ask("q2")
	d.ask("q3")
	d.waits(3)
	for i, c := range []struct {
		body string
		want int
	}{
		{`{"id":"q1","answer":"once"}`, 200}, {`{"id":"q1","answer":"once"}`, 409}, {`{"id":"q2","answer":"deny"}`, 200},
		{`{"id":"q2","answer":"always"}`, 409}, {`{"id":"q3","answer":"hour","want":true}`, 200}, {`{"id":"none","answer":"deny"}`, 409},
	} {
		if code, text := d.post(c.body, "Origin", d.base, "Sec-Fetch-Site", "same-origin"); code != c.want {
			t.Errorf("%s: got %d %s, want %d", c.body, code, text, c.want)
		}
		if g, _ := d.store.Grants(t.Context()); i == 0 && (len(g) != 1 || !g[0].Once || g[0].Binding != "b" || g[0].Expires.IsZero()) {
			t.Errorf("got grants %+v, want one for once with binding \"b\" and an end", g)
		}
	}
	d.waits(0)
	grants, err := d.store.Grants(t.Context())
	if err != nil || len(grants) != 1 || grants[0].ID != "q3" || grants[0].Line != "net: GET https://**" || grants[0].Once || grants[0].Expires.IsZero() {
		t.Fatalf("got %+v, %v; want only q3, which covers the other one", grants, err)
	}
	if code, text := d.post(`{"id":"q3","answer":"revoke"}`); code != http.StatusOK {
		t.Errorf("got %d %s, want 200", code, text)
	}
	if grants, _ := d.store.Grants(t.Context()); len(grants) != 0 {
		t.Errorf("got %+v, want no grants", grants)
	}
	if code, text := d.post(`{"id":"q3","answer":"revoke"}`); code != http.StatusConflict {
		t.Errorf("a second time: got %d %s, want 409", code, text)
	}
	if got, want := strings.Join(d.noted, ", "), "console allow q1 d, console deny q2 d, console allow q3 d, console revoke q3 d"; got != want {
		t.Errorf("noted %s, want %s", got, want)
	}
}

func TestCheck_refusesAddressesOfOtherMachines(t *testing.T) {
	for addr, good := range map[string]bool{
		"127.0.0.1:0": true, "[::1]:80": true, "localhost:1": true, "127.8.9.1:0": true,
		"0.0.0.0:80": false, ":80": false, "[::]:80": false, "192.168.0.1:80": false, "example.com:80": false, "127.0.0.1": false, "127.0.0.1:": false,
	} {
		if err := console.Check(addr); (err == nil) != good {
			t.Errorf("%s: got %v, want accepted %v", addr, err, good)
		}
	}
}

// Listen is idempotent, and Close ends it.
func TestConsole_listensOnce(t *testing.T) {
	c := console.New(console.Options{Store: store.New(store.Options{Dir: t.TempDir()})})
	one, err := c.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if two, err := c.Listen("127.0.0.1:0"); two != one || err != nil {
		t.Errorf("got %q and %q, %v; want the same address", one, two, err)
	}
	other := console.New(console.Options{Store: store.New(store.Options{Dir: t.TempDir()})})
	u, _ := url.Parse(one)
	if _, err := other.Listen(u.Host); err == nil {
		t.Errorf("second console on %s: got no error, want one", u.Host)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := other.Close(); err != nil {
		t.Errorf("close of a console that never listened: got %v, want no error", err)
	}
	if _, err := http.Get("http://" + u.Host); err == nil {
		t.Errorf("GET %s after the close: got no error, want one", u.Host)
	}
}

// Idle connections do not block the page.
func TestConsole_servesBesideIdleConnections(t *testing.T) {
	d := newDesk(t)
	var first net.Conn
	for range 300 {
		c, err := net.Dial("tcp", strings.TrimPrefix(d.base, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if first == nil {
			first = c
		}
	}
	if code, _, _ := d.do("GET", "/state", "", "Authorization", "Bearer "+d.token); code != http.StatusOK {
		t.Errorf("the page's own request: got %d, want %d", code, http.StatusOK)
	}
	if n, err := first.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("the oldest is open still: got %d, %v; want 0, an error", n, err)
	}
}

// An order applies only to the shown content, and has no effect if that has changed.
func TestConsole_ordersApplyToShownContentOnly(t *testing.T) {
	d := newDesk(t)
	order := func(body string) (int, string) {
		code, text, _ := d.do("POST", "/order", body, "Authorization", "Bearer "+d.token, "Content-Type", "application/json", "Origin", d.base)
		return code, strings.TrimSpace(text)
	}
	for _, c := range []struct {
		body string
		code int
		want string
	}{
		{`{"do":"review","host":"h2","plugin":"p"}`, 422, "no such host"},
		{`{"do":"review","host":"h1","plugin":"p"}`, 200, `"seen":"s1"`},
		{`{"do":"approve","host":"h1","plugin":"p","seen":"s0"}`, 409, "look at it again"},
		{`{"do":"approve","host":"h1","plugin":"p","seen":"s1"}`, 200, `{}`},
		{`{"do":"approve","host":"h1","plugin":"p","seen":"s1","carry":true}`, 200, `{}`},
		{`{"do":"approve","host":"h1","plugin":"p","seen":"s1","carry":1}`, 400, "an order is"},
		{`{"do":"reject","host":"h1","plugin":"p","seen":"s1","carry":true}`, 200, `{}`},
		{`{"do":"reject","host":"h1","plugin":"p","seen":"s1"}`, 200, `{}`},
		{`{"do":"propose","host":"","plugin":"p","line":"fs: read /x"}`, 200, `"lines":["+ fs: read /x"]`},
		{`{"do":"grant","host":"","plugin":"p","line":"fs: read /x"}`, 409, "look at it again"},
		{`{"do":"grant","host":"","plugin":"p","line":"fs: read /x","seen":"s2"}`, 200, `{}`},
		{`{"do":"find","word":"GET"}`, 200, `"line":"fs: read /x"`},
		{`{"do":"find","word":1}`, 400, "an order is"},
		{`{"do":"receipt","call":"c1"}`, 200, `"text":`},
		{`{"do":"receipt","call":"c2"}`, 422, "no such call"},
		{`{"do":"offer","host":"h2","link":"https://a.example/x.wasm"}`, 422, "no such host"},
		{`{"do":"offer","host":"h1","link":"https://a.example/x.wasm"}`, 200, `"seen":"s3"`},
		{`{"do":"install","host":"h1","link":"https://a.example/x.wasm","lines":["fs: read /x"]}`, 409, "look at it again"},
		{`{"do":"install","host":"h1","link":"https://a.example/x.wasm","seen":"s3","lines":["fs: read /x"]}`, 200, `"text":`},
		{`{"do":"install","host":"h1","link":"https://a.example/x.wasm","seen":"s3","lines":"fs: read /x"}`, 400, "an order is"},
		{`{"do":"anything"}`, 400, "an order is"}, {`[]`, 400, "an order is"}, {`{`, 400, "an order is"},
	} {
		if code, text := order(c.body); code != c.code || !strings.Contains(text, c.want) {
			t.Errorf("%s: got %d %s; want %d, %s in it", c.body, code, text, c.code, c.want)
		}
	}
	if strings.Contains(d.log.String(), "could not serve") {
		t.Errorf("got log %s, want it without \"could not serve\"", d.log.String())
	}
	if got, want := strings.Join(d.backend.did, ", "), "h1 p true false, h1 p true true, h1 p false false, h1 p false false,  p fs: read /x, find GET, "+
		"offer https://a.example/x.wasm, install h1 https://a.example/x.wasm [fs: read /x]"; got != want {
		t.Errorf("did %s, want %s", got, want)
	}
	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", ""} {
		if code, _, _ := d.do("POST", "/order", `{"do":"review","host":"h1","plugin":"p"}`, "Authorization", "Bearer "+d.token, "Content-Type", kind); code != http.StatusBadRequest {
			t.Errorf("%q: got %d, want %d", kind, code, http.StatusBadRequest)
		}
	}
}
