package hostfuncs_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/receipt"
	"github.com/sallyport-mcp/sallyport/internal/sanitize"
	"github.com/sallyport-mcp/sallyport/runtime"
)

const secretValue = "k-0123456789/abc+def"

// echo is a server that answers with the whole request, in several encodings.
func echo(t *testing.T, seen *[]string) string {
	t.Helper()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*seen = append(*seen, fmt.Sprintf("%s %s|%s|%s", r.Method, r.URL, r.Header.Get("Authorization"), body))
		if to := r.URL.Query().Get("to"); to != "" {
			w.Header().Set("Location", to)
			w.WriteHeader(302)
			return
		}
		if r.URL.Path == "/gzip" {
			w.Header().Set("Content-Encoding", "br")
		}
		all := r.Header.Get("Authorization") + r.URL.RawQuery + string(body)
		w.Header().Set("X-Echo", all)
		for _, text := range []string{all, base64.StdEncoding.EncodeToString([]byte(all)), fmt.Sprintf("%x", all), url.QueryEscape(all)} {
			io.WriteString(w, text+"\n")
			w.(http.Flusher).Flush()
		}
	})
	return s.URL
}

func TestSecret_reachesServerAndNeverGuest(t *testing.T) {
	t.Setenv("SALLYPORT_TEST_KEY", secretValue)
	var seen []string
	at := echo(t, &seen)
	var log bytes.Buffer
	client := &listener{}
	h := hostfuncs.NewHost(&hostfuncs.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	t.Cleanup(h.Close)
	g := h.Plugin(hostfuncs.Plugin{Name: "demo", Grants: mustSet(t, "net: GET,POST "+at+"/**",
		`secret: KEY {from: env SALLYPORT_TEST_KEY, to: `+at+`/v1/**, as: "Authorization: Bearer {secret}"}`,
	)}).NewGate(hostfuncs.Call{ID: "c1", Client: client})
	t.Cleanup(g.Close)
	a, err := fetch(t, g, fmt.Sprintf(`{"url":"%s/v1/x","headers":{"Authorization":"mine","Accept-Encoding":"br"}}`, at))
	if err != nil {
		t.Fatal(err)
	}
	if want := "GET /v1/x|Bearer " + secretValue + "|"; len(seen) != 1 || seen[0] != want {
		t.Errorf("the server saw %q, want %q", seen, want)
	}
	guest := a.text + fmt.Sprint(a.Headers)
	noEcho(t, "the guest", guest)
	if strings.Count(guest, "[secret:KEY]") != 5 {
		t.Errorf("the guest got %q, want [secret:KEY] 5 times", guest)
	}
	// Guest output that contains the value is redacted too, should a guest obtain one.
	for _, params := range []string{`{"level":"info","data":"got ` + secretValue + `"}`, `{"level":"info","data":{"x":"` + base64.StdEncoding.EncodeToString([]byte("a"+secretValue)) + `"}}`} {
		if _, err := g.Ask(t.Context(), "notifications/message", json.RawMessage(params), nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := g.Ask(t.Context(), "notifications/progress", json.RawMessage(`{"progress":1,"message":"`+secretValue+`"}`), nil); err != nil {
		t.Fatal(err)
	}
	_, err = fetch(t, g, get("http://elsewhere.example/"+url.PathEscape(secretValue)))
	noEcho(t, "a refusal", err.Error())
	io.WriteString(g.Output(), "stderr "+secretValue+"\n")
	noEcho(t, "stderr", string(g.Stderr()))
	receipt, _ := json.Marshal(g.Receipt())
	noEcho(t, "the receipt", string(receipt))
	noEcho(t, "the log", log.String())
	noEcho(t, "the client", fmt.Sprint(client.messages, client.progress, client.denied))
	noEcho(t, "a result", string(g.Redact([]byte(`{"content":[{"type":"text","text":"`+secretValue+`"}]}`))))
	if !strings.Contains(string(receipt), `"family":"secret","target":"KEY"`) {
		t.Errorf("got receipt %s, want the secret KEY in it", receipt)
	}
}

// noEcho fails if text contains the value, plain or encoded.
func noEcho(t *testing.T, who, text string) {
	t.Helper()
	for _, form := range []string{secretValue, base64.StdEncoding.EncodeToString([]byte(secretValue))[:20], fmt.Sprintf("%x", secretValue), url.QueryEscape(secretValue)} {
		if strings.Contains(text, form) {
			t.Errorf("%s got %q, want no form of the value in it", who, text)
		}
	}
}

func TestSecret_goesNowhereElse(t *testing.T) {
	t.Setenv("SALLYPORT_TEST_KEY", secretValue)
	var seen, others []string
	at, other := echo(t, &seen), echo(t, &others)
	g := newGate(t, nil, "net: GET,POST "+at+"/**", "net: GET "+other+"/**",
		`secret: KEY {from: env SALLYPORT_TEST_KEY, to: `+at+`/v1/**, as: "Authorization: Bearer {secret}"}`)
	for _, params := range []string{
		get(at + "/v2"), get(at + "/v1%2fx"), get(at + "/v1/../v2"), get(other + "/v1/x"), get(at + "/v2?to=" + other + "/v1/x"),
		fmt.Sprintf(`{"method":"POST","url":"%s/v1/x"}`, at), get(at + "/v1/x?to=" + other + "/v1/y"),
	} {
		seen = nil
		if _, err := fetch(t, g, params); err != nil {
			t.Errorf("%s: got %v, want success", params, err)
		}
		if !strings.Contains(params, "/v1/x?to=") {
			noEcho(t, params, fmt.Sprint(seen))
		}
	}
	noEcho(t, "another server", fmt.Sprint(others))
	if len(others) != 3 {
		t.Errorf("the other server saw %q, want 3 requests", others)
	}
	if _, err := fetch(t, g, get(at+"/v2?to="+url.QueryEscape(at+"/v1/x"))); err != nil || !strings.Contains(seen[len(seen)-1], secretValue) {
		t.Errorf("a redirect to a granted target: got requests %q, %v, want the secret in the last", seen, err)
	}
}

func TestSecret_placeholderIsReplaced(t *testing.T) {
	t.Setenv("SALLYPORT_TEST_KEY", secretValue)
	var seen []string
	at := echo(t, &seen)
	h := hostfuncs.NewHost(nil)
	t.Cleanup(h.Close)
	set, err := grant.Parse([]grant.Node{
		{Kind: grant.Map, Nodes: []grant.Node{{Key: "config", Kind: grant.Map, Nodes: []grant.Node{
			{Key: "API_KEY", Kind: grant.Map, Nodes: []grant.Node{{Key: "secret", Value: "KEY"}}}}}}},
		{Value: "secret: KEY {from: env SALLYPORT_TEST_KEY, to: [" + at + "/v1/**, \"POST " + at + "/v1/**\"]}"},
		{Value: "net: GET,POST " + at + "/**"},
	})
	if err != nil {
		t.Fatal(err)
	}
	p := h.Plugin(hostfuncs.Plugin{Name: "demo", Grants: set})
	g := p.NewGate(hostfuncs.Call{ID: "c1"})
	t.Cleanup(g.Close)
	holder, ok := g.Config("API_KEY")
	if !ok || len(holder) < 40 || strings.Contains(fmt.Sprint(p.Env()), secretValue) || !strings.Contains(fmt.Sprint(p.Env()), "API_KEY="+holder) {
		t.Fatalf("got placeholder %q (found: %t) and environment %q, want a placeholder in both and no value", holder, ok, p.Env())
	}
	a, err := fetch(t, g, fmt.Sprintf(`{"method":"POST","url":"%s/v1/x?k=%s","headers":{"Authorization":"Basic %s"},"body":"{\"key\":\"%s\"}"}`, at, holder, holder, holder))
	if err != nil {
		t.Fatal(err)
	}
	want := "POST /v1/x?k=" + url.QueryEscape(secretValue) + "|Basic " + secretValue + `|{"key":"` + secretValue + `"}`
	if seen[0] != want {
		t.Errorf("the server saw %q, want %q", seen[0], want)
	}
	noEcho(t, "the guest", a.text+fmt.Sprint(a.Headers))
	if _, err := fetch(t, g, fmt.Sprintf(`{"url":"%s/v2?k=%s"}`, at, holder)); err != nil || !strings.Contains(seen[1], holder) {
		t.Errorf("a server without the secret saw %q, %v, want the placeholder", seen[1], err)
	}
	raw, err := g.Ask(t.Context(), "secrets/list", nil, nil)
	if want := `{"secrets":[{"name":"KEY","to":["GET ` + at + `/v1/**","POST ` + at + `/v1/**"],"config":["API_KEY"]}]}`; err != nil || string(raw) != want {
		t.Errorf("got list %s, %v, want %s", raw, err, want)
	}
	_, err = g.Ask(t.Context(), "secrets/get", json.RawMessage(`{"name":"KEY"}`), nil)
	wantAsk(t, err, runtime.KindDenied, `plugin "demo" may not read the secret KEY: no grant allows it`, "")
}

func TestGate_Secret_givesPlaceholdersAndRevealedValues(t *testing.T) {
	t.Setenv("SALLYPORT_TEST_KEY", secretValue)
	h := hostfuncs.NewHost(nil)
	t.Cleanup(h.Close)
	g := h.Plugin(hostfuncs.Plugin{Name: "demo", Grants: mustSet(t,
		`secret: ACCESS_TOKEN {from: keyring svc/me, to: "https://a.example/**"}`,
		`secret: OPEN {from: env SALLYPORT_TEST_KEY, reveal: true}`,
		`secret: UNSET {from: env SALLYPORT_TEST_NONE, reveal: true}`,
	)}).NewGate(hostfuncs.Call{ID: "c1"})
	t.Cleanup(g.Close)
	byName, ok, err := g.Secret(t.Context(), "ACCESS_TOKEN")
	bySource, _, _ := g.Secret(t.Context(), "keyring svc/me")
	if !ok || err != nil || len(byName) < 40 || byName != bySource {
		t.Errorf("got %q and %q, %t, %v, want one placeholder", byName, bySource, ok, err)
	}
	for _, name := range []string{"env SALLYPORT_TEST_KEY", "OPEN"} {
		if text, ok, err := g.Secret(t.Context(), name); text != secretValue || !ok || err != nil {
			t.Errorf("%s: got %q, %t, %v, want the value", name, text, ok, err)
		}
	}
	for _, name := range []string{"", "keyring svc/you", "keyring svc/me/", "PATH", "env HOME"} {
		if text, ok, err := g.Secret(t.Context(), name); text != "" || ok || err != nil {
			t.Errorf("%q without a line: got %q, %t, %v, want nothing", name, text, ok, err)
		}
	}
	if text, ok, err := g.Secret(t.Context(), "UNSET"); text != "" || ok || err == nil {
		t.Errorf("a value that is not set: got %q, %t, %v, want an error", text, ok, err)
	}
	if got := fmt.Sprint(g.Receipt()); !strings.Contains(got, "OPEN") || strings.Contains(got, secretValue) {
		t.Errorf("got receipt %s, want the name of the revealed secret in it, and no value", got)
	}
}

// TestSecret_commandHidesFolderFromRemoteCallers checks that the command that sets a missing secret locates this host's
// state folder, for local callers only.
func TestSecret_commandHidesFolderFromRemoteCallers(t *testing.T) {
	const flags = "--config /srv/secret.yaml --state '/srv/my state'"
	at := echo(t, new([]string))
	grants := mustSet(t, "net: GET "+at+"/**", `secret: SALLYPORT_TEST_NONE {to: `+at+`/none, as: "X: {secret}"}`, `secret: SALLYPORT_TEST_OPEN {reveal: true}`)
	host := hostfuncs.NewHost(&hostfuncs.Options{Flags: flags})
	t.Cleanup(host.Close)
	for principal, typed := range map[string]string{"stdio:1": " " + flags, "socket:1": " " + flags, "cli": " " + flags, "anonymous": " " + flags, "token:alice": ""} {
		p := host.Plugin(hostfuncs.Plugin{Name: "demo", Grants: grants})
		g := p.NewGate(hostfuncs.Call{ID: "c", Principal: principal, Method: "tools/call"})
		_, err := fetch(t, g, get(at+"/none"))
		wantAsk(t, err, runtime.KindUnavailable, `plugin "demo" may not GET `+at+"/none: the secret SALLYPORT_TEST_NONE cannot be had: it is not set: sallyport secret set SALLYPORT_TEST_NONE"+typed+" asks for it", "")
		_, err = g.Ask(t.Context(), "secrets/get", json.RawMessage(`{"name":"SALLYPORT_TEST_OPEN"}`), nil)
		wantAsk(t, err, runtime.KindUnavailable, "the secret SALLYPORT_TEST_OPEN cannot be had: it is not set: sallyport secret set SALLYPORT_TEST_OPEN"+typed+" asks for it", "")
		g.Close()
		p.Close()
	}
}

func TestSecret_isPutIntoQueryOrRequestIsDenied(t *testing.T) {
	t.Setenv("SALLYPORT_TEST_KEY", secretValue)
	var seen []string
	at := echo(t, &seen)
	g := newGate(t, nil, "net: GET "+at+"/**",
		`secret: KEY {from: env SALLYPORT_TEST_KEY, to: `+at+`/q, as: "?key={secret}"}`,
		`secret: NONE {from: env SALLYPORT_TEST_NONE, to: `+at+`/none, as: "X: {secret}"}`,
		`secret: OPEN {from: env SALLYPORT_TEST_KEY, reveal: true}`,
		`secret: KEY {from: env SALLYPORT_TEST_KEY, to: `+at+`/gzip, as: "X: {secret}"}`)
	if _, err := fetch(t, g, get(at+"/q?a=1&k%65y=mine&b=2")); err != nil || seen[0] != "GET /q?a=1&b=2&key="+url.QueryEscape(secretValue)+"||" {
		t.Errorf("the server saw %q, %v, want the key in the query once", seen, err)
	}
	_, err := fetch(t, g, get(at+"/none"))
	wantAsk(t, err, runtime.KindUnavailable, `plugin "demo" may not GET `+at+"/none: the secret NONE cannot be had: env SALLYPORT_TEST_NONE: it is not set", "")
	if len(seen) != 1 {
		t.Errorf("with a secret that is unset: got requests %q, want only the one before", seen)
	}
	if r := g.Receipt(); len(r.Denials) != 1 || len(r.Effects) != 2 || r.Effects[0].Count != 1 || r.Effects[1] != (receipt.Effect{Family: "secret", Target: "KEY", Count: 1}) {
		t.Errorf("got effects %+v and denials %+v, want one request and the secret KEY once, and one denial", r.Effects, r.Denials)
	}
	_, err = fetch(t, g, get(at+"/gzip"))
	wantAsk(t, err, runtime.KindUnavailable, strings.TrimPrefix(at, "http://")+" answers in an encoding that was not asked for", "")
	raw, err := g.Ask(t.Context(), "secrets/get", json.RawMessage(`{"name":"OPEN"}`), nil)
	if err != nil || string(raw) != `{"value":"`+secretValue+`"}` {
		t.Errorf("secrets/get: got %s, %v, want the value", raw, err)
	}
}

// TestSecret_isFoundInPiecesThatCleaningJoins checks that a value is found which cleaning would restore: with invisible
// or control characters between its letters, in plain text, in JSON escapes, in base64 and as UTF-16 or UTF-32. Text
// without a value is unchanged.
func TestSecret_isFoundInPiecesThatCleaningJoins(t *testing.T) {
	t.Setenv("SALLYPORT_TEST_KEY", secretValue)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("ok")) })
	g := newGate(t, nil, "net: GET "+s.URL+"/**", `secret: KEY {from: env SALLYPORT_TEST_KEY, to: `+s.URL+`/v1/**, as: "Authorization: Bearer {secret}"}`)
	if _, err := fetch(t, g, get(s.URL+"/v1/x")); err != nil {
		t.Fatal(err)
	}
	encoded := base64.StdEncoding.EncodeToString([]byte(secretValue))
	for _, between := range []string{"\u200b", "\u00ad", "\x00", "\x1b[0m", "\x00\x00\x00", "\u2060\u200d", "\U000e0041"} {
		for _, value := range []string{secretValue, encoded} {
			split := strings.Join(strings.Split(value, ""), between)
			quoted, err := json.Marshal(split)
			if err != nil {
				t.Fatal(err)
			}
			raw := []byte(`{"content":[{"type":"text","text":` + string(quoted) + `}]}`)
			for _, text := range [][]byte{raw, []byte("it is " + split)} {
				out := g.Redact(text)
				if found, _ := sanitize.Text(string(cleanedForTest(out))); strings.Contains(found, value) || !strings.Contains(found, "[secret:KEY]") {
					t.Errorf("%q: got %s, want [secret:KEY] for the value", between, out)
				}
			}
		}
	}
	for _, text := range []string{`{"a":"x\u200by"}`, "plain\u200btext", "", `[1,"\u0000"]`} {
		if got := g.Redact([]byte(text)); string(got) != text {
			t.Errorf("%q: got %q, want it unchanged", text, got)
		}
	}
}

// cleanedForTest cleans a text as for an answer.
func cleanedForTest(text []byte) []byte {
	if json.Valid(text) {
		text, _ = sanitize.JSON(text, nil)
	}
	return text
}

// TestSecret_acceptsOnlyKnownEncodings checks that requests of a plugin with secrets accept only encodings that the
// host can decode, also at URLs without a secret: the server there may know the value.
func TestSecret_acceptsOnlyKnownEncodings(t *testing.T) {
	t.Setenv("SALLYPORT_TEST_KEY", secretValue)
	known := ""
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		known = cmp.Or(known, r.Header.Get("Authorization"))
		w.Header().Set("X-Accept", r.Header.Get("Accept-Encoding"))
		text := []byte("it is " + known)
		for _, encoding := range r.URL.Query()["as"] {
			w.Header().Add("Content-Encoding", encoding)
			if encoding == "gzip" {
				var b bytes.Buffer
				z := gzip.NewWriter(&b)
				z.Write(text)
				z.Close()
				text = b.Bytes()
			}
		}
		w.Write(text)
	})
	g := newGate(t, nil, "net: GET "+s.URL+"/**", `secret: KEY {from: env SALLYPORT_TEST_KEY, to: `+s.URL+`/v1/**, as: "Authorization: Bearer {secret}"}`)
	if _, err := fetch(t, g, get(s.URL+"/v1/x")); err != nil {
		t.Fatal(err)
	}
	asking := func(path, headers string) string { return fmt.Sprintf(`{"url":%q,"headers":%s}`, s.URL+path, headers) }
	for _, headers := range []string{`{}`, `{"Accept-Encoding":"gzip"}`, `{"accept-encoding":"br, zstd"}`, `{"Accept-Encoding":["gzip","br"]}`} {
		for _, path := range []string{"/other", "/other?as=gzip", "/other?as=identity"} {
			a, err := fetch(t, g, asking(path, headers))
			if err != nil || a.text != "it is Bearer [secret:KEY]" || a.Headers["x-accept"] != "gzip" {
				t.Errorf("%s with %s: got %q, encoding %v, %v, want it is Bearer [secret:KEY], encoding gzip", path, headers, a.text, a.Headers["x-accept"], err)
			}
		}
		for _, path := range []string{"/other?as=br", "/other?as=gzip&as=gzip", "/other?as=gzip&as=br", "/other?as=gzip,gzip", "/other?as=x-gzip", "/v1/x?as=gzip"} {
			if a, err := fetch(t, g, asking(path, headers)); err == nil || !strings.Contains(err.Error(), "answers in an encoding that was not asked for") {
				t.Errorf("%s with %s: got %q, %v, want a refusal of the encoding", path, headers, a.text, err)
			}
		}
	}
}

// TestSecret_isInQueryOfRedirect checks that a redirect to the same query carries the value again, and that
// unauthorized servers and the guest never see it.
func TestSecret_isInQueryOfRedirect(t *testing.T) {
	t.Setenv("SALLYPORT_TEST_KEY", secretValue)
	var seen []string
	var to string
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.URL.Path+" "+r.URL.Query().Get("key"))
		if strings.HasSuffix(r.URL.Path, "/from") {
			w.Header().Set("Location", strings.ReplaceAll(to, "KEY", url.QueryEscape(r.URL.Query().Get("key"))))
			w.WriteHeader(http.StatusFound)
		}
	})
	h := hostfuncs.NewHost(nil)
	t.Cleanup(h.Close)
	policy := h.Plugin(hostfuncs.Plugin{Name: "demo", Grants: mustSet(t, "net: GET "+s.URL+"/**", "config: {api_key: {secret: KEY}}",
		`secret: KEY {from: env SALLYPORT_TEST_KEY, to: `+s.URL+`/v1/**}`)})
	placeholder := ""
	for _, e := range policy.Env() {
		if _, v, ok := strings.Cut(e, "sallyport-"); ok {
			placeholder = "sallyport-" + v
		}
	}
	for _, tt := range []struct{ to, path, got string }{
		{"/v1/next?key=KEY", "/v1/next", secretValue}, {"?key=KEY&x=1", "/v1/from", ""}, {"/v1/next?x=1&key=KEY#KEY", "/v1/next", secretValue},
		{"/v2/next?key=KEY", "/v2/next", placeholder}, {s.URL + "/v1/deep/next?key=KEY", "/v1/deep/next", secretValue},
	} {
		g := policy.NewGate(hostfuncs.Call{ID: "c1"})
		seen, to = nil, tt.to
		a, err := fetch(t, g, get(s.URL+"/v1/from?key="+placeholder))
		g.Close()
		if tt.got == "" {
			if err == nil || len(seen) != 11 || seen[10] != "/v1/from "+secretValue {
				t.Errorf("%s: got requests %q, %v, want 11 and an error", tt.to, seen, err)
			}
			noEcho(t, "the error", err.Error())
			continue
		}
		if err != nil || len(seen) != 2 || seen[1] != tt.path+" "+tt.got {
			t.Errorf("%s: got requests %q, %v, want the second to be %s %s", tt.to, seen, err, tt.path, tt.got)
		}
		if !strings.Contains(a.URL, placeholder) {
			t.Errorf("got URL %s, want %s in it", a.URL, placeholder)
		}
		noEcho(t, "the guest", a.URL+fmt.Sprint(a.Headers))
	}
}
