package index

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	digest "github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/sallyport-mcp/sallyport/registry/source"
)

// serverRegistry is a stand-in for a registry of MCP servers, with documents of the documented shape.
type serverRegistry struct {
	*httptest.Server
	servers []string // ServerResponse documents
	asked   []string // query of each request
	page    int      // servers of a page
}

func newServerRegistry(t *testing.T, servers ...string) *serverRegistry {
	t.Helper()
	s := &serverRegistry{servers: servers, page: 100}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

// serve answers GET /v0.1/servers: the names with the searched text, page by page.
func (s *serverRegistry) serve(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/v0.1/servers" {
		http.NotFound(w, r)
		return
	}
	s.asked = append(s.asked, r.URL.RawQuery)
	var matching []string
	for _, one := range s.servers {
		if strings.Contains(one, r.URL.Query().Get("search")) {
			matching = append(matching, one)
		}
	}
	from := 0
	fmt.Sscanf(r.URL.Query().Get("cursor"), "after:%d", &from)
	to := min(len(matching), from+s.page)
	next := ""
	if to < len(matching) {
		next = fmt.Sprintf("after:%d", to)
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"servers":[%s],"metadata":{"nextCursor":%q,"count":%d}}`, strings.Join(matching[from:to], ","), next, to-from)
}

// serverDocument returns a ServerResponse with packages.
func serverDocument(name, status string, packages ...string) string {
	return fmt.Sprintf(`{"server":{"$schema":"https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json","name":%q,
		"description":"Does things.","version":"1.0.0","repository":{"url":"https://github.com/acme/x","source":"github"},"packages":[%s]},
		"_meta":{"io.modelcontextprotocol.registry/official":{"status":%q,"publishedAt":"2026-01-01T10:30:00Z","isLatest":true}}}`, name, strings.Join(packages, ","), status)
}

// ociPackage returns a package of the current shape.
func ociPackage(identifier string) string {
	return fmt.Sprintf(`{"registryType":"oci","identifier":%q,"transport":{"type":"stdio"}}`, identifier)
}

// pushContainer pushes an image without a module.
func pushContainer(t *testing.T, host, name, tag string) {
	t.Helper()
	repo, err := remote.NewRepository(host + "/" + name)
	if err != nil {
		t.Fatal(err)
	}
	repo.PlainHTTP = true
	put := func(mediaType string, raw []byte) ocispec.Descriptor {
		d := ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(raw), Size: int64(len(raw))}
		if err := repo.Blobs().Push(t.Context(), d, bytes.NewReader(raw)); err != nil {
			t.Fatal(err)
		}
		return d
	}
	raw, err := json.Marshal(ocispec.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest,
		Config: put(ocispec.MediaTypeImageConfig, []byte("{}")), Layers: []ocispec.Descriptor{put(ocispec.MediaTypeImageLayerGzip, []byte("layer"))}})
	if err != nil {
		t.Fatal(err)
	}
	d := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: digest.FromBytes(raw), Size: int64(len(raw))}
	if err := repo.PushReference(t.Context(), d, bytes.NewReader(raw), tag); err != nil {
		t.Fatal(err)
	}
}

// Of a registry of MCP servers those are found that have an image with a module: with its digest, in the current shape
// of documents and the older one, over all pages.
func TestSearch_findsServersWithWasm(t *testing.T) {
	host := ociRegistry(t)
	first, second := push(t, "oci://"+host+"/acme/weather:1.0.0"), push(t, "oci://"+host+"/acme/rain:2.0")
	pushContainer(t, host, "acme/container", "1")
	s := newServerRegistry(t,
		serverDocument("io.github.acme/weather", "active", `{"registryType":"npm","identifier":"@acme/weather","version":"1.0.0","transport":{"type":"stdio"}}`, ociPackage(host+"/acme/weather:1.0.0")),
		serverDocument("io.github.acme/rain", "active", `{"registryType":"oci","registryBaseUrl":"http://`+host+`","identifier":"acme/rain","version":"2.0"}`),
		serverDocument("io.github.acme/container", "active", ociPackage(host+"/acme/container:1")),
		serverDocument("io.github.acme/gone", "active", ociPackage(host+"/acme/gone:1")),
		serverDocument("io.github.acme/deleted", "deleted", ociPackage(host+"/acme/weather:1.0.0")),
		serverDocument("io.github.acme/remote", "active"),
		serverDocument("no name", "active", ociPackage(host+"/acme/weather:1.0.0")),
		`{"server":7}`,
	)
	s.page = 3
	found, err := address(t, "mcp+"+s.URL).Search(t.Context(), fetcher(host), Query{})
	if err != nil || len(found.Entries) != 2 {
		t.Fatalf("got %+v, %v, want two servers", found, err)
	}
	for i, want := range []Entry{
		{Name: "io.github.acme/weather", Version: "1.0.0", Digest: first, From: "oci://" + host + "/acme/weather:1.0.0"},
		{Name: "io.github.acme/rain", Version: "1.0.0", Digest: second, From: "oci://" + host + "/acme/rain:2.0"},
	} {
		if e := found.Entries[i]; e.Name != want.Name || e.Version != want.Version || e.Digest != want.Digest || e.From != want.From || e.Description != "Does things." {
			t.Errorf("got %+v, want %+v", e, want)
		}
	}
	problems := strings.Join(found.Problems, "\n")
	for _, want := range []string{"images without WebAssembly: 1", "io.github.acme/gone: ", "has no such plugin", `"no name" has a bad name`, "a server is not read"} {
		if !strings.Contains(problems, want) {
			t.Errorf("the problems lack %q:\n%s", want, problems)
		}
	}
	if len(s.asked) != 3 || !strings.Contains(s.asked[0], "limit=100") || !strings.Contains(s.asked[0], "version=latest") || !strings.Contains(s.asked[1], "cursor=after%3A3") {
		t.Errorf("got requests %q, want three pages", s.asked)
	}
}

// A name leads to one server, and to its bytes by their digest.
func TestFind_takesTheNameOfAServer(t *testing.T) {
	host := ociRegistry(t)
	want := push(t, "oci://"+host+"/acme/weather:1.0.0")
	s := newServerRegistry(t, serverDocument("io.github.acme/weather", "active", ociPackage(host+"/acme/weather:1.0.0")),
		serverDocument("io.github.acme/weather-two", "active", ociPackage(host+"/acme/weather:1.0.0")))
	a := address(t, "mcp+"+s.URL)
	e, err := Find(t.Context(), fetcher(host), []Address{a}, "io.github.acme/weather")
	if err != nil || e.Digest != want || e.Stem() != "weather" || e.Ref().String() != "oci://"+host+"/acme/weather:1.0.0@"+want {
		t.Fatalf("got %+v, %v, want %s", e, err, want)
	}
	if got, err := fetcher(host).Fetch(t.Context(), e.Ref()); err != nil || e.Check(got) != nil {
		t.Errorf("got %+v, %v, want the plugin", got, err)
	}
	s.asked = nil
	if e, err := Find(t.Context(), fetcher(host), []Address{a}, "weather"); err == nil || len(s.asked) != 0 {
		t.Errorf("a short name: got %+v, %v after %d requests, want none and no request", e, err, len(s.asked))
	}
	// The registry itself does not make its private images reachable.
	if e, err := Find(t.Context(), fetcher(), []Address{a}, "io.github.acme/weather"); err == nil || !strings.Contains(err.Error(), "a loopback address, which is refused") {
		t.Errorf("not named: got %+v, %v, want the host refused", e, err)
	}
}

// A server that is no registry, or one without an end, is told apart.
func TestSearch_boundsRegistriesOfServers(t *testing.T) {
	for body, want := range map[string]string{"<html>": "is it a registry of MCP servers?", `{"plugins":[]}`: "is it a registry of MCP servers?"} {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) }))
		t.Cleanup(web.Close)
		if found, err := address(t, "mcp+"+web.URL).Search(t.Context(), fetcher(), Query{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %+v, %v, want %q", body, found, err, want)
		}
	}
	asked := 0
	endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		fmt.Fprint(w, `{"servers":[],"metadata":{"nextCursor":"again"}}`)
	}))
	t.Cleanup(endless.Close)
	found, err := address(t, "mcp+"+endless.URL).Search(t.Context(), fetcher(), Query{Word: "x"})
	if err != nil || asked != maxPages || len(found.Problems) != 1 || !strings.Contains(found.Problems[0], "write more of the name") {
		t.Errorf("got %+v, %v after %d pages, want the limit of %d", found, err, asked, maxPages)
	}
}

// A search ends at the time limit of one fetch, however many images of slow hosts a registry names.
func TestSearch_endsAtTheTimeOfOneFetch(t *testing.T) {
	var asked atomic.Int64
	ended := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		select {
		case <-r.Context().Done():
		case <-ended:
		}
	}))
	t.Cleanup(slow.Close)
	t.Cleanup(func() { close(ended) })
	host := strings.TrimPrefix(slow.URL, "http://")
	var servers []string
	for i := range 3 * examiners {
		servers = append(servers, serverDocument(fmt.Sprintf("io.github.acme/slow-%d", i), "active", ociPackage(fmt.Sprintf("%s/acme/slow-%d:1", host, i))))
	}
	s := newServerRegistry(t, servers...)
	f := source.NewFetcher(source.Options{Wait: time.Millisecond, Time: 3 * time.Second, Named: []string{host}})
	found, err := address(t, "mcp+"+s.URL).Search(t.Context(), f, Query{})
	if err != nil || len(found.Entries) != 0 || len(found.Problems) != 3*examiners || !strings.Contains(found.Problems[0], "does not answer in time") {
		t.Errorf("got %+v, %v, want each image as a problem", found, err)
	}
	if n := asked.Load(); n > examiners {
		t.Errorf("got %d images asked for, want none after the time of one fetch", n)
	}
}
