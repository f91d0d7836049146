package hostfuncs_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// token is the command line of a program with a secret in its environment.
func token(of string) runtime.CommandLine {
	return runtime.CommandLine{Args: []string{""}, Env: []string{"LANG=C"}, Secrets: map[string]string{"TOKEN": of}}
}

// launchedToken returns the variable TOKEN of a program.
func launchedToken(g *hostfuncs.Gate, of string) string {
	g.Launch(token(of), nil, nil, nil)
	i := slices.IndexFunc(g.ProgramEnv(), func(v string) bool { return strings.HasPrefix(v, "TOKEN=") })
	if i < 0 {
		return ""
	}
	return strings.TrimPrefix(g.ProgramEnv()[i], "TOKEN=")
}

func TestLaunch_givesPlaceholdersForGrantedSecretsOnly(t *testing.T) {
	t.Setenv("SALLYPORT_TEST_KEY", secretValue)
	var seen, others []string
	at, other := echo(t, &seen), echo(t, &others)
	g := newGate(t, nil, "net: GET "+at+"/**", "net: GET "+other+"/**",
		"secret: KEY {from: env SALLYPORT_TEST_KEY, to: "+at+"/v1/**, reveal: true}")
	placeholder := launchedToken(g, "KEY")
	if !strings.HasPrefix(placeholder, "sallyport-") || len(placeholder) != len("sallyport-")+40 {
		t.Fatalf("got %q, want a placeholder", placeholder)
	}
	for _, address := range []string{at + "/v1/x", at + "/v2", other + "/v1/x"} {
		if _, err := fetch(t, g, fmt.Sprintf(`{"url":%q,"headers":{"Authorization":"Bearer %s"}}`, address, placeholder)); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"GET /v1/x|Bearer " + secretValue + "|", "GET /v2|Bearer " + placeholder + "|"}
	if !slices.Equal(seen, want) || !slices.Equal(others, []string{"GET /v1/x|Bearer " + placeholder + "|"}) {
		t.Errorf("the servers got %q and %q, want the value at the granted address only", seen, others)
	}
	if got := launchedToken(g, "OTHER"); got != "" {
		t.Errorf("a secret without a line: got %q, want no variable", got)
	}
}

// A redirect of a server that answers with the value is followed with the placeholder in its place.
func TestLaunch_followsARedirectWithItsSecret(t *testing.T) {
	t.Setenv("SALLYPORT_TEST_KEY", secretValue)
	var seen []string
	at := echo(t, &seen)
	g := newGate(t, nil, "net: GET "+at+"/**", "secret: KEY {from: env SALLYPORT_TEST_KEY, to: "+at+"/**}")
	placeholder := launchedToken(g, "KEY")
	a, err := fetch(t, g, get(at+"/x?to=/y?key="+placeholder))
	if err != nil {
		t.Fatal(err)
	}
	if want := "GET /y?key=" + url.QueryEscape(secretValue) + "||"; len(seen) != 2 || seen[1] != want {
		t.Errorf("the server got %q, want %s at last", seen, want)
	}
	if !strings.Contains(a.URL, placeholder) {
		t.Errorf("got URL %s, want the placeholder in it", a.URL)
	}
}

func TestLaunch_describesItselfWithoutSecrets(t *testing.T) {
	h := hostfuncs.NewHost(nil)
	t.Cleanup(h.Close)
	g := h.Plugin(hostfuncs.Plugin{Name: "module"}).NewGate(hostfuncs.Call{ID: "describe", Method: "plugin/describe"})
	t.Cleanup(g.Close)
	if got := launchedToken(g, "KEY"); got != "sallyport-no-secret" {
		t.Errorf("got %q, want the same text on each host", got)
	}
}
