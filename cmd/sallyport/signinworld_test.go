//go:build clients && unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// ledger lists requests and the responses to them, in the order of the responses.
type ledger struct {
	mu    sync.Mutex
	lines []string
}

func (l *ledger) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
}

func (l *ledger) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lines)
}

// front is an address before a server that is started later and has to know the address. It records all that passes.
type front struct {
	*httptest.Server
	target atomic.Pointer[url.URL] // nil until the server runs
}

// newFront returns an address with nothing behind it yet.
func newFront(t *testing.T, name string, log *ledger) *front {
	t.Helper()
	f := &front{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		asked := fmt.Sprintf("%s %s %s%s", name, r.Method, r.URL.Path, requestDetail(r, body))
		proxy := &httputil.ReverseProxy{
			Rewrite: func(r *httputil.ProxyRequest) {
				r.SetURL(f.target.Load())
				r.Out.Host = r.In.Host
			},
			FlushInterval: -1,
			ModifyResponse: func(r *http.Response) error {
				log.add(strings.TrimSpace(fmt.Sprintf("%s -> %d %s", asked, r.StatusCode, r.Header.Get("WWW-Authenticate"))))
				return nil
			},
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		f.CloseClientConnections()
		f.Close()
	})
	return f
}

// before puts the front before a server.
func (f *front) before(t *testing.T, address string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	f.target.Store(&url.URL{Scheme: u.Scheme, Host: u.Host})
}

// requestDetail returns what tests compare of a request, without secrets: the method and tool of a message, the scheme of the
// credentials, and the parameters of OAuth.
func requestDetail(r *http.Request, body []byte) string {
	var b strings.Builder
	var message struct {
		Method string
		Params struct{ Name string }
	}
	if json.Unmarshal(body, &message) == nil && message.Method != "" {
		b.WriteString(strings.TrimRight(" "+message.Method+" "+message.Params.Name, " "))
	}
	if scheme, _, found := strings.Cut(r.Header.Get("Authorization"), " "); found {
		b.WriteString(" [" + scheme + "]")
	}
	form, _ := url.ParseQuery(string(body)) // a message is no form
	for _, name := range []string{"client_id", "grant_type", "scope", "resource", "code_challenge_method"} {
		for _, value := range slices.Concat(r.URL.Query()[name], form[name]) {
			b.WriteString(" " + name + "=" + strings.ReplaceAll(value, " ", "+"))
		}
	}
	return b.String()
}

// person is an account of the authorization server.
type person struct {
	Password string     `json:"password"`
	Gives    [][]string `json:"gives"` // the scopes that the person gives to a client when asked first, second, …
	Late     bool       `json:"late"`  // the access token of a code has expired
	Refuses  bool       `json:"refuses"`
}

var accounts = map[string]person{
	"ada": {Password: "lovelace", Gives: [][]string{{"tools", "write"}}},
	"ann": {Password: "hesitates", Gives: [][]string{{"tools"}, {"tools", "write"}}},
	"bob": {Password: "may not write", Gives: [][]string{{"tools"}}},
	"eve": {Password: "trusts no client", Refuses: true},
	"lin": {Password: "needs the time", Gives: [][]string{{"tools", "write"}, {"tools", "write", "clock"}}},
	"max": {Password: "tells no time", Gives: [][]string{{"tools", "write"}}},
	"kay": {Password: "is late", Gives: [][]string{{"tools", "write"}}, Late: true},
}

// clientRedirect is the client's own address, which no browser of these tests opens.
const clientRedirect = "http://127.0.0.1/callback"

// world is an authorization server and the program, each behind a front.
type world struct {
	issuer, resource *front
	url              string // of the endpoint, for clients
	log              *ledger
}

// newWorld starts both, with access tokens of a format: jwt or opaque.
func newWorld(t *testing.T, format string) *world {
	t.Helper()
	log := &ledger{}
	w := &world{issuer: newFront(t, "issuer", log), resource: newFront(t, "sallyport", log), log: log}
	w.url = w.resource.URL + "/mcp"
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("what passed:\n%s", strings.Join(log.all(), "\n"))
		}
	})
	w.issuer.before(t, w.startIssuer(t, format))
	w.resource.before(t, serveURL(t, w.config(t, format), folder(t, bundled(t, "time"))))
	return w
}

// clientDocument is the address of a client's metadata, which is its identifier.
const clientDocument = "https://client.example/oauth/client.json"

// plainDocument is that of a client that gets no refresh tokens.
const plainDocument = "https://client.example/oauth/plain.json"

// clientMetadata returns the metadata of a client.
func clientMetadata(id string, grants ...string) map[string]any {
	return map[string]any{
		"client_id": id, "client_name": "a test", "redirect_uris": []string{clientRedirect}, "response_types": []string{"code"},
		"grant_types": grants, "token_endpoint_auth_method": "none",
	}
}

// startIssuer starts testdata/clients/issuer.mjs and returns its address.
func (w *world) startIssuer(t *testing.T, format string) string {
	t.Helper()
	spec, err := json.Marshal(map[string]any{
		"packages":  npm(t),
		"issuer":    w.issuer.URL,
		"client":    map[string]string{"id": "sallyport", "secret": introspectionSecret},
		"people":    accounts,
		"resources": map[string]any{w.url: map[string]string{"format": format, "scope": "tools write clock"}},
		"documents": map[string]any{
			clientDocument: clientMetadata(clientDocument, "authorization_code", "refresh_token"), plainDocument: clientMetadata(plainDocument, "authorization_code"),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs(filepath.Join("testdata", "clients", "issuer.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(npm(t, ".bin", "node"), script)
	cmd.Env = append(os.Environ(), "SALLYPORT_ISSUER="+string(spec))
	var problems bytes.Buffer
	cmd.Stderr = &problems
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Logf("the authorization server:\n%s", &problems)
		}
	})
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		if port, found := strings.CutPrefix(lines.Text(), "port "); found {
			return "http://127.0.0.1:" + port
		}
	}
	t.Fatal("the authorization server: got its end, want a port")
	return ""
}

// webBrowser answers for a person at the authorization server: it opens an address, signs in, consents, and returns the
// address that the last redirect leads to. The person stays signed in.
type webBrowser struct {
	client *http.Client
	name   string
}

func newWebBrowser(t *testing.T, name string) *webBrowser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &webBrowser{name: name, client: &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(r.URL.String(), clientRedirect) {
			return http.ErrUseLastResponse
		}
		return nil
	}}}
}

// ServeHTTP opens the address in the query, and returns the one that the client is called back at.
func (b *webBrowser) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	back, err := b.open(r.URL.Query().Get("address"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	io.WriteString(w, back)
}

// formInput matches an input of a form.
var formInput = regexp.MustCompile(`<input name="(\w+)">`)

// open follows redirects and fills in each form, up to a few.
func (b *webBrowser) open(address string) (string, error) {
	response, err := b.client.Get(address)
	for range 5 {
		if err != nil {
			return "", err
		}
		page, err := io.ReadAll(response.Body)
		response.Body.Close()
		if back := response.Header.Get("Location"); err == nil && back != "" {
			return back, nil
		}
		if err != nil || response.StatusCode != http.StatusOK {
			return "", fmt.Errorf("%s: got %d, %v, want a form: %s", response.Request.URL.Path, response.StatusCode, err, page)
		}
		form := url.Values{}
		for _, input := range formInput.FindAllSubmatch(page, -1) {
			form.Set(string(input[1]), map[string]string{"login": b.name, "password": accounts[b.name].Password}[string(input[1])])
		}
		response, err = b.client.PostForm(response.Request.URL.String(), form)
	}
	if err != nil {
		return "", err
	}
	response.Body.Close()
	return "", errors.New("the authorization server asks without end")
}

// introspectionSecret is the program's own at the authorization server.
const introspectionSecret = "a secret of the program"

// timeRules give the tool time-now to callers with a scope of its own.
const timeRules = `plugins:
  time:
    callers:
      - who: [all]
        publish: [convert]
      - who: [all]
        publish: [now]
        scopes: [clock]
`

// config returns the settings of the program, with a file for its secret.
func (w *world) config(t *testing.T, format string) string {
	t.Helper()
	issuer := "{issuer: " + w.issuer.URL + "}"
	if format == "opaque" {
		secret := filepath.Join(t.TempDir(), "secret")
		if err := os.WriteFile(secret, []byte(introspectionSecret+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		issuer = fmt.Sprintf("{issuer: %s, introspection: {client: sallyport, secret: %s}}", w.issuer.URL, secret)
	}
	return fmt.Sprintf("http:\n  public_url: %s\nauth:\n  scopes: [tools, write]\n  issuers: [%s]\n"+timeRules, w.url, issuer)
}
