package index

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/registry/source"
)

// wasm is the shortest module.
var wasm = []byte("\x00asm\x01\x00\x00\x00")

// fetcher returns a fetcher with short pauses.
func fetcher(named ...string) *source.Fetcher {
	return source.NewFetcher(source.Options{Wait: time.Millisecond, Named: named})
}

// address parses an address.
func address(t *testing.T, text string) Address {
	t.Helper()
	a, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// file writes an index and returns its address.
func file(t *testing.T, text string) Address {
	t.Helper()
	name := filepath.Join(t.TempDir(), "index.json")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return address(t, name)
}

// sum is a digest of the tests.
func sum(digit string) string { return "sha256:" + strings.Repeat(digit, 64) }

// ociRegistry starts a registry and returns its host.
func ociRegistry(t *testing.T) string {
	t.Helper()
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	web := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(web.Close)
	return strings.TrimPrefix(web.URL, "http://")
}

// push pushes a module and returns the digest of its image.
func push(t *testing.T, to string) string {
	t.Helper()
	r, err := source.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := fetcher().Push(t.Context(), r, source.Publication{Wasm: wasm})
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

func TestSearch_findsWordsOfNamesAndDescriptions(t *testing.T) {
	a := file(t, `{"plugins":[
		{"name":"weather","version":"1.2","description":"Forecasts.","source":"oci://ghcr.io/acme/weather:1.2","digest":"`+sum("1")+`","wants":["net: GET https://a.example/**"]},
		{"name":"rain","description":"Asks the Weather service.","source":"https://a.example/rain.wasm","digest":"`+sum("2")+`","later":true},
		{"name":"clock","source":"clock.wasm","digest":"`+sum("3")+`"}]}`)
	for word, want := range map[string]string{"WEATHER": "weather rain", "clo": "clock", "": "weather rain clock", "none": ""} {
		found, err := a.Search(t.Context(), fetcher(), Query{Word: word})
		var names []string
		for _, e := range found.Entries {
			names = append(names, e.Name)
		}
		if got := strings.Join(names, " "); err != nil || got != want || len(found.Problems) != 0 {
			t.Errorf("%q: got %s, %v, %v, want %s", word, got, found.Problems, err, want)
		}
	}
	found, err := a.Search(t.Context(), fetcher(), Query{Name: "clock"})
	if err != nil || len(found.Entries) != 1 || found.Entries[0].From != filepath.Join(filepath.Dir(a.String()), "clock.wasm") {
		t.Errorf("got %+v, %v, want a source beside the index", found, err)
	}
}

// A bad entry is left out with its reason, and the others stay.
func TestSearch_leavesOutBadEntries(t *testing.T) {
	good := `{"name":"good","source":"https://a.example/x.wasm","digest":"` + sum("1") + `"}`
	web := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, web) }))
	t.Cleanup(server.Close)
	entry := func(name, from, digest string) string {
		return fmt.Sprintf(`{"name":%q,"source":%q,"digest":%q}`, name, from, digest)
	}
	for name, c := range map[string]struct{ entry, want string }{
		"no digest":       {`{"name":"x","source":"https://a.example/x.wasm"}`, "is no digest"},
		"a short digest":  {entry("x", "https://a.example/x.wasm", "sha256:12"), "is no digest"},
		"no source":       {entry("x", "", sum("1")), "is neither https:// nor oci://"},
		"a file":          {entry("x", "/etc/passwd", sum("1")), "is neither https:// nor oci://"},
		"a file address":  {entry("x", "file:///etc/passwd", sum("1")), "is neither https:// nor oci://"},
		"in the open":     {entry("x", "http://127.0.0.1/x.wasm", sum("1")), "is neither https:// nor oci://"},
		"a password":      {entry("x", "https://u:p@a.example/x.wasm", sum("1")), "has a password in it"},
		"other digest":    {entry("x", "oci://ghcr.io/a/x@"+sum("2"), sum("1")), "names another digest"},
		"homoglyph host":  {entry("x", "https://exаmple.com/x.wasm", sum("1")), "U+0430"},
		"homoglyph name":  {entry("wеather", "https://a.example/x.wasm", sum("1")), "use letters, digits"},
		"own name":        {entry("sallyport", "https://a.example/x.wasm", sum("1")), "is the host's own"},
		"path in a name":  {entry("../x", "https://a.example/x.wasm", sum("1")), "use letters, digits"},
		"a long text":     {`{"name":"x","description":"` + strings.Repeat("x", maxText+1) + `","source":"https://a.example/x.wasm","digest":"` + sum("1") + `"}`, "its texts are over"},
		"another type":    {`{"name":7}`, "entry 1 is not read"},
		"not even object": {`"x"`, "entry 1 is not read"},
	} {
		web = `{"plugins":[` + c.entry + `,` + good + `]}`
		found, err := address(t, server.URL).Search(t.Context(), fetcher(), Query{})
		if err != nil || len(found.Entries) != 1 || found.Entries[0].Name != "good" || len(found.Problems) != 1 || !strings.Contains(found.Problems[0], c.want) {
			t.Errorf("%s: got %+v, %v, want the good entry and %q", name, found, err, c.want)
		}
	}
}

// An index that is no index is refused as a whole, with its reason.
func TestSearch_refusesBadIndexes(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "is not JSON",
		"<html>":                      "is not JSON",
		`{"plugins":[`:                "is not JSON",
		`{}`:                          "has no list plugins",
		`[]`:                          "has no list plugins",
		`{"plugins":{}}`:              "has no list plugins",
		`{"plugins":[],"plugins":[]}`: "has a key twice",
		`{"plugins":[],"Plugins":[]}`: "has a key twice",
		`{"plugins":[{"name":"a","digest":"x","Digest":"y"}]}`: "has a key twice",
		`{"plugins":[{"name":"a","digest":"x","digest":"y"}]}`: "has a key twice",
	} {
		if found, err := file(t, text).Search(t.Context(), fetcher(), Query{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: got %+v, %v, want %q", text, found, err, want)
		}
	}
	long := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, 17<<20)) }))
	t.Cleanup(long.Close)
	if found, err := address(t, long.URL).Search(t.Context(), fetcher(), Query{}); err == nil || !strings.Contains(err.Error(), "it is over 16 MiB") {
		t.Errorf("a long index: got %+v, %v, want it refused", found, err)
	}
	if found, err := address(t, filepath.Join(t.TempDir(), "none.json")).Search(t.Context(), fetcher(), Query{}); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("no file: got %+v, %v, want it named", found, err)
	}
	for _, text := range []string{"", "mcp+index.json", "oci://ghcr.io/acme/x", "ftp://a.example/x", "http://a.example/x", "mcp+http://a.example"} {
		if a, err := Parse(text); err == nil {
			t.Errorf("%q: got %v, want no address", text, a)
		}
	}
}

// The hosts of an index are not named by the operator: they have to be public, or that of the index itself.
func TestSearch_refusesPrivateHostsOfEntries(t *testing.T) {
	host := ociRegistry(t)
	digest := push(t, "oci://"+host+"/acme/w:1")
	a := file(t, `{"plugins":[{"name":"w","source":"oci://`+host+`/acme/w:1","digest":"`+digest+`"}]}`)
	e, err := Find(t.Context(), fetcher(), []Address{a}, "w")
	if err != nil {
		t.Fatal(err)
	}
	var failed *source.Error
	if got, err := fetcher().Fetch(t.Context(), e.Ref()); !errors.As(err, &failed) || !strings.Contains(err.Error(), "a loopback address, which is refused") || failed.Hint == "" {
		t.Errorf("got %+v, %v, want it refused with a hint", got, err)
	}
	got, err := fetcher(host).Fetch(t.Context(), e.Ref())
	if err != nil || e.Check(got) != nil || got.Origin.From != "oci://"+host+"/acme/w:1" {
		t.Errorf("named: got %+v, %v, want the plugin", got, err)
	}
}

// A digest that the index lies about is refused, for an image and for a file.
func TestEntry_refusesOtherBytes(t *testing.T) {
	host := ociRegistry(t)
	push(t, "oci://"+host+"/acme/w:1")
	name := filepath.Join(t.TempDir(), "w.wasm")
	if err := os.WriteFile(name, wasm, 0o600); err != nil {
		t.Fatal(err)
	}
	a := file(t, `{"plugins":[{"name":"image","source":"oci://`+host+`/acme/w:1","digest":"`+sum("1")+`"},
		{"name":"lie","source":"`+name+`","digest":"`+sum("2")+`"},{"name":"truth","source":"`+name+`","digest":"`+fileid.Digest(wasm)+`"}]}`)
	for plugin, want := range map[string]string{"image": "has no such plugin", "lie": "and the index " + a.String() + " names " + sum("2") + ": it is refused", "truth": ""} {
		e, err := Find(t.Context(), fetcher(), []Address{a}, plugin)
		if err != nil {
			t.Fatal(err)
		}
		artifact, err := fetcher(host).Fetch(t.Context(), e.Ref())
		if err == nil {
			err = e.Check(artifact)
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", plugin, err, want)
		}
	}
}

// A name that two entries claim is nobody's; equal entries of two indexes are one.
func TestFind_refusesANameOfTwoPlugins(t *testing.T) {
	one := file(t, `{"plugins":[{"name":"w","source":"oci://ghcr.io/acme/w:1","digest":"`+sum("1")+`"}]}`)
	same := file(t, `{"plugins":[{"name":"w","source":"oci://ghcr.io/acme/w:1","digest":"`+sum("1")+`"}]}`)
	other := file(t, `{"plugins":[{"name":"w","source":"oci://ghcr.io/evil/w:1","digest":"`+sum("1")+`"}]}`)
	twice := file(t, `{"plugins":[{"name":"w","source":"oci://ghcr.io/acme/w:1","digest":"`+sum("1")+`"},{"name":"w","source":"oci://ghcr.io/acme/w:1","digest":"`+sum("2")+`"}]}`)
	if e, err := Find(t.Context(), fetcher(), []Address{one, same}, "w"); err != nil || e.From != "oci://ghcr.io/acme/w:1" {
		t.Errorf("equal: got %+v, %v, want one entry", e, err)
	}
	var ambiguous *AmbiguousError
	for _, all := range [][]Address{{one, other}, {twice}} {
		if e, err := Find(t.Context(), fetcher(), all, "w"); !errors.As(err, &ambiguous) || !strings.Contains(err.Error(), "2 plugins have the name w") {
			t.Errorf("got %+v, %v, want both named", e, err)
		}
	}
	if e, err := Find(t.Context(), fetcher(), []Address{one}, "W"); !errors.Is(err, ErrNotFound) {
		t.Errorf("other case: got %+v, %v, want %v", e, err, ErrNotFound)
	}
	if e, err := Find(t.Context(), fetcher(), []Address{file(t, `{`), one}, "w"); err == nil || !strings.Contains(err.Error(), "is not JSON") {
		t.Errorf("a broken index: got %+v, %v, want its error", e, err)
	}
}

func TestEntry_namesUnlistedWants(t *testing.T) {
	e := Entry{Wants: []string{"net: GET https://a.example/**"}}
	got := e.Unlisted([]string{"net: GET https://a.example/**", "fs: read ~/**"})
	if raw, err := json.Marshal(got); err != nil || string(raw) != `["fs: read ~/**"]` {
		t.Errorf("got %s, %v, want the unlisted one", raw, err)
	}
}
