package hostfuncs_test

import (
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/egress"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/audit"
)

// escape is one attempt of a guest to leave its grants. It is checked from outside: by the requests that servers
// received, and the call's record.
type escape struct {
	class  string
	name   string
	grants []string // none by default
	args   string   // arguments of the call
	method string   // method of Ask; empty is http/fetch
	params string   // {canary} is a server without a grant
	twin   bool     // granted, and must succeed
}

const (
	everywhere = "net: GET http://**/**"
	open       = "net: GET,POST http://site.example/open/**"
	bind       = "net: GET http://site.example/repos/{args.owner}/**"
	key        = `secret: KEY {from: env SALLYPORT_TEST_KEY, to: http://site.example/v1/**, as: "Authorization: {secret}"}`
	site       = "net: GET,POST http://site.example/**"
)

// escapes returns the table that TestEscape prints.
func escapes() []escape {
	var all []escape
	add := func(class, name string, grants []string, params string) {
		all = append(all, escape{class: class, name: name, grants: grants, params: params})
	}
	for name, address := range map[string]string{
		"loopback by number": "http://127.0.0.1/canary", "loopback as one number": "http://2130706433/canary", "octal": "http://0177.0.0.1/canary",
		"hexadecimal": "http://0x7f.0.0.1/canary", "short form": "http://127.1/canary", "any address": "http://0.0.0.0/canary",
		"IPv4 in IPv6": "http://[::ffff:127.0.0.1]/canary", "NAT64": "http://[64:ff9b::7f00:1]/canary", "6to4": "http://[2002:7f00:1::]/canary",
		"IPv6 loopback": "http://[::1]/canary", "site-local": "http://[fec0::1]/canary", "zone": "http://[fe80::1%25eth0]/canary",
		"carrier network": "http://100.64.0.1/canary", "reserved": "http://240.0.0.1/canary", "metadata": "http://169.254.169.254/canary",
		"localhost": "http://localhost/canary", "localhost with a dot": "http://localhost./canary", "below localhost": "http://a.localhost/canary",
		"wide digits and dots": "http://１２７。０。０。１/canary", "user information before": "http://site.example@127.0.0.1/canary",
		"user information after": "http://127.0.0.1:80@site.example/canary", "a name of loopback": "http://loop.example/canary",
		"a name of a private network": "http://home.example/canary", "a name of metadata": "http://cloud.example/canary",
		"a name of IPv4 in IPv6": "http://mapped.example/canary", "one bad address of two hidden": "http://six.example/canary",
		"redirect to loopback": "http://site.example/to?u=http://127.0.0.1/canary", "redirect to metadata": "http://site.example/to?u=http://169.254.169.254/canary",
		"redirect to a name of loopback": "http://site.example/to?u=http://loop.example/canary", "redirect to a file": "http://site.example/to?u=file:///etc/passwd",
		"redirect to gopher": "http://site.example/to?u=gopher://127.0.0.1/canary", "redirect round and round": "http://site.example/round",
		"a file": "file:///etc/passwd", "ftp": "ftp://site.example/canary", "another port": "http://site.example:8081/canary",
		"gzip bomb": "http://site.example/bomb", "never-ending body": "http://site.example/endless", "header without end": "http://site.example/headers",
	} {
		add("net", name, []string{everywhere}, get(address))
	}
	for name, address := range map[string]string{
		"dot segments": "http://site.example/open/../canary", "encoded dots": "http://site.example/open/%2e%2e/canary", "encoded slash": "http://site.example/open/..%2fcanary",
		"backslash": `http://site.example/open/..\canary`, "dots with a parameter": "http://site.example/open/..;/canary", "another host in front": "http://canary.site.example/open/x",
		"another host behind": "http://site.example.evil.example/open/x", "look-alike": "http://ѕite.example/open/x", "look-alike in punycode": "http://xn--ite-3cd.example/open/x",
		"secure instead": "https://site.example/open/x", "redirect out of the path": "http://site.example/open/to?u=/canary",
	} {
		add("net", name, []string{open}, get(address))
	}
	for name, path := range map[string]string{
		"plain": "open/admin/x", "an empty step": "open//admin/x", "empty steps": "open///admin///x", "one in front": "/open/admin/x", "encoded letter": "open/%61dmin/x",
		"encoded slash": "open/%2Fadmin/x", "encoded slash between": "open%2Fadmin/x", "encoded backslash": "open/%5Cadmin/x", "empty after a dot": "open/.//admin/x",
	} {
		add("net", "what a line denies, "+name, []string{site, "deny: net: GET http://site.example/open/admin/**"}, get("http://site.example/"+path))
	}
	for name, params := range map[string]string{
		"header with a line end": `{"url":"http://site.example/open/x","headers":{"X":"a\r\nGET /canary HTTP/1.1"}}`, "header name with a line end": `{"url":"http://site.example/open/x","headers":{"X\r\nY":"a"}}`,
		"second Host": `{"url":"http://site.example/open/x","headers":{"Host":"canary.example"}}`, "Transfer-Encoding": `{"url":"http://site.example/open/x","headers":{"Transfer-Encoding":"chunked"}}`,
		"Content-Length": `{"url":"http://site.example/open/x","headers":{"content-length":"0"}}`, "Upgrade": `{"url":"http://site.example/open/x","headers":{"Upgrade":"h2c"}}`,
		"CONNECT": `{"method":"CONNECT","url":"http://site.example/open/x"}`, "TRACE": `{"method":"TRACE","url":"http://site.example/open/x"}`,
		"method with a blank": `{"method":"GET /canary HTTP/1.1\r\nX:","url":"http://site.example/open/x"}`, "another method": `{"method":"PUT","url":"http://site.example/open/x"}`,
		"proxy header": `{"url":"http://site.example/open/x","headers":{"Proxy-Authorization":"x"}}`,
	} {
		add("net", name, []string{open}, params)
	}
	for name, c := range map[string][2]string{
		"slash": {`"a/b"`, "a/b/canary"}, "encoded slash": {`"a%2fb"`, "a%2Fb/canary"}, "dot dot": {`".."`, "../canary"}, "another value": {`"me"`, "you/canary"}, "hash": {`"a#b"`, "a%23b/canary"},
		"at": {`"a@b"`, "a@b/canary"}, "question mark": {`"a?b"`, "a%3Fb/canary"}, "star": {`"*"`, "you/canary"}, "two stars": {`"**"`, "you/them/canary"}, "unicode slash": {`"a∕b"`, "a%E2%88%95b/canary"},
		"full-width slash": {`"a／b"`, "a%EF%BC%8Fb/canary"}, "backslash": {`"a\\b"`, "a%5Cb/canary"}, "colon": {`"a:b"`, "a:b/canary"}, "empty": {`""`, "/canary"}, "null": {`null`, "null/canary"},
		"object": {`{"x":"me"}`, "me/canary"}, "fraction": {`1.5`, "1.5/canary"}, "zero byte": {`"me\u0000"`, "me/canary"}, "hidden character": {`"me\u200b"`, "me%E2%80%8B/canary"},
	} {
		all = append(all, escape{class: "argument", name: name, grants: []string{bind}, args: `{"owner":` + c[0] + `}`, params: get("http://site.example/repos/" + c[1])})
	}
	all = append(all,
		escape{class: "argument", name: "twice", grants: []string{bind}, args: `{"owner":"me","owner":"you"}`, params: get("http://site.example/repos/me/canary")},
		escape{class: "argument", name: "twice, the other", grants: []string{bind}, args: `{"owner":"me","owner":"you"}`, params: get("http://site.example/repos/you/canary")},
		escape{class: "argument", name: "missing", grants: []string{bind}, args: `{}`, params: get("http://site.example/repos/undefined/canary")},
		escape{class: "argument", name: "address that is a host", grants: []string{"net: GET http://{args.owner:host}/**"}, args: `{"owner":"127.0.0.1"}`, params: get("http://127.0.0.1/canary")},
		escape{class: "argument", name: "host with a port", grants: []string{"net: GET http://{args.owner:host}/**"}, args: `{"owner":"site.example:8081"}`, params: get("http://site.example:8081/canary")},
		escape{class: "argument", name: "name of loopback", grants: []string{"net: GET http://{args.owner:host}/**"}, args: `{"owner":"loop.example"}`, params: get("http://loop.example/canary")},
		escape{class: "argument", name: "whole address of loopback", grants: []string{"net: GET {args.owner:url}"}, args: `{"owner":"http://127.0.0.1/canary"}`, params: get("http://127.0.0.1/canary")},
		escape{class: "argument", name: "redirect to another host", grants: []string{"net: GET {args.owner:url}"}, args: `{"owner":"http://site.example/to"}`, params: get("http://site.example/to?u=http://other.example/canary")},
	)
	for name, params := range map[string]string{
		"another host": get("http://other.example/v1/x"), "another path": get("http://site.example/v2/x"), "dot segments": get("http://site.example/v1/../v2/x"),
		"encoded slash": get("http://site.example/v1%2fx"), "another method": `{"method":"POST","url":"http://site.example/v1/x"}`, "redirect to another host": get("http://site.example/v1/to?u=http://other.example/v1/x"),
		"redirect to another path": get("http://site.example/v1/to?u=/v2/x"), "echo in a body": get("http://site.example/v1/echo"), "echo in base64": get("http://site.example/v1/echo?base64"),
		"echo in hex": get("http://site.example/v1/echo?hex"), "echo in a header": get("http://site.example/v1/echo?header"), "echo byte by byte": get("http://site.example/v1/echo?slow"),
		"echo in an address": get("http://site.example/v1/echo?location"), "echo in a coding": `{"url":"http://site.example/v1/echo?coding","headers":{"Accept-Encoding":"br"}}`,
	} {
		add("secret", name, []string{site, "net: GET http://other.example/**", key}, params)
	}
	all = append(all,
		escape{class: "secret", name: "asked for", grants: []string{key}, method: "secrets/get", params: `{"name":"KEY"}`},
		escape{class: "secret", name: "asked for another", grants: []string{key}, method: "secrets/get", params: `{"name":"HOME"}`},
		escape{class: "secret", name: "listed", grants: []string{key}, method: "secrets/list", params: `{}`},
	)
	for _, t := range []escape{
		{class: "net", name: "granted path", grants: []string{open}, params: get("http://site.example/open/x")},
		{class: "net", name: "granted redirect", grants: []string{open}, params: get("http://site.example/open/to?u=/open/x")},
		{class: "net", name: "the whole web", grants: []string{everywhere}, params: get("http://other.example/x")},
		{class: "net", name: "loopback that is named", grants: []string{"net: GET http://127.0.0.1/**"}, params: get("http://127.0.0.1/x")},
		{class: "argument", name: "its value", grants: []string{bind}, args: `{"owner":"me"}`, params: get("http://site.example/repos/me/x")},
		{class: "argument", name: "a number", grants: []string{bind}, args: `{"owner":42}`, params: get("http://site.example/repos/42/x")},
		{class: "argument", name: "a host", grants: []string{"net: GET http://{args.owner:host}/**"}, args: `{"owner":"site.example"}`, params: get("http://site.example/x")},
		{class: "argument", name: "a whole address", grants: []string{"net: GET {args.owner:url}"}, args: `{"owner":"http://site.example/x"}`, params: get("http://site.example/x?page=2")},
		{class: "secret", name: "where it goes", grants: []string{site, key}, params: get("http://site.example/v1/x")},
	} {
		t.twin = true
		all = append(all, t)
	}
	slices.SortStableFunc(all, func(a, b escape) int { return strings.Compare(a.class+a.name, b.class+b.name) })
	return all
}

// outside is the environment of the attempts: one server behind every public address, which records its requests.
type outside struct {
	web  *httptest.Server
	zone *zone
	wire *wire

	mu   sync.Mutex
	seen []string // "HOST PATH AUTHORIZATION"
}

func newOutside(t *testing.T) *outside {
	w := &outside{}
	w.web = serve(t, w.answer)
	w.zone = &zone{names: map[string][][]string{
		"site.example": {{"93.184.216.34"}}, "other.example": {{"93.184.216.35"}}, "canary.site.example": {{"93.184.216.34"}},
		"loop.example": {{"127.0.0.1"}}, "home.example": {{"10.0.0.1"}}, "cloud.example": {{"169.254.169.254"}}, "mapped.example": {{"::ffff:127.0.0.1"}},
		"six.example": {{"::1", "fd00::1"}}, "site.example.evil.example": {{"93.184.216.36"}}, "xn--ite-3cd.example": {{"93.184.216.36"}},
		"localhost": {{"127.0.0.1"}}, "a.localhost": {{"127.0.0.1"}},
	}}
	w.wire = &wire{to: strings.TrimPrefix(w.web.URL, "http://")}
	return w
}

func (w *outside) answer(out http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	w.seen = append(w.seen, r.Host+" "+r.URL.Path+" "+r.Header.Get("Authorization"))
	w.mu.Unlock()
	secret := r.Header.Get("Authorization")
	switch path := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/open"), "/v1"); {
	case path == "/to":
		out.Header().Set("Location", r.URL.Query().Get("u"))
		out.WriteHeader(http.StatusFound)
	case path == "/round":
		out.Header().Set("Location", "/round")
		out.WriteHeader(http.StatusFound)
	case path == "/bomb":
		out.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(out)
		for range 64 {
			z.Write(make([]byte, 1<<20))
		}
		z.Close()
	case path == "/endless":
		for r.Context().Err() == nil {
			if _, err := out.Write(make([]byte, 1<<16)); err != nil {
				return
			}
		}
	case path == "/headers":
		for i := range 5000 {
			out.Header().Set(fmt.Sprintf("X-%d", i), strings.Repeat("a", 100))
		}
	case path == "/echo":
		w.echo(out, r.URL.RawQuery, secret)
	default:
		io.WriteString(out, "fine")
	}
}

func (w *outside) echo(out http.ResponseWriter, how, secret string) {
	switch how {
	case "base64":
		io.WriteString(out, base64.StdEncoding.EncodeToString([]byte("x"+secret)))
	case "hex":
		fmt.Fprintf(out, "%x", secret)
	case "header":
		out.Header().Set("X-Echo", secret)
	case "location":
		out.Header().Set("Location", "http://nowhere.example/"+secret)
		out.WriteHeader(http.StatusFound)
	case "coding":
		out.Header().Set("Content-Encoding", "br")
		io.WriteString(out, secret)
	case "slow":
		for i := range len(secret) {
			io.WriteString(out, secret[i:i+1])
			out.(http.Flusher).Flush()
		}
	default:
		io.WriteString(out, "you sent "+secret)
	}
}

// table is the output of TestEscape: a line for each case.
type table struct {
	t     *testing.T
	tried map[string]int // by class: attempts that must be denied
	twins map[string]int // by class: attempts that must be allowed
}

func (b *table) row(class, name, outcome, why string, twin bool) {
	want := "refused"
	if twin {
		want = "allowed"
		b.twins[class]++
	} else {
		b.tried[class]++
	}
	b.t.Logf("%-9s %-60s %s", class, name, outcome)
	if outcome != want {
		b.t.Errorf("%s: %s: %s, want %s: %s", class, name, outcome, want, why)
	}
}

// TestEscape runs all attempts. With -v it prints a line for each with its outcome. The classes "grant file" and
// "folder" are in cmd/sallyport's test of this name.
func TestEscape(t *testing.T) {
	t.Setenv("SALLYPORT_TEST_KEY", secretValue)
	b := &table{t: t, tried: map[string]int{}, twins: map[string]int{}}
	for _, e := range escapes() {
		outcome, why := newOutside(t).try(t, e)
		b.row(e.class, e.name, outcome, why, e.twin)
	}
	file := func(twin bool) func(name, outcome, why string) {
		return func(name, outcome, why string) { b.row("file", name, outcome, why, twin) }
	}
	tryFileEscapes(t, file(false))
	tryGuestEscapes(t, file(false))
	tryFileTwins(t, file(true))
	t.Logf("refused: %v, allowed: %v", b.tried, b.twins)
	for class, least := range map[string]int{"net": 25, "file": 25, "argument": 10, "secret": 10} {
		if b.tried[class] < least || b.twins[class] == 0 {
			t.Errorf("%s: got %d cases and %d twins, want %d cases and a twin", class, b.tried[class], b.twins[class], least)
		}
	}
}

// try runs one attempt and returns its outcome as observed from outside.
func (w *outside) try(t *testing.T, e escape) (outcome, why string) {
	dir := t.TempDir()
	record := audit.New(dir, audit.Options{})
	var log strings.Builder
	h := hostfuncs.NewHost(&hostfuncs.Options{
		Audit: record, Web: egress.Options{Resolver: w.zone, Dial: w.wire.dial, MaxResponse: 1 << 20}, Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	g := h.Plugin(hostfuncs.Plugin{Name: "demo", Grants: mustSet(t, e.grants...)}).NewGate(hostfuncs.Call{
		ID: "c1", Method: "tools/call", Entry: grant.Entry{Kind: "tool", Name: "get"}, Values: grant.ArgumentValues(json.RawMessage(e.args)),
	})
	var told string
	var err error
	if e.method == "" {
		var a answer
		a, err = fetch(t, g, e.params)
		told = fmt.Sprint(a.Headers, a.text)
	} else {
		var raw json.RawMessage
		raw, err = g.Ask(t.Context(), e.method, json.RawMessage(e.params), nil)
		told = string(raw)
	}
	receipt, _ := json.Marshal(g.Receipt())
	g.Close()
	h.Close()
	record.Close()
	lines := auditLines(t, dir)
	switch all := told + fmt.Sprint(err) + log.String() + string(receipt) + lines; {
	case !strings.Contains(lines, `"call":"c1"`):
		return "unrecorded", lines
	case leaks(all):
		return "leaked", all
	case e.twin && err == nil:
		return "allowed", ""
	case e.class == "secret":
		return w.secretOutcome(e), fmt.Sprint(w.seen)
	case err == nil:
		return "allowed", told
	}
	for _, s := range w.seen {
		if strings.Contains(s, "canary") {
			return "reached", s
		}
	}
	for _, d := range w.wire.dialed {
		if d != "93.184.216.34:80" {
			return "connected", d
		}
	}
	return "refused", ""
}

// secretOutcome searches the requests of unauthorized servers for the secret.
func (w *outside) secretOutcome(e escape) string {
	for _, s := range w.seen {
		if strings.Contains(s, secretValue) && !strings.HasPrefix(s, "site.example /v1/") {
			return "sent elsewhere"
		}
	}
	return "refused"
}

// leaks reports whether text contains the secret, in one of the encodings of the test servers.
func leaks(text string) bool {
	for _, form := range []string{secretValue, base64.StdEncoding.EncodeToString([]byte("x" + secretValue))[4:24], fmt.Sprintf("%x", secretValue)} {
		if strings.Contains(text, form) {
			return true
		}
	}
	return false
}

// auditLines returns the audit log.
func auditLines(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			data, err := os.ReadFile(path)
			all.Write(data)
			return err
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
