package source

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	digest "github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry/remote"
)

// wasm is the smallest module.
var wasm = []byte("\x00asm\x01\x00\x00\x00")

// registryServer is a registry on loopback, whose answers a test can replace.
type registryServer struct {
	t     *testing.T
	host  string
	store http.Handler
	fault func(w http.ResponseWriter, r *http.Request, next http.Handler) // nil is none
}

// newRegistry starts a registry.
func newRegistry(t *testing.T) *registryServer {
	t.Helper()
	s := &registryServer{t: t, store: registry.New(registry.Logger(log.New(io.Discard, "", 0)))}
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	s.host = strings.TrimPrefix(web.URL, "http://")
	return s
}

// ServeHTTP answers a request, as the fault says.
func (s *registryServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.fault != nil {
		s.fault(w, r, s.store)
		return
	}
	s.store.ServeHTTP(w, r)
}

// layer is a layer to push.
type layer struct {
	mediaType string
	content   []byte
}

// push pushes an image with layers and returns its digest.
func (s *registryServer) push(name, tag string, layers ...layer) string {
	s.t.Helper()
	config := s.blob(name, layer{"application/vnd.wasm.config.v0+json", []byte("{}")})
	m := ocispec.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, Config: config}
	for _, l := range layers {
		m.Layers = append(m.Layers, s.blob(name, l))
	}
	return s.manifest(name, tag, m.MediaType, m)
}

// manifest pushes a manifest or an index and returns its digest.
func (s *registryServer) manifest(name, tag, mediaType string, m any) string {
	s.t.Helper()
	raw, err := json.Marshal(m)
	if err != nil {
		s.t.Fatal(err)
	}
	d := describe(mediaType, raw)
	if err := s.repository(name).PushReference(s.t.Context(), d, bytes.NewReader(raw), tag); err != nil {
		s.t.Fatal(err)
	}
	return d.Digest.String()
}

// blob pushes a blob.
func (s *registryServer) blob(name string, l layer) ocispec.Descriptor {
	s.t.Helper()
	d := describe(l.mediaType, l.content)
	if err := s.repository(name).Blobs().Push(s.t.Context(), d, bytes.NewReader(l.content)); err != nil {
		s.t.Fatal(err)
	}
	return d
}

func (s *registryServer) repository(name string) *remote.Repository {
	s.t.Helper()
	repo, err := remote.NewRepository(s.host + "/" + name)
	if err != nil {
		s.t.Fatal(err)
	}
	repo.PlainHTTP = true
	return repo
}

func describe(mediaType string, raw []byte) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(raw), Size: int64(len(raw))}
}

// archive returns a tar archive, compressed, of the members; a link has its target behind "→".
func archive(t *testing.T, members ...[2]string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	for _, m := range members {
		h := &tar.Header{Name: m[0], Size: int64(len(m[1])), Mode: 0o644, Typeflag: tar.TypeReg}
		if to, link := strings.CutPrefix(m[1], "→"); link {
			h.Typeflag, h.Linkname, h.Size, m[1] = tar.TypeSymlink, to, 0, ""
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, m[1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// fetch fetches a reference, with short pauses.
func fetch(t *testing.T, text string, named ...string) (*Artifact, error) {
	t.Helper()
	r, err := Parse(text)
	if err != nil {
		return nil, err
	}
	return NewFetcher(Options{Wait: time.Millisecond, Named: named}).Fetch(t.Context(), r)
}
