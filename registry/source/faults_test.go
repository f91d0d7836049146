package source

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/sallyport-mcp/sallyport/hostfuncs/egress"
)

// answeredManifest answers requests of manifests with a document of a media type, and its own digest.
func answeredManifest(mediaType, text string) func(http.ResponseWriter, *http.Request, http.Handler) {
	return onManifest(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", mediaType)
		w.Header().Set("Docker-Content-Digest", describe(mediaType, []byte(text)).Digest.String())
		w.Header().Set("Content-Length", strconv.Itoa(len(text)))
		if r.Method == http.MethodGet {
			io.WriteString(w, text)
		}
	})
}

// Each kind of manifest that is no image of a plugin has a sentence of its own.
func TestFetch_explainsBadManifests(t *testing.T) {
	const image, index = ocispec.MediaTypeImageManifest, ocispec.MediaTypeImageIndex
	zero := "sha256:" + strings.Repeat("0", 64)
	layered := func(layer string) string { return `{"schemaVersion":2,"layers":[` + layer + `]}` }
	for name, c := range map[string]struct{ mediaType, text, want string }{
		"a key twice":          {image, `{"schemaVersion":2,"layers":[],"layers":[]}`, `its manifest has a key twice, "/layers"`},
		"a key in two cases":   {image, `{"schemaVersion":2,"layers":[],"Layers":[]}`, "its manifest has a key twice"},
		"deep":                 {image, strings.Repeat("[", 200_000), "its manifest is not JSON"},
		"another type inside":  {image, `{"layers":7}`, "its manifest has a member of another type"},
		"of Docker's first":    {"application/vnd.docker.distribution.manifest.v1+prettyjws", `{"fsLayers":[]}`, "and not an image of OCI or Docker"},
		"of a chart":           {"application/vnd.cncf.helm.config.v1+json", `{}`, "and not an image of OCI or Docker"},
		"of a page":            {"text/html", `<html>`, "and not an image of OCI or Docker"},
		"without a type":       {"", `{}`, "the registry does not name the type of its manifest"},
		"an index of a page":   {index, `<html>`, "its index is not JSON"},
		"an index, key twice":  {index, `{"manifests":[],"manifests":[]}`, "its index has a key twice"},
		"an empty index":       {index, `{"manifests":[]}`, "its index has 0 images"},
		"an index, bad digest": {index, `{"manifests":[{"digest":"md5:1","size":1,"platform":{"architecture":"wasm"}}]}`, "an image of its index has no valid digest"},
		"no digest of a layer": {image, layered(`{"mediaType":"application/wasm","digest":"x","size":8}`), "its layer has no valid digest"},
		"a negative size":      {image, layered(`{"mediaType":"application/wasm","digest":"` + zero + `","size":-1}`), "it is longer than 128 MiB"},
		"a missing layer":      {image, layered(`{"mediaType":"application/wasm","digest":"` + zero + `","size":8}`), "has no such plugin"},
		"no layers":            {image, layered(""), "it has no plugin"},
		"a hundred layers":     {image, layered(strings.TrimSuffix(strings.Repeat(`{"mediaType":"application/wasm","digest":"`+zero+`","size":8},`, 100), ",")), "it has 100 layers, and at most 64 are read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("DOCKER_CONFIG", t.TempDir())
			s := newRegistry(t)
			s.fault = answeredManifest(c.mediaType, c.text)
			if a, err := fetch(t, "oci://"+s.host+"/acme/p:1"); err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "oci://"+s.host+"/acme/p:1: ") {
				t.Errorf("got %+v, %v, want %q", a, err, c.want)
			}
		})
	}
}

// An index leads to an image, and not to another index.
func TestFetch_refusesAnIndexInAnIndex(t *testing.T) {
	s := newRegistry(t)
	inner := ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex, Manifests: []ocispec.Descriptor{}}
	sum := s.manifest("acme/p", "inner", inner.MediaType, inner)
	outer := inner
	outer.Manifests = []ocispec.Descriptor{{MediaType: inner.MediaType, Digest: digestOf(sum), Size: sizeOfManifest(t, s, "acme/p", sum)}}
	s.manifest("acme/p", "outer", outer.MediaType, outer)
	if a, err := fetch(t, "oci://"+s.host+"/acme/p:outer"); err == nil || !strings.Contains(err.Error(), "and not an image of OCI or Docker") {
		t.Errorf("got %+v, %v, want it refused", a, err)
	}
}

// A layer comes from its registry, and from no address that its manifest names.
func TestFetch_followsNoAddressOfALayer(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("got a request of the address, want none") }))
	t.Cleanup(other.Close)
	s := newRegistry(t)
	layer := s.blob("acme/p", layer{"application/wasm", wasm})
	layer.URLs = []string{other.URL}
	s.manifest("acme/p", "1", ocispec.MediaTypeImageManifest, ocispec.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest,
		Config: ocispec.DescriptorEmptyJSON, Layers: []ocispec.Descriptor{layer}})
	if a, err := fetch(t, "oci://"+s.host+"/acme/p:1"); err != nil || !bytes.Equal(a.Content, wasm) {
		t.Errorf("got %+v, %v, want the layer of the registry", a, err)
	}
}

// Each fault below HTTP has a sentence of its own.
func TestFetch_explainsFaultsOfConnections(t *testing.T) {
	for name, c := range map[string]struct {
		fault func(http.ResponseWriter, *http.Request, http.Handler)
		want  string
	}{
		"no answer":   {onBlob(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }), "closed the connection without an answer"},
		"no HTTP":     {onBlob(spoken("220 mail.example ESMTP\r\n")), "does not speak HTTP, or its answer is damaged"},
		"a long head": {onBlob(spoken("HTTP/1.1 200 OK\r\nX-A: " + strings.Repeat("a", 300<<10) + "\r\n\r\n")), "does not speak HTTP, or its answer is damaged"},
	} {
		s := newRegistry(t)
		s.push("acme/p", "1", layer{"application/wasm", wasm})
		s.fault = c.fault
		if a, err := fetch(t, "oci://"+s.host+"/acme/p:1"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %+v, %v, want %q", name, a, err, c.want)
		}
	}
}

// spoken answers with raw bytes and closes the connection.
func spoken(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		io.WriteString(conn, text)
		conn.Close()
	}
}

// A registry that sends a byte and then nothing ends with the time of the fetch.
func TestFetch_endsASlowTransfer(t *testing.T) {
	for name, fault := range map[string]func(http.ResponseWriter, *http.Request, http.Handler){
		"layer": onBlob(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "8")
			w.Write(wasm[:1])
			flush(w)
			<-r.Context().Done()
		}),
		"manifest": onManifest(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }),
	} {
		s := newRegistry(t)
		s.push("acme/p", "1", layer{"application/wasm", wasm})
		s.fault = fault
		r, err := Parse("oci://" + s.host + "/acme/p:1")
		if err != nil {
			t.Fatal(err)
		}
		// A slower machine reaches the deadline earlier in the fetch, with the same error.
		a, err := NewFetcher(Options{Wait: time.Millisecond, Time: 500 * time.Millisecond}).Fetch(t.Context(), r)
		if err == nil || !strings.Contains(err.Error(), s.host+" does not answer in time") {
			t.Errorf("%s: got %+v, %v, want its end", name, a, err)
		}
	}
}

// certificate returns a certificate for a name, signed by itself.
func certificate(t *testing.T, name string, from, until time.Time) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{name}, NotBefore: from, NotAfter: until, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	raw, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key, Leaf: leaf}
}

// names resolves every name to one address, except unknown ones.
type names struct{}

func (names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if strings.HasPrefix(host, "unknown") {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return []netip.Addr{netip.MustParseAddr("10.0.0.1")}, nil
}

// Each fault of TLS and of names has a sentence, also where the certificate's root is trusted.
func TestFetch_explainsFaultsOfTLSAndNames(t *testing.T) {
	now := time.Now()
	const day = 24 * time.Hour
	for name, c := range map[string]struct {
		host string
		own  tls.Certificate
		want string
	}{
		"good":       {"registry.example", certificate(t, "registry.example", now.Add(-day), now.Add(day)), "has no such plugin"},
		"expired":    {"registry.example", certificate(t, "registry.example", now.Add(-2*day), now.Add(-day)), "certificate has expired or is not yet valid"},
		"not yet":    {"registry.example", certificate(t, "registry.example", now.Add(day), now.Add(2*day)), "certificate has expired or is not yet valid"},
		"other name": {"registry.example", certificate(t, "other.example", now.Add(-day), now.Add(day)), "is valid for other.example, not registry.example"},
		"no such":    {"unknown.example", certificate(t, "unknown.example", now.Add(-day), now.Add(day)), "the host of unknown.example"},
	} {
		web := httptest.NewUnstartedServer(http.NotFoundHandler())
		web.TLS = &tls.Config{Certificates: []tls.Certificate{c.own}}
		web.Config.ErrorLog = log.New(io.Discard, "", 0)
		web.StartTLS()
		t.Cleanup(web.Close)
		_, port, err := net.SplitHostPort(web.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, web.Listener.Addr().String())
		}
		roots := x509.NewCertPool()
		roots.AddCert(c.own.Leaf)
		f := NewFetcher(Options{Wait: time.Millisecond, Egress: egress.Options{Resolver: names{}, Dial: dial, TLS: &tls.Config{RootCAs: roots}}})
		for _, from := range []string{"oci://" + c.host + ":" + port + "/acme/p:1", "https://" + c.host + ":" + port + "/p.wasm"} {
			r, err := Parse(from)
			if err != nil {
				t.Fatal(err)
			}
			if a, err := f.Fetch(t.Context(), r); err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), from+": ") {
				t.Errorf("%s, %s: got %+v, %v, want %q", name, from, a, err, c.want)
			}
		}
	}
}

// An address of the web whose server speaks no TLS is said so.
func TestFetch_explainsAServerWithoutTLS(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	host := strings.TrimPrefix(web.URL, "http://")
	if a, err := fetch(t, "https://"+host+"/p.wasm"); err == nil || !strings.Contains(err.Error(), host+" does not speak https") {
		t.Errorf("got %+v, %v, want it named", a, err)
	}
}

// A digest that the registry announces for a tag and does not keep is refused, for a manifest and an index.
func TestFetch_refusesAnotherManifestThanAnnounced(t *testing.T) {
	for _, mediaType := range []string{ocispec.MediaTypeImageManifest, ocispec.MediaTypeImageIndex} {
		s := newRegistry(t)
		s.fault = onManifest(func(w http.ResponseWriter, r *http.Request) {
			text, err := json.Marshal(map[string]any{"schemaVersion": 2, "method": r.Method})
			if err != nil {
				panic(err)
			}
			w.Header().Set("Content-Type", mediaType)
			w.Header().Set("Docker-Content-Digest", describe(mediaType, []byte("the announced one")).Digest.String())
			fmt.Fprint(w, string(text))
		})
		if a, err := fetch(t, "oci://"+s.host+"/acme/p:1"); err == nil || !strings.Contains(err.Error(), "its bytes are not those of the digest that names them") {
			t.Errorf("%s: got %+v, %v, want it refused", mediaType, a, err)
		}
	}
}

// A name that ends in localhost may be asked without TLS, and so leads to this machine alone: an answer of DNS that names
// another one is refused before a byte is sent.
func TestFetch_refusesALocalhostNameOfAnotherMachine(t *testing.T) {
	dial := func(_ context.Context, _, address string) (net.Conn, error) {
		t.Errorf("got a connection to %s, want none", address)
		return nil, net.ErrClosed
	}
	f := NewFetcher(Options{Wait: time.Millisecond, Named: []string{"x.localhost"}, Egress: egress.Options{Resolver: names{}, Dial: dial}})
	for _, from := range []string{"http://x.localhost/p.wasm", "oci://x.localhost:5000/acme/p:1"} {
		r, err := Parse(from)
		if err != nil {
			t.Fatal(err)
		}
		a, err := f.Fetch(t.Context(), r)
		if want := "it is refused: x.localhost is a name of this machine, and leads to a private address, 10.0.0.1"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %+v, %v, want %q", from, a, err, want)
		}
	}
}
