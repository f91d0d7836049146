package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// doing returns the arguments of a call of the guest effects.
func doing(dir string, steps ...map[string]any) map[string]any {
	args := map[string]any{"steps": append([]map[string]any{}, steps...)}
	if dir != "" {
		args["dir"] = dir
	}
	return args
}

func fetching(url string) map[string]any {
	return map[string]any{"do": "fetch", "params": map[string]any{"url": url}}
}

// receiptText returns the receipt of a result as text.
func receiptText(r *mcp.CallToolResult) string {
	text, _ := json.Marshal(r.Meta["dev.sallyport/receipt"])
	return string(text)
}

// The bundled plugins under grants bound to arguments: the requested effect is allowed, and no other.
func TestGrants_bundledPluginsBoundToTheirArguments(t *testing.T) {
	t.Parallel()
	web, _ := webSite(t)
	notes, repos := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"a.txt": "note a", "b.txt": "note b"} {
		if err := os.WriteFile(filepath.Join(notes, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"one", "two"} {
		dir := filepath.Join(repos, name)
		for _, args := range [][]string{{"init", "-q", dir}, {"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "--allow-empty", "-m", "commit in " + name}} {
			if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
				t.Fatalf("git %s: got %v, want success: %s", args, err, out)
			}
		}
	}
	s := connect(t, fmt.Sprintf(`plugins:
  fetch:
    grants:
      - net: GET {args.url:url}
        within: ["%[1]s/**"]
        for: [fetch]
  files:
    grants:
      - fs: read %[2]s/{args.path:path}
  git:
    grants:
      - fs: read %[3]s/{args.repo:path}/**
`, web.URL, notes, repos), folder(t, bundled(t, "fetch"), bundled(t, "files"), bundled(t, "git")))
	for _, c := range []struct {
		tool string
		args map[string]any
		want string // in the output; "" is denied
	}{
		{"fetch-fetch", map[string]any{"url": web.URL + "/a"}, "page /a"},
		{"fetch-fetch", map[string]any{"url": "http://localhost:1/a"}, ""},
		{"files-read", map[string]any{"path": filepath.Join(notes, "a.txt")}, "note a"},
		{"files-read", map[string]any{"path": filepath.Join(repos, "one", ".git", "HEAD")}, ""},
		{"files-read", map[string]any{"path": notes + "/../" + filepath.Base(repos)}, ""},
		{"git-log", map[string]any{"repo": filepath.Join(repos, "one")}, "commit in one"},
		{"git-log", map[string]any{"repo": notes}, ""},
	} {
		r := call(t, s, c.tool, c.args)
		if c.want == "" != r.IsError || !strings.Contains(text(r), c.want) {
			t.Errorf("%s %v: got isError %v, %q, want a refusal with %q, or success where that is empty", c.tool, c.args, r.IsError, text(r), c.want)
		}
	}
}

// A guest called with one argument cannot use the grant for a different one, by any code.
func TestGrants_boundToOneArgumentRefuseAnother(t *testing.T) {
	web, hits := webSite(t)
	s := connect(t, "plugins: {effects: {grants: ['net: GET "+web.URL+"/{args.dir}/**']}}", folder(t, guest(t, "effects")))
	if got := text(call(t, s, "effects-run", doing("mine", fetching(web.URL+"/mine/x")))); !strings.Contains(got, "page /mine/x") {
		t.Errorf("its own page: got %s, want page /mine/x", got)
	}
	for _, dir := range []string{"yours", "", "mine/../yours", "*", "mine%2f..%2fyours"} {
		if got := text(call(t, s, "effects-run", doing(dir, fetching(web.URL+"/yours/x"), fetching(web.URL+"/mine/x")))); dir != "yours" && strings.Contains(got, "page") {
			t.Errorf("with %q: got %s, want no page", dir, got)
		}
	}
	if got := text(call(t, s, "effects-run", doing("mine", fetching(web.URL+"/yours/x")))); strings.Contains(got, "page") {
		t.Errorf("a page of another: got %s, want none", got)
	}
	if n := len(*hits); n != 2 { // /mine/x, and /yours/x in the call with that argument
		t.Errorf("got requests %q, want 2", *hits)
	}
}

func TestChallenge06_composition(t *testing.T) {
	web, _ := webSite(t)
	ask := func(url string) map[string]any {
		return doing("", map[string]any{"do": "ask", "text": "tools/call", "params": map[string]any{
			"name": "fetch-fetch", "arguments": map[string]any{"url": url}}})
	}
	s := connect(t, fmt.Sprintf(`plugins:
  effects: {grants: ['tools: {fetch-fetch: {url: "%[1]s/a"}}', 'net: GET %[1]s/**']}
  fetch: {grants: ['net: GET %[1]s/a']}
`, web.URL), folder(t, guest(t, "effects"), bundled(t, "fetch")))
	r := call(t, s, "effects-run", ask(web.URL+"/a"))
	if !strings.Contains(text(r), "page /a") || !strings.Contains(receiptText(r), `"plugin":"fetch"`) {
		t.Errorf("under both grants: got %s, receipt %s, want page /a by fetch", text(r), receiptText(r))
	}
	if got := text(call(t, s, "effects-run", ask(web.URL+"/b"))); !strings.Contains(got, "denied") || strings.Contains(got, "page") {
		t.Errorf("an argument beyond the caller's line: got %s, want a denial", got)
	}
	s = connect(t, fmt.Sprintf("plugins:\n  effects: {grants: ['tools: fetch-fetch {any: true}', 'net: GET %s/**']}\n", web.URL), folder(t, guest(t, "effects"), bundled(t, "fetch")))
	if got := text(call(t, s, "effects-run", ask(web.URL+"/a"))); strings.Contains(got, "page") {
		t.Errorf("with grants of the caller only: got %s, want no page", got)
	}
}

func TestChallenge19_retryHints(t *testing.T) {
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	t.Cleanup(busy.Close)
	s := connect(t, "plugins: {fetch: {grants: ['net: GET "+busy.URL+"/**']}, effects: {limits: {principal_rate: 0.001}}}", folder(t, bundled(t, "fetch"), guest(t, "effects")))
	told := func(r *mcp.CallToolResult) string {
		data, _ := json.Marshal(r.Meta["dev.sallyport/error"])
		return string(data)
	}
	if got := told(call(t, s, "fetch-fetch", map[string]any{"url": busy.URL + "/x"})); !strings.Contains(got, `"kind":"unavailable"`) || !strings.Contains(got, `"retryable":true`) || !strings.Contains(got, `"retryAfterMs":7000`) {
		t.Errorf("upstream: got %s, want unavailable, retryable after 7000 ms", got)
	}
	if got := told(call(t, s, "fetch-fetch", map[string]any{"url": "http://127.0.0.1:1/x"})); !strings.Contains(got, `"kind":"denied"`) || !strings.Contains(got, `"retryable":false`) {
		t.Errorf("denied: got %s, want denied, not retryable", got)
	}
	if r := call(t, s, "effects-run", doing("")); r.IsError {
		t.Fatalf("the first call: got %s, want success", text(r))
	}
	if got := told(call(t, s, "effects-run", doing(""))); !strings.Contains(got, `"kind":"limit"`) || !strings.Contains(got, `"retryAfterMs":`) {
		t.Errorf("a limit: got %s, want limit with a time to retry", got)
	}
}

const e2eSecret = "forge-0123456789-abcdef"

func TestChallenge24_secrets(t *testing.T) {
	var mu sync.Mutex
	var got []string
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		all := r.Header.Get("Authorization") + "|" + r.Header.Get("X-Key") + "|" + string(body)
		mu.Lock()
		got = append(got, all)
		mu.Unlock()
		w.Header().Set("X-Echo", all)
		fmt.Fprintf(w, "%s %s %x", all, base64.StdEncoding.EncodeToString([]byte(all)), all)
	}))
	t.Cleanup(api.Close)
	cmd := program(t, fmt.Sprintf(`log: {level: trace}
plugins:
  effects:
    grants:
      - net: GET,POST %[1]s/**
      - secret: FORGE
        from: env SALLYPORT_E2E_SECRET
        to: [%[1]s/v1/**, "POST %[1]s/v1/**"]
        as: "Authorization: Bearer {secret}"
      - config: {FORGE_KEY: {secret: FORGE}}
`, api.URL), "serve", folder(t, guest(t, "effects")))
	cmd.Env = append(cmd.Env, "SALLYPORT_E2E_SECRET="+e2eSecret)
	log := &lockedBuffer{}
	cmd.Stderr = log
	s := session(t, commandTransport(cmd), nil)
	environ := text(call(t, s, "effects-run", doing("", map[string]any{"do": "environ"})))
	_, holder, _ := strings.Cut(environ, "FORGE_KEY=")
	holder, _, _ = strings.Cut(holder, " ")
	r := call(t, s, "effects-run", doing("", fetching(api.URL+"/v1/x"), map[string]any{"do": "fetch", "params": map[string]any{
		"method": "POST", "url": api.URL + "/v1/y", "headers": map[string]any{"X-Key": holder}, "body": "key=" + holder}}, fetching(api.URL+"/v2/z")))
	mu.Lock()
	defer mu.Unlock()
	want := []string{"Bearer " + e2eSecret + "||", "Bearer " + e2eSecret + "|" + e2eSecret + "|key=" + e2eSecret, "||"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the server got %q, want %q", got, want)
	}
	audit, err := os.ReadFile(filepath.Join(sharedState(t), "state", "sallyport.log"))
	if err != nil {
		t.Fatal(err)
	}
	for who, text := range map[string]string{"the guest's environment": environ, "the result": text(r), "the receipt": receiptText(r), "standard error": log.String(), "the log": string(audit)} {
		for _, form := range []string{e2eSecret, base64.StdEncoding.EncodeToString([]byte("Bearer " + e2eSecret))[12:32], fmt.Sprintf("%x", e2eSecret)} {
			if strings.Contains(text, form) {
				t.Errorf("%s: got %s, want no form of the secret", who, text)
			}
		}
	}
	if !strings.Contains(text(r), "[secret:FORGE]") || !strings.Contains(receiptText(r), `"secret"`) {
		t.Errorf("got answer %s, receipt %s, want [secret:FORGE] and the secret's effect", text(r), receiptText(r))
	}
}

func TestChallenge30_undeclaredSideEffects(t *testing.T) {
	web, hits := webSite(t)
	dir := t.TempDir()
	s := connect(t, "", folder(t, guest(t, "effects")))
	r := call(t, s, "effects-run", doing("", fetching(web.URL+"/x"), map[string]any{"do": "write", "path": filepath.Join(dir, "x"), "text": "x"},
		map[string]any{"do": "read", "path": "/etc/hostname"}, map[string]any{"do": "environ"},
		map[string]any{"do": "ask", "text": "kv/set", "params": map[string]any{"key": "a", "value": "b"}},
		map[string]any{"do": "ask", "text": "tools/call", "params": map[string]any{"name": "effects-run"}}))
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 0 || len(*hits) != 0 {
		t.Errorf("outside: got files %v, requests %q, %v, want none", files, *hits, err)
	}
	if got := text(r); strings.Contains(got, "HOME=") || strings.Count(got, "denied") < 3 {
		t.Errorf("inside: got %s, want 3 denials or more and no HOME", got)
	}
	for _, family := range []string{`"net"`, `"kv"`, `"tools"`} {
		if !strings.Contains(receiptText(r), family) {
			t.Errorf("got receipt %s, want %s in it", receiptText(r), family)
		}
	}
}

func TestChallenge31_proxies(t *testing.T) {
	web, hits := webSite(t)
	var mu sync.Mutex
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.Method+" "+r.Host)
		mu.Unlock()
		w.WriteHeader(http.StatusTeapot)
	}))
	t.Cleanup(proxy.Close)
	cmd := program(t, "plugins: {fetch: {grants: ['net: GET http://192.0.2.1/**', 'net: GET "+web.URL+"/**']}}", "serve", folder(t, bundled(t, "fetch")))
	cmd.Env = append(cmd.Env, "HTTP_PROXY="+proxy.URL, "http_proxy="+proxy.URL, "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1")
	s := session(t, commandTransport(cmd), nil)
	r := call(t, s, "fetch-fetch", map[string]any{"url": "http://192.0.2.1/x"})
	mu.Lock()
	defer mu.Unlock()
	if fmt.Sprint(asked) != "[CONNECT 192.0.2.1:80]" || !strings.Contains(text(r), "the proxy gives no way to 192.0.2.1: it answers 418") || !strings.Contains(receiptText(r), "via proxy") {
		t.Errorf("the proxy: got requests %q, answer %s, receipt %s, want one CONNECT to 192.0.2.1:80 that ends with 418", asked, text(r), receiptText(r))
	}
	if r := call(t, s, "fetch-fetch", map[string]any{"url": web.URL + "/direct"}); r.IsError || len(*hits) != 1 {
		t.Errorf("an exempt server: got %s, requests %q, want one without the proxy", text(r), *hits)
	}
}
