package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"

	"github.com/sallyport-mcp/sallyport/internal/minisign/minisigntest"
)

// push pushes to a registry, with short pauses.
func push(t *testing.T, to string, p Publication) (string, error) {
	t.Helper()
	r, err := Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	return NewFetcher(Options{Wait: time.Millisecond}).Push(t.Context(), r, p)
}

// An image has the layout of wkg, and Fetch reads it by its tag and by its digest.
func TestPush_writesTheLayoutOfWkg(t *testing.T) {
	s, key := newRegistry(t), minisigntest.New("12345678")
	p := Publication{Wasm: wasm, Signature: key.Sign(wasm), Title: "w", Version: "1.0"}
	to := "oci://" + s.host + "/acme/w:1.0"
	sum, err := push(t, to, p)
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{to, "oci://" + s.host + "/acme/w@" + sum} {
		a, err := fetch(t, from)
		if err != nil || !bytes.Equal(a.Content, wasm) || a.Origin.Digest != sum || !bytes.Equal(a.Signature, p.Signature) {
			t.Errorf("%s: got %+v, %v, want the module with its signature", from, a, err)
		}
	}
	_, raw, err := oras.FetchBytes(t.Context(), s.repository("acme/w"), sum, oras.FetchBytesOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var m ocispec.Manifest
	if err := json.Unmarshal(raw, &m); err != nil || m.Config.MediaType != "application/vnd.wasm.config.v0+json" || len(m.Layers) != 1 ||
		m.Layers[0].MediaType != "application/wasm" || m.Annotations[ocispec.AnnotationVersion] != "1.0" {
		t.Errorf("got %s, %v, want the layout of wkg", raw, err)
	}
	_, raw, err = oras.FetchBytes(t.Context(), s.repository("acme/w").Blobs(), m.Config.Digest.String(), oras.FetchBytesOptions{})
	want := `{"created":"1970-01-01T00:00:00Z","architecture":"wasm","os":"wasip1","layerDigests":["` + m.Layers[0].Digest.String() + `"]}`
	if err != nil || string(raw) != want {
		t.Errorf("got configuration %s, %v, want %s", raw, err, want)
	}
}

// The same publication is the same image, and a tag is moved only if that is asked for.
func TestPush_movesATagOnlyIfAsked(t *testing.T) {
	s := newRegistry(t)
	to := "oci://" + s.host + "/acme/w:1.0"
	first, err := push(t, to, Publication{Wasm: wasm})
	if err != nil {
		t.Fatal(err)
	}
	var writes atomic.Int64
	s.fault = func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			writes.Add(1)
		}
		next.ServeHTTP(w, r)
	}
	if again, err := push(t, to, Publication{Wasm: wasm}); err != nil || again != first || writes.Load() != 0 {
		t.Errorf("again: got %s, %v after %d writes, want %s after none", again, err, writes.Load(), first)
	}
	newer := Publication{Wasm: append(bytes.Clone(wasm), 0, 1, 0)}
	var taken *TakenError
	if _, err := push(t, to, newer); !errors.As(err, &taken) || taken.Digest != first || !strings.Contains(err.Error(), "the tag 1.0 names another image, "+first) || writes.Load() != 0 {
		t.Errorf("other bytes: got %v after %d writes, want the tag refused", err, writes.Load())
	}
	newer.Replace = true
	second, err := push(t, to, newer)
	if err != nil || second == first {
		t.Fatalf("replaced: got %s, %v, want another image", second, err)
	}
	if a, err := fetch(t, to); err != nil || a.Origin.Digest != second {
		t.Errorf("got %+v, %v, want the tag at %s", a, err, second)
	}
}

// A push that fails says why, no tag names half an image or one without its signature, and the push can be repeated.
func TestPush_leavesNoTagAfterAFault(t *testing.T) {
	write := func(code int) func(http.ResponseWriter, *http.Request, http.Handler) {
		return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if r.Method == http.MethodGet || r.Method == http.MethodHead {
				next.ServeHTTP(w, r)
				return
			}
			w.WriteHeader(code)
		}
	}
	for name, c := range map[string]struct {
		fault func(http.ResponseWriter, *http.Request, http.Handler)
		want  string
	}{
		"no login":  {write(http.StatusUnauthorized), "the registry asks for a login"},
		"denied":    {write(http.StatusForbidden), "denies access (403)"},
		"not there": {write(http.StatusNotFound), "has no such repository, or does not let you write to it"},
		"full":      {write(http.StatusInsufficientStorage), "fails (507): try again later"},
		"often":     {write(http.StatusTooManyRequests), "was asked too often (429)"},
		"manifest": {func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/manifests/") {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			next.ServeHTTP(w, r)
		}, "fails (502): try again later"},
		"elsewhere": {func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if r.Method == http.MethodPost {
				w.Header().Set("Location", "http://storage.example/upload")
				w.WriteHeader(http.StatusAccepted)
				return
			}
			next.ServeHTTP(w, r)
		}, "is on a different host than the registry"},
	} {
		t.Setenv("DOCKER_CONFIG", t.TempDir())
		s := newRegistry(t)
		s.fault = c.fault
		p := Publication{Wasm: wasm, Signature: minisigntest.New("12345678").Sign(wasm)}
		if sum, err := push(t, "oci://"+s.host+"/acme/w:1", p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %s, %v, want %q", name, sum, err, c.want)
		}
		s.fault = nil
		if a, err := fetch(t, "oci://"+s.host+"/acme/w:1"); err == nil {
			t.Errorf("%s: got %+v, want no tag", name, a)
		}
		if _, err := push(t, "oci://"+s.host+"/acme/w:1", p); err != nil {
			t.Errorf("%s, again: got %v, want it pushed", name, err)
		}
		if a, err := fetch(t, "oci://"+s.host+"/acme/w:1"); err != nil || !bytes.Equal(a.Signature, p.Signature) {
			t.Errorf("%s, again: got %+v, %v, want the image with its signature", name, a, err)
		}
	}
}

func TestPush_refusesPlacesThatTakeNoImage(t *testing.T) {
	for to, want := range map[string]string{
		"https://a.example/w.wasm": "is no image of a registry",
		"/tmp/w.wasm":              "is no image of a registry",
		"oci://ghcr.io/acme/w:1@sha256:" + strings.Repeat("0", 64): "names its digest",
	} {
		if sum, err := push(t, to, Publication{Wasm: wasm}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %s, %v, want %q", to, sum, err, want)
		}
	}
}
