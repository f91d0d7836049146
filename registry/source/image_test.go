package source

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	digest "github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// The two layouts of images, in the forms that their tools push.
func TestFetch_readsBothLayoutsOfImages(t *testing.T) {
	s := newRegistry(t)
	tarred := archive(t, [2]string{"bin/sh", "→/bin/busybox"}, [2]string{"plugin.wasm", string(wasm)})
	for name, l := range map[string]layer{
		"wkg":         {"application/wasm", wasm},
		"older":       {"application/vnd.wasm.content.layer.v1+wasm", wasm},
		"hyper":       {ocispec.MediaTypeImageLayerGzip, tarred},
		"hyperdocker": {"application/vnd.docker.image.rootfs.diff.tar.gzip", tarred},
	} {
		want := s.push("acme/"+name, "1.0", l)
		a, err := fetch(t, "oci://"+s.host+"/acme/"+name+":1.0")
		if err != nil {
			t.Errorf("%s: got %v, want a plugin", name, err)
			continue
		}
		if !bytes.Equal(a.Content, wasm) || a.Stem != name || a.Ext != ".wasm" || a.Origin.Digest != want || a.Origin.From != "oci://"+s.host+"/acme/"+name+":1.0" {
			t.Errorf("%s: got %+v, want the module from %s", name, a, want)
		}
		if _, err := fetch(t, "oci://"+s.host+"/acme/"+name+":1.0@"+want); err != nil {
			t.Errorf("%s by digest: got %v, want a plugin", name, err)
		}
	}
}

func TestFetch_readsTheImageForWasmOfAnIndex(t *testing.T) {
	s := newRegistry(t)
	var all []ocispec.Descriptor
	for _, arch := range []string{"arm64", "unknown", "wasm"} {
		content := wasm
		if arch != "wasm" {
			content = []byte("no module")
		}
		sum := s.push("acme/multi", arch, layer{"application/wasm", content})
		all = append(all, ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: digestOf(sum), Size: sizeOfManifest(t, s, "acme/multi", sum), Platform: &ocispec.Platform{Architecture: arch}})
	}
	index := ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex, Manifests: all}
	want := s.manifest("acme/multi", "all", index.MediaType, index)
	a, err := fetch(t, "oci://"+s.host+"/acme/multi:all")
	if err != nil || !bytes.Equal(a.Content, wasm) || a.Origin.Digest != want {
		t.Errorf("got %+v, %v, want the module, and the digest of the index %s", a, err, want)
	}
	index.Manifests = all[:2]
	s.manifest("acme/multi", "none", index.MediaType, index)
	if _, err := fetch(t, "oci://"+s.host+"/acme/multi:none"); err == nil || !strings.Contains(err.Error(), "its index has 2 images and none for WebAssembly") {
		t.Errorf("got %v, want an index without WebAssembly refused", err)
	}
}

func digestOf(text string) digest.Digest { return digest.Digest(text) }

func sizeOfManifest(t *testing.T, s *registryServer, name, sum string) int64 {
	t.Helper()
	d, err := s.repository(name).Resolve(t.Context(), sum)
	if err != nil {
		t.Fatal(err)
	}
	return d.Size
}

// Each fault of an image has a sentence of its own.
func TestFetch_refusesBadImages(t *testing.T) {
	s := newRegistry(t)
	for name, c := range map[string]struct {
		layers []layer
		want   string
	}{
		"nothing":     {nil, "it has no plugin: want a layer application/wasm"},
		"another":     {[]layer{{"text/plain", wasm}}, "it has no plugin"},
		"two":         {[]layer{{"application/wasm", wasm}, {"application/wasm", append(wasm, 0)}}, "it has 2 WebAssembly layers"},
		"notar":       {[]layer{{ocispec.MediaTypeImageLayer, bytes.Repeat([]byte("x"), 2000)}}, "the archive is damaged"},
		"cutgzip":     {[]layer{{ocispec.MediaTypeImageLayerGzip, archive(t, [2]string{"plugin.wasm", string(wasm)})[:40]}}, "the archive is damaged"},
		"outside":     {[]layer{{ocispec.MediaTypeImageLayerGzip, archive(t, [2]string{"../../.bashrc", "x"}, [2]string{"plugin.wasm", "x"})}}, `the archive's entry "../../.bashrc" leads outside`},
		"windows":     {[]layer{{ocispec.MediaTypeImageLayerGzip, archive(t, [2]string{`..\..\autoexec`, "x"})}}, "leads outside"},
		"drive":       {[]layer{{ocispec.MediaTypeImageLayerGzip, archive(t, [2]string{`C:/x`, "x"})}}, "leads outside"},
		"linkoutside": {[]layer{{ocispec.MediaTypeImageLayerGzip, archive(t, [2]string{"a", "→../../etc"})}}, `the archive's link "a" leads outside, to "../../etc"`},
		"emptytar":    {[]layer{{ocispec.MediaTypeImageLayerGzip, archive(t, [2]string{"readme", "x"})}}, "it has no plugin"},
		"twice":       {[]layer{{ocispec.MediaTypeImageLayerGzip, archive(t, [2]string{"plugin.wasm", "a"}, [2]string{"./plugin.wasm", "b"})}}, `the archive has "plugin.wasm" twice`},
	} {
		s.push("acme/"+name, "1", c.layers...)
		if a, err := fetch(t, "oci://"+s.host+"/acme/"+name+":1"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %+v, %v, want %q", name, a, err, c.want)
		}
	}
}

// A layer is refused by its announced size before a byte of it is asked for.
func TestFetch_refusesALayerOf10GBWithoutAskingForIt(t *testing.T) {
	s := newRegistry(t)
	config := s.blob("acme/big", layer{"application/vnd.wasm.config.v0+json", []byte("{}")})
	s.manifest("acme/big", "1", ocispec.MediaTypeImageManifest, ocispec.Manifest{Versioned: specs.Versioned{SchemaVersion: 2},
		MediaType: ocispec.MediaTypeImageManifest, Config: config,
		Layers: []ocispec.Descriptor{{MediaType: "application/wasm", Digest: config.Digest, Size: 10 << 30}}})
	var blobs atomic.Int64
	s.fault = func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if strings.Contains(r.URL.Path, "/blobs/") {
			blobs.Add(1)
		}
		next.ServeHTTP(w, r)
	}
	_, err := fetch(t, "oci://"+s.host+"/acme/big:1")
	if err == nil || !strings.Contains(err.Error(), "it has 10737418240 bytes, and a plugin at most 128 MiB") || blobs.Load() != 0 {
		t.Errorf("got %v after %d requests of blobs, want a refusal after none", err, blobs.Load())
	}
}

// Each fault of a registry has a sentence of its own.
func TestFetch_explainsFaultsOfRegistries(t *testing.T) {
	other := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(other.Close)
	to := func(url string) func(http.ResponseWriter, *http.Request, http.Handler) {
		return onBlob(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, url, http.StatusTemporaryRedirect) })
	}
	code := func(n int) func(http.ResponseWriter, *http.Request, http.Handler) {
		return func(w http.ResponseWriter, r *http.Request, _ http.Handler) { w.WriteHeader(n) }
	}
	for name, c := range map[string]struct {
		fault func(http.ResponseWriter, *http.Request, http.Handler)
		want  string
	}{
		"unknown tag":             {code(404), "has no such plugin"},
		"login":                   {code(401), "the registry asks for a login"},
		"denied":                  {code(403), "denies access (403)"},
		"too many":                {code(429), "was asked too often (429): try again later"},
		"failing":                 {code(502), "fails (502): try again later"},
		"odd":                     {code(418), "answers 418"},
		"other bytes":             {onBlob(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("\x00asm\x01\x00\x00\x01")) }), "its bytes are not those of the digest"},
		"fewer bytes":             {onBlob(func(w http.ResponseWriter, _ *http.Request) { w.Write(wasm[:4]) }), "more or fewer bytes came"},
		"more bytes":              {onBlob(func(w http.ResponseWriter, _ *http.Request) { w.Write(append(wasm, 0)) }), "more or fewer bytes came"},
		"more bytes, unannounced": {onBlob(func(w http.ResponseWriter, _ *http.Request) { w.Write(wasm); flush(w); w.Write([]byte{0}) }), "its bytes are not those"},
		"a cut connection":        {onBlob(cutAfter(wasm[:4])), "it ended early"},
		"another manifest": {onManifest(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Docker-Content-Digest", "sha256:"+strings.Repeat("0", 64))
			w.Header().Set("Content-Type", ocispec.MediaTypeImageManifest)
			w.Write([]byte(`{"schemaVersion":2}`))
		}), "its bytes are not those"},
		"a manifest of a page": {onManifest(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", ocispec.MediaTypeImageManifest)
			w.Write([]byte("<html>"))
		}), "its manifest is not JSON"},
		"a huge manifest": {onManifest(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", ocispec.MediaTypeImageManifest)
			w.Header().Set("Content-Length", strconv.Itoa(maxManifest+1))
			w.Header().Set("Docker-Content-Digest", "sha256:"+strings.Repeat("0", 64))
			w.Write(make([]byte, maxManifest+1))
		}), "its manifest is over 4 MiB"},
		"to another port":      {to(other.URL + "/x"), "it leads to 127.0.0.1, a loopback address, which is refused"},
		"to loopback by name":  {to("http://localhost:1/x"), "a loopback address, which is refused"},
		"to a private network": {to("https://10.1.2.3/x"), "it leads to 10.1.2.3, a private address, which is refused"},
		"to metadata":          {to("https://169.254.169.254/latest"), "a link-local address, which is refused"},
		"to IPv4 in IPv6":      {to("https://[::ffff:10.0.0.1]/x"), "a translated address, which is refused"},
		"to an open page":      {to("http://example.com/x"), "it leads to example.com without encryption"},
		"in circles":           {to("/v2/acme/p/blobs/again"), "it leads through more than 5 redirects"},
		"a token in the open": {func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="http://example.com/token",service="x"`)
			w.WriteHeader(401)
		}, "it leads to example.com without encryption"},
		"a token inside": {func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="https://192.168.0.1/token",service="x"`)
			w.WriteHeader(401)
		}, `bearer realm host "192.168.0.1" is a loopback, link-local, private`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("DOCKER_CONFIG", t.TempDir())
			s := newRegistry(t)
			s.push("acme/p", "1", layer{"application/wasm", wasm})
			s.fault = c.fault
			a, err := fetch(t, "oci://"+s.host+"/acme/p:1")
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "oci://"+s.host+"/acme/p:1: ") {
				t.Errorf("got %+v, %v, want %q", a, err, c.want)
			}
		})
	}
}

// onBlob replaces the answers to requests of layers.
func onBlob(answer http.HandlerFunc) func(http.ResponseWriter, *http.Request, http.Handler) {
	return onPath("/blobs/", answer)
}

// onManifest replaces the answers to requests of manifests.
func onManifest(answer http.HandlerFunc) func(http.ResponseWriter, *http.Request, http.Handler) {
	return onPath("/manifests/", answer)
}

func onPath(part string, answer http.HandlerFunc) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if strings.Contains(r.URL.Path, part) {
			answer(w, r)
			return
		}
		next.ServeHTTP(w, r)
	}
}

func flush(w http.ResponseWriter) { w.(http.Flusher).Flush() }

// cutAfter announces the whole module, and closes the connection after a part.
func cutAfter(part []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "8")
		w.Write(part)
		flush(w)
		panic(http.ErrAbortHandler)
	}
}

// A host that the operator names may serve a redirect from this machine.
func TestFetch_followsRedirectsToNamedHosts(t *testing.T) {
	storage := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(wasm) }))
	t.Cleanup(storage.Close)
	s := newRegistry(t)
	s.push("acme/p", "1", layer{"application/wasm", wasm})
	s.fault = onBlob(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, storage.URL, http.StatusTemporaryRedirect)
	})
	if _, err := fetch(t, "oci://"+s.host+"/acme/p:1", strings.TrimPrefix(storage.URL, "http://")); err != nil {
		t.Errorf("got %v, want the module from the named host", err)
	}
}

func TestFetch_triesAgainAfter429(t *testing.T) {
	s := newRegistry(t)
	s.push("acme/p", "1", layer{"application/wasm", wasm})
	var asked atomic.Int64
	s.fault = func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if strings.Contains(r.URL.Path, "/blobs/") && asked.Add(1) <= retries {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		next.ServeHTTP(w, r)
	}
	if _, err := fetch(t, "oci://"+s.host+"/acme/p:1"); err != nil || asked.Load() != retries+1 {
		t.Errorf("got %v after %d requests, want the module after %d", err, asked.Load(), retries+1)
	}
}

func TestFetch_explainsADeadMirror(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	host := strings.TrimPrefix(gone.URL, "http://")
	gone.Close()
	if _, err := fetch(t, "oci://"+host+"/acme/p:1"); err == nil || !strings.Contains(err.Error(), host+" cannot be reached: connection refused") {
		t.Errorf("got %v, want a host that cannot be reached", err)
	}
}

func TestFetch_refusesAnUnknownCertificate(t *testing.T) {
	web := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	host := strings.TrimPrefix(web.URL, "https://")
	for _, from := range []string{"oci://" + host + "/acme/p:1", web.URL + "/p.wasm"} {
		if _, err := fetch(t, from); err == nil || !strings.Contains(err.Error(), "the certificate of "+host+" is not valid") {
			t.Errorf("%s: got %v, want its certificate refused", from, err)
		}
	}
}

// A private registry takes the login that a credential helper of Docker keeps.
func TestFetch_takesTheLoginOfACredentialHelper(t *testing.T) {
	s := newRegistry(t)
	s.push("acme/p", "1", layer{"application/wasm", wasm})
	s.fault = func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if user, password, _ := r.BasicAuth(); user != "ada" || password != "s3cret" {
			w.Header().Set("WWW-Authenticate", `Basic realm="acme"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	}
	dir := t.TempDir()
	t.Setenv("DOCKER_CONFIG", dir)
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	put := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	from := "oci://" + s.host + "/acme/p:1"
	if _, err := fetch(t, from); err == nil || !strings.Contains(err.Error(), "the registry asks for a login") {
		t.Errorf("without a login: got %v, want it asked for", err)
	}
	put("config.json", `{"credHelpers":{"`+s.host+`":"acme"}}`)
	if _, err := fetch(t, from); err == nil || !strings.Contains(err.Error(), "the login for "+s.host+" cannot be read") {
		t.Errorf("without the helper: got %v, want an error that names the host", err)
	}
	put("docker-credential-acme", "#!/bin/sh\ncat >/dev/null\necho '{\"Username\":\"ada\",\"Secret\":\"s3cret\"}'\n")
	if _, err := fetch(t, from); err != nil {
		t.Errorf("with the helper: got %v, want the module", err)
	}
	put("docker-credential-acme", "#!/bin/sh\ncat >/dev/null\necho '{\"Username\":\"ada\",\"Secret\":\"wrong\"}'\n")
	if _, err := fetch(t, from); err == nil || !strings.Contains(err.Error(), "or refuses the one of Docker") {
		t.Errorf("with a wrong login: got %v, want it refused", err)
	}
}

func TestNewest_isTheDigestThatATagNamesNow(t *testing.T) {
	s := newRegistry(t)
	first := s.push("acme/p", "1", layer{"application/wasm", wasm})
	r, err := Parse("oci://" + s.host + "/acme/p:1")
	if err != nil {
		t.Fatal(err)
	}
	f := NewFetcher(Options{Wait: time.Millisecond})
	if got, err := f.Newest(t.Context(), r); err != nil || got != first {
		t.Errorf("got %s, %v, want %s", got, err, first)
	}
	second := s.push("acme/p", "1", layer{"application/wasm", append(wasm, 0, 1, 0)})
	if got, err := f.Newest(t.Context(), r); err != nil || got != second {
		t.Errorf("a moved tag: got %s, %v, want %s", got, err, second)
	}
}
