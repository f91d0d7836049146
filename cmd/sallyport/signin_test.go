//go:build clients && unix

package main

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// visit is one run of a client for one person.
type visit struct {
	person   string
	document string // the client's metadata, "" for a client that registers
	refresh  bool   // the client asks for refresh tokens
	steps    [][]any
}

// saying is the text or error that a client reports for a step.
type saying struct{ Step, Text, Error string }

// oauthClient is a client of others, in a revision of the protocol, with access tokens of a format.
type oauthClient struct {
	name, version, format string
	script                string
	uses                  string // the npm package
}

var oauthClients = []oauthClient{
	{"typescript", "2026-07-28", "jwt", "signin.mjs", "client"},
	{"typescript", "2025-11-25", "opaque", "signin.mjs", "client"},
	{"typescript-1", "2025-11-25", "jwt", "signin.mjs", "sdk"},
	{"python", "2026-07-28", "jwt", "signin.py", ""},
	{"python", "2025-11-25", "opaque", "signin.py", ""},
}

// command returns the client's program.
func (c oauthClient) command(t *testing.T) *exec.Cmd {
	t.Helper()
	script, err := filepath.Abs(filepath.Join("testdata", "clients", c.script))
	if err != nil {
		t.Fatal(err)
	}
	if c.uses != "" {
		return exec.CommandContext(t.Context(), npm(t, ".bin", "node"), script)
	}
	python, err := filepath.Abs(filepath.Join("..", "..", "build", "mcp", "bin", "python"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(python); err != nil {
		t.Fatalf("client: got %v, want it installed (make signin)", err)
	}
	return exec.CommandContext(t.Context(), python, script)
}

// run has a client take the steps of a visit, and returns what it says of each, and what passed meanwhile.
func (c oauthClient) run(t *testing.T, w *world, v visit) (said []saying, passed []string) {
	t.Helper()
	browser := httptest.NewServer(newWebBrowser(t, v.person))
	defer browser.Close()
	spec, err := json.Marshal(map[string]any{
		"packages": npm(t), "uses": c.uses, "version": c.version, "url": w.url, "browser": browser.URL, "redirect": clientRedirect,
		"steps": v.steps, "refresh": v.refresh, "document": v.document,
	})
	if err != nil {
		t.Fatal(err)
	}
	before := len(w.log.all())
	cmd := c.command(t)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "SALLYPORT_CLIENT="+string(spec))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("client: got %v, want success\n%s", err, &stderr)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the client, for %s:\n%s%s", v.person, &stdout, &stderr)
		}
	})
	for line := range strings.Lines(stdout.String()) {
		var o saying
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatalf("client: got %q, want JSON", line)
		}
		said = append(said, o)
	}
	return said, w.log.all()[before:]
}

// wayToToken is the way from the refusal of a request to a token.
var wayToToken = []string{
	`^sallyport POST /mcp \S+ -> 401 Bearer realm="sallyport", scope="tools write", resource_metadata="URL/.well-known/oauth-protected-resource/mcp"$`,
	`^sallyport GET /.well-known/oauth-protected-resource/mcp -> 200$`,
	`^issuer GET /.well-known/oauth-authorization-server -> 200$`,
	`^issuer GET /auth client_id=\S+ scope=tools\+write(\+offline_access)? resource=URL/mcp code_challenge_method=S256 -> 303$`,
	`^issuer POST /token client_id=\S+ grant_type=authorization_code resource=URL/mcp -> 200$`,
}

// TestSignin_clients signs people in with the SDKs' own clients at a real authorization server.
func TestSignin_clients(t *testing.T) {
	for _, c := range oauthClients {
		t.Run(c.name+"/"+c.version+"/"+c.format, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c.format)
			// First those who get nothing, so that no late request of another visit is taken for theirs.
			t.Run("is refused by the person", func(t *testing.T) { c.isRefused(t, w) })
			t.Run("has too few scopes", func(t *testing.T) { c.hasTooFew(t, w) })
			t.Run("registers and calls", func(t *testing.T) { c.registers(t, w) })
			t.Run("shows its metadata", func(t *testing.T) { c.showsMetadata(t, w) })
			t.Run("steps up", func(t *testing.T) { c.stepsUp(t, w) })
			t.Run("steps up for one tool", func(t *testing.T) { c.stepsUpForTool(t, w) })
			t.Run("gets no scope for one tool", func(t *testing.T) { c.getsNoScopeForTool(t, w) })
			t.Run("refreshes", func(t *testing.T) { c.refreshes(t, w) })
			w.neverPassedOn(t)
		})
	}
}

// berlin is a call of the plugin time, and inBerlin its answer.
var berlin = []any{"call", "time-convert", map[string]any{"time": "2026-07-01T12:30:00Z", "to": []string{"Europe/Berlin"}}}

const inBerlin = "2026-07-01T14:30:00+02:00"

// allSteps is a whole visit.
var allSteps = [][]any{{"connect"}, {"list"}, berlin}

// called fails unless the client took all steps.
func called(t *testing.T, said []saying) {
	t.Helper()
	if last := said[len(said)-1]; len(said) < len(allSteps) || last.Error != "" || !strings.Contains(last.Text, inBerlin) {
		t.Fatalf("got %+v, want a call with the answer %s", said, inBerlin)
	}
}

// gaveUp fails unless the client ended with an error before a call.
func gaveUp(t *testing.T, said []saying, want string) {
	t.Helper()
	if last := said[len(said)-1]; len(said) == len(allSteps) || !regexp.MustCompile(want).MatchString(last.Error) {
		t.Errorf("got %+v, want an error like %s before any call", said, want)
	}
}

func (c oauthClient) registers(t *testing.T, w *world) {
	said, passed := c.run(t, w, visit{person: "ada", steps: allSteps})
	called(t, said)
	w.inOrder(t, passed, wayToToken...)
	w.inOrder(t, passed, `^issuer POST /reg -> 201$`, `^issuer GET /auth `)
	w.inOrder(t, passed, `^issuer POST /token `, `^sallyport POST /mcp tools/list \[Bearer\] -> 200$`, `^sallyport POST /mcp tools/call time-convert \[Bearer\] -> 200$`)
	if c.format == "opaque" {
		w.inOrder(t, passed, `^issuer POST /token `, `^issuer POST /token/introspection \[Basic\] -> 200$`, `^sallyport POST /mcp \S+ \[Bearer\] -> 200$`)
	}
}

func (c oauthClient) showsMetadata(t *testing.T, w *world) {
	said, passed := c.run(t, w, visit{person: "ada", document: clientDocument, steps: allSteps})
	called(t, said)
	w.inOrder(t, passed, wayToToken...)
	w.inOrder(t, passed, `^issuer GET /auth client_id=https://client.example/oauth/client.json `)
	if lines := matching(passed, `^issuer POST /reg `); len(lines) > 0 {
		t.Errorf("got %v, want no registration", lines)
	}
}

// insufficient is a refusal that names all scopes that a client needs.
const insufficient = ` \[Bearer\] -> 403 Bearer realm="sallyport", error="insufficient_scope", error_description="[^"]+", scope="tools write", resource_metadata="URL/.well-known/oauth-protected-resource/mcp"$`

func (c oauthClient) stepsUp(t *testing.T, w *world) {
	said, passed := c.run(t, w, visit{person: "ann", steps: allSteps})
	called(t, said)
	w.inOrder(t, passed, append(wayToToken[:len(wayToToken):len(wayToToken)],
		`^sallyport POST /mcp \S+`+insufficient,
		`^issuer GET /auth client_id=\S+ scope=tools\+write(\+offline_access)? resource=URL/mcp code_challenge_method=S256 -> 303$`,
		`^issuer POST /token .*grant_type=authorization_code `,
		`^sallyport POST /mcp tools/call time-convert \[Bearer\] -> 200$`)...)
}

// toolSteps is a visit with a call of a tool that needs a scope of its own.
var toolSteps = [][]any{{"connect"}, {"list"}, berlin, {"call", "time-now", map[string]any{}}}

// toolVisit is that visit of a person. A client that registers does so for the scopes of its first sign-in, to which the
// authorization server holds it: here it shows its metadata, which name none. Version 1 of TypeScript's client answers a
// lack of scopes by its refresh token, if it has one, and then gives up: here it has none.
func toolVisit(person string) visit {
	return visit{person: person, document: plainDocument, steps: toolSteps}
}

// lacksClock is the refusal of that call, which names all scopes that the next token needs.
const lacksClock = `^sallyport POST /mcp tools/call time-now \[Bearer\] -> 403 Bearer realm="sallyport", error="insufficient_scope", error_description="[^"]+", scope="clock tools write", resource_metadata="URL/.well-known/oauth-protected-resource/mcp"$`

// stepsUpForTool signs in for the endpoint, and again for one tool, which is listed before.
func (c oauthClient) stepsUpForTool(t *testing.T, w *world) {
	said, passed := c.run(t, w, toolVisit("lin"))
	if last := said[len(said)-1]; len(said) < len(toolSteps) || last.Error != "" || !strings.Contains(said[1].Text, "time-now") {
		t.Fatalf("got %+v, want time-now listed and called", said)
	}
	w.inOrder(t, passed, append(wayToToken[:len(wayToToken):len(wayToToken)],
		`^sallyport POST /mcp tools/list \[Bearer\] -> 200$`, `^sallyport POST /mcp tools/call time-convert \[Bearer\] -> 200$`,
		lacksClock,
		`^issuer GET /auth client_id=\S+ scope=((clock|tools|write|offline_access)\+?){3,4} resource=URL/mcp code_challenge_method=S256 -> 303$`,
		`^issuer POST /token .*grant_type=authorization_code `,
		`^sallyport POST /mcp tools/call time-now \[Bearer\] -> 200$`)...)
}

// getsNoScopeForTool calls the other tools after the person has not given the scope.
func (c oauthClient) getsNoScopeForTool(t *testing.T, w *world) {
	said, passed := c.run(t, w, toolVisit("max"))
	if last := said[len(said)-1]; last.Error == "" || last.Step != "call" || len(said) < len(toolSteps) || said[2].Error != "" {
		t.Errorf("got %+v, want an error of the last call alone", said)
	}
	w.inOrder(t, passed, `^sallyport POST /mcp tools/call time-convert \[Bearer\] -> 200$`, lacksClock)
	if lines := matching(passed, `tools/call time-now .* -> 200`); len(lines) > 0 {
		t.Errorf("got %v, want no call without the scope", lines)
	}
}

func (c oauthClient) refreshes(t *testing.T, w *world) {
	v := visit{person: "kay", refresh: true, steps: allSteps}
	if c.script == "signin.py" { // which refreshes when its own clock says so
		v.person, v.steps = "ada", [][]any{{"connect"}, {"list"}, {"expire"}, berlin}
	}
	said, passed := c.run(t, w, v)
	called(t, said)
	w.inOrder(t, passed, append(wayToToken[:len(wayToToken):len(wayToToken)],
		`^issuer POST /token client_id=\S+ grant_type=refresh_token .*resource=URL/mcp -> 200$`,
		`^sallyport POST /mcp tools/call time-convert \[Bearer\] -> 200$`)...)
	if v.person == "kay" {
		w.inOrder(t, passed, `^sallyport POST /mcp \S+ \[Bearer\] -> 401 Bearer realm="sallyport", error="invalid_token", error_description="the access token (has expired|is not active[^"]*)"`, ` grant_type=refresh_token `)
	}
}

func (c oauthClient) hasTooFew(t *testing.T, w *world) {
	said, passed := c.run(t, w, visit{person: "bob", steps: allSteps})
	gaveUp(t, said, `Unauthorized|Server returned an error response`)
	w.inOrder(t, passed, `^sallyport POST /mcp \S+`+insufficient)
	if lines := matching(passed, `^sallyport POST .* -> 200`); len(lines) > 0 {
		t.Errorf("got %v, want no answer", lines)
	}
}

func (c oauthClient) isRefused(t *testing.T, w *world) {
	said, passed := c.run(t, w, visit{person: "eve", steps: allSteps})
	gaveUp(t, said, `access_denied: the person refused`)
	if lines := matching(passed, `\[Bearer\]`); len(lines) > 0 {
		t.Errorf("got %v, want no token", lines)
	}
}

// neverPassedOn fails if the authorization server was sent a caller's token as a credential.
func (w *world) neverPassedOn(t *testing.T) {
	t.Helper()
	if lines := matching(w.log.all(), `^issuer .*\[Bearer\]`); len(lines) > 0 {
		t.Errorf("got %v, want no token passed on", lines)
	}
}

// matching returns the lines that match a pattern.
func matching(lines []string, pattern string) (found []string) {
	expression := regexp.MustCompile(pattern)
	for _, line := range lines {
		if expression.MatchString(line) {
			found = append(found, line)
		}
	}
	return found
}

// inOrder fails unless some lines match the patterns in their order. URL and ISSUER in a pattern are the addresses.
func (w *world) inOrder(t *testing.T, lines []string, patterns ...string) {
	t.Helper()
	at := 0
	for _, p := range patterns {
		expression := regexp.MustCompile(strings.ReplaceAll(p, "URL", regexp.QuoteMeta(w.resource.URL)))
		for at < len(lines) && !expression.MatchString(lines[at]) {
			at++
		}
		if at == len(lines) {
			t.Fatalf("got no line %s, or not in this order, in\n%s", expression, strings.Join(lines, "\n"))
		}
		at++
	}
}
