package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
)

// serve does not start when clients could not sign in by what it would publish.
func TestServe_refusesSignInThatCouldNotBeHonoured(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	away := httptest.NewServer(http.NotFoundHandler())
	defer away.Close()
	for name, test := range map[string]struct{ http, want string }{
		"no public address":          {"addr: 127.0.0.1:0", "auth.issuers needs http.public_url, the address of the endpoint for clients: https://HOST/mcp"},
		"clear text":                 {"addr: 0.0.0.0:0, public_url: http://tools.example.com/mcp, behind_proxy: true", `"http://tools.example.com/mcp" is sent in clear text`},
		"https without a key":        {"addr: 127.0.0.1:0, public_url: https://tools.example.com/mcp", "http.public_url is https if and only if http.tls_cert and http.tls_key are there"},
		"another path":               {"addr: 127.0.0.1:0, public_url: http://127.0.0.1/other", `http.public_url has the path "/other", and the endpoint is /mcp`},
		"calls without a token":      {"addr: 127.0.0.1:0, public_url: http://127.0.0.1/mcp, no_token: true", "auth.issuers and http.no_token contradict each other"},
		"a socket":                   {"addr: unix:/tmp/s, public_url: http://127.0.0.1/mcp", "auth.issuers on a unix socket needs http.behind_proxy"},
		"an issuer without metadata": {"addr: 127.0.0.1:0, public_url: http://127.0.0.1/mcp", "auth: issuer " + away.URL + ": no metadata"},
	} {
		file := filepath.Join(dir, "sallyport.yaml")
		text := "http: {" + test.http + "}\nauth: {issuers: [{issuer: " + away.URL + "}]}\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := settings.Load(settings.Options{File: file})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := signIn(t.Context(), s); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s", name, err, test.want)
		}
	}
}
