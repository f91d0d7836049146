package hostfuncs_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// keepFor writes the value of TOKEN of a principal into a state folder, as sallyport secret set does without a keyring.
func keepFor(t *testing.T, state, principal, value string) {
	t.Helper()
	dir := filepath.Join(state, "secrets")
	file := filepath.Join(dir, fmt.Sprintf("TOKEN@%x.secret", sha256.Sum256([]byte(principal))))
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(file, []byte(principal+"\n"+value), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func valueFor(principal string) string { return "value-of-" + principal + "-0123456789" }

// Each caller's requests have the value of that caller, which no plugin output has, and callers without one are told the
// command that sets it; the plugin is not told who they are.
func TestSecret_eachCallerHasItsOwn(t *testing.T) {
	t.Setenv("TOKEN", "value-of-the-variable-0123456789")
	var seen []string
	at, state := echo(t, &seen), t.TempDir()
	h := hostfuncs.NewHost(&hostfuncs.Options{State: state, Flags: "--state " + state})
	t.Cleanup(h.Close)
	keepFor(t, state, "token:ann", valueFor("token:ann"))
	keepFor(t, state, "token:bob", valueFor("token:bob"))
	lines := []string{"net: GET,POST " + at + "/**", `secret: TOKEN per principal {to: [` + at + `/**, "POST ` + at + `/**"], as: "Authorization: Bearer {secret}"}`}
	for _, principal := range []string{"token:ann", "token:bob"} {
		g, _ := gateFor(t, h, identity.Identity{Principal: principal}, lines...)
		answer, err := fetch(t, g, get(at+"/x"))
		if err != nil || strings.Contains(answer.text, "value-of") || !strings.Contains(answer.text, "[secret:TOKEN]") {
			t.Errorf("%s: got %q, %v, want an echo that is redacted", principal, answer.text, err)
		}
		if got := seen[len(seen)-1]; got != "GET /x|Bearer "+valueFor(principal)+"|" {
			t.Errorf("%s: the server got %q, want the caller's value", principal, got)
		}
		if got := string(g.Redact([]byte(`{"a":"` + valueFor(principal) + `"}`))); strings.Contains(got, "value-of") {
			t.Errorf("%s: got %s, want plugin output without the value", principal, got)
		}
	}
	sent := len(seen)
	for principal, hint := range map[string]string{
		"token:Ann": "sallyport secret set TOKEN --principal token:Ann", "token:ａnn": "sallyport secret set TOKEN --principal 'token:ａnn'",
		"oauth:https://id|ann": "sallyport secret set TOKEN --principal 'oauth:https://id|ann'",
		"stdio:1000":           "sallyport secret set TOKEN --principal stdio:1000 --state " + state, "anonymous": "", "": "",
	} {
		g, client := gateFor(t, h, identity.Identity{Principal: principal}, lines...)
		_, err := fetch(t, g, get(at+"/x"))
		var ask *runtime.AskError
		if !errors.As(err, &ask) || ask.Kind != runtime.KindUnavailable || ask.Hint != "" || principal != "" && strings.Contains(ask.Message, principal) {
			t.Errorf("%q: the plugin got %+v, want no value, and not its name", principal, ask)
		}
		if len(client.hints) != 1 || client.hints[0] != hint {
			t.Errorf("%q: the caller got %q, want %q", principal, client.hints, hint)
		}
	}
	if len(seen) != sent {
		t.Errorf("got the requests %q without a value, want none", seen[sent:])
	}
}

// A revealed value is the caller's own.
func TestSecret_revealsTheCallersOwn(t *testing.T) {
	state := t.TempDir()
	h := hostfuncs.NewHost(&hostfuncs.Options{State: state})
	t.Cleanup(h.Close)
	keepFor(t, state, "token:ann", valueFor("token:ann"))
	const line = "secret: TOKEN per principal {reveal: true}"
	for principal, want := range map[string]string{"token:ann": valueFor("token:ann"), "token:bob": "no value of its own"} {
		g, _ := gateFor(t, h, identity.Identity{Principal: principal}, line)
		for _, params := range []string{`{"name":"TOKEN"}`, `{"name":"TOKEN","principal":"token:ann"}`} {
			answer, err := g.Ask(t.Context(), "secrets/get", []byte(params), nil)
			if got := fmt.Sprint(string(answer), err); !strings.Contains(got, want) {
				t.Errorf("%s, %s: got %s, want %s", principal, params, got, want)
			}
		}
		for _, name := range []string{"TOKEN per principal", "TOKEN@token:ann", fmt.Sprintf("TOKEN@%x", sha256.Sum256([]byte("token:ann"))), "../TOKEN"} {
			if answer, err := g.Ask(t.Context(), "secrets/get", []byte(fmt.Sprintf(`{"name":%q}`, name)), nil); err == nil {
				t.Errorf("%s, %s: got %s, want a denial", principal, name, answer)
			}
		}
	}
}
