package source

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/sallyport-mcp/sallyport/internal/minisign"
	"github.com/sallyport-mcp/sallyport/internal/minisign/minisigntest"
	"github.com/sallyport-mcp/sallyport/internal/sigstore"
)

// public returns the public key of a key of the tests.
func public(t *testing.T, k minisigntest.Key) minisign.Key {
	t.Helper()
	key, err := minisign.ParseKey(k.Public())
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// A policy holds for all kinds of sources, and each wrong signature has a sentence of its own.
func TestPolicy_checksTheSignatureOfEachKindOfSource(t *testing.T) {
	ours, other := minisigntest.New("12345678"), minisigntest.New("87654321")
	policy := Policy{Keys: []minisign.Key{public(t, minisigntest.New("aaaabbbb")), public(t, ours)}}
	for name, c := range map[string]struct{ signature, want string }{
		"good":        {string(ours.Sign(wasm)), ""},
		"none":        {"", "it is not signed, and a signature by"},
		"other key":   {string(other.Sign(wasm)), "it is signed with the key 3132333435363738, and a signature by 6262626261616161 or 3837363534333231 is required"},
		"other bytes": {string(ours.Sign([]byte("other"))), "the bytes are not those that were signed"},
		"malformed":   {"<html>", "its signature is not one of minisign"},
	} {
		for kind, from := range signedSources(t, c.signature) {
			a, err := fetch(t, from)
			if err != nil {
				t.Fatalf("%s, %s: %v", name, kind, err)
			}
			signer, err := policy.Check(t.Context(), a, sigstore.Verifier{})
			if c.want == "" && (err != nil || signer.By != "minisign 3837363534333231") || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s, %s: got %q, %v, want %q", name, kind, signer.By, err, c.want)
			}
			if signer, err := (Policy{}).Check(t.Context(), a, sigstore.Verifier{}); signer.By != "" || err != nil {
				t.Errorf("%s, %s without a policy: got %q, %v, want it taken", name, kind, signer.By, err)
			}
			if _, err := (Policy{Refuse: true}).Check(t.Context(), a, sigstore.Verifier{}); err == nil {
				t.Errorf("%s, %s refused: got no error", name, kind)
			}
		}
	}
}

// signedSources returns a file, an address and an image with a signature; "" is none.
func signedSources(t *testing.T, signature string) map[string]string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "w.wasm")
	files := map[string]string{file: string(wasm)}
	if signature != "" {
		files[file+".minisig"] = signature
	}
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/w.wasm":
			w.Write(wasm)
		case r.URL.Path == "/w.wasm.minisig" && signature != "":
			w.Write([]byte(signature))
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(web.Close)
	s := newRegistry(t)
	m := ocispec.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest,
		Config: s.blob("acme/w", layer{"application/vnd.wasm.config.v0+json", []byte("{}")}),
		Layers: []ocispec.Descriptor{s.blob("acme/w", layer{"application/wasm", wasm})}}
	if signature != "" {
		m.Annotations = map[string]string{signatureAnnotation: signature}
	}
	if _, err := json.Marshal(m); err != nil {
		t.Fatal(err)
	}
	s.manifest("acme/w", "1", m.MediaType, m)
	return map[string]string{"file": file, "web": web.URL + "/w.wasm", "image": "oci://" + s.host + "/acme/w:1"}
}

// A signature of a module alone does not cover the tool file beside it; one of an archive covers both.
func TestPolicy_coversToolFilesInArchivesOnly(t *testing.T) {
	ours := minisigntest.New("12345678")
	policy := Policy{Keys: []minisign.Key{public(t, ours)}}
	dir := t.TempDir()
	tarred := archive(t, [2]string{"w.wasm", string(wasm)}, [2]string{"w.tool.yaml", "tools: []"})
	for name, text := range map[string]string{
		"w.wasm": string(wasm), "w.tool.yaml": "tools: []", "w.wasm.minisig": string(ours.Sign(wasm)),
		"v.tar.gz": string(tarred), "v.tar.gz.minisig": string(ours.Sign(tarred)),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for file, want := range map[string]string{"w.wasm": "its tool file is not covered", "v.tar.gz": ""} {
		a, err := fetch(t, filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := policy.Check(t.Context(), a, sigstore.Verifier{}); want == "" && (err != nil || a.Tool == nil) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", file, err, want)
		}
	}
}

// A rule holds for each spelling of a source that leads to the same server and path: none of them gets around it.
func TestPolicyFor_holdsForEachSpelling(t *testing.T) {
	rules := []Rule{
		{Pattern: "https://acme.example/**", Policy: Policy{Refuse: true}}, {Pattern: "oci://GHCR.io/acme/**", Policy: Policy{Refuse: true}},
		{Pattern: "oci://docker.io/acme/**", Policy: Policy{Refuse: true}}, {Pattern: "https://acme.example/free/**"},
		{Pattern: "https://acme.example:8443/x.wasm", Policy: Policy{Refuse: true}}, {Pattern: "https://open.example/a/**", Policy: Policy{Refuse: true}},
		{Pattern: "https://github.com/Acme/tool/a/**", Policy: Policy{Refuse: true}}, {Pattern: "oci://ghcr.io/tagged/x:**", Policy: Policy{Refuse: true}},
	}
	digest := "@sha256:" + strings.Repeat("0", 64)
	for _, from := range []string{
		"oci://ghcr.io/tagged/x", "oci://ghcr.io/tagged/x:1", "oci://ghcr.io/tagged/x:1" + digest, "oci://ghcr.io/tagged/x" + digest, "oci://GHCR.io:443/tagged/x" + digest,
		"https://acme.example/x.wasm", "HTTPS://ACME.example/x.wasm", "https://acme.example:443/x.wasm", "https://acme.example./x.wasm",
		"https://acme.example.:443/x.wasm", "https://acme.example/free/../x.wasm", "https://acme.example/free/%2e%2e/x.wasm",
		"https://acme.example/free%2f..%2fx.wasm", `https://acme.example/free/..\x.wasm`, "https://ACME.example:8443/x.wasm",
		"https://acme.example:8443/x.wasm?", "https://acme.example:8443/x.wasm?v=1", "https://acme.example:8443/%78.wasm",
		"https://open.example/a/x.wasm", "https://open.example/%61/x.wasm", "https://open.example//a/x.wasm", "https://open.example/a%2fx.wasm", "https://open.example/%2Fa/x.wasm",
		"oci://ghcr.io/acme/x", "oci://GHCR.io/acme/x:1", "oci://ghcr.io:443/acme/x",
		"https://acme.example:/x.wasm", "https://acme.example:0443/x.wasm", "https://acme.example.:00443/x.wasm", "https://acme.example:08443/x.wasm",
		"oci://ghcr.io:/acme/x", "oci://ghcr.io:0443/acme/x:1", "oci://registry-1.docker.io:0443/acme/x",
		"oci://docker.io/acme/x", "oci://registry-1.docker.io/acme/x", "oci://index.docker.io/acme/x",
		"https://github.com/acme/TOOL/a/x.wasm", "https://GitHub.com:443/%41cme/Tool/a/x.wasm",
	} {
		r, err := Parse(from)
		if err == nil && !PolicyFor(rules, r.Moving()).Refuse {
			t.Errorf("%s: got a source that no rule refuses, want one that is refused", from)
		}
	}
	for _, from := range []string{"https://acme.example/free/x.wasm", "https://acme.example.org/x.wasm", "oci://ghcr.io/acme-evil/x",
		"oci://ghcr.io/tagged/xy" + digest, "oci://ghcr.io/tagged/x/y:1",
		"https://open.example/b/x.wasm?from=/a/", "https://open.example/%2561/x.wasm",
		"https://github.com/acme/tool/A/x.wasm", "https://github.com/acmes/tool/a/x.wasm"} {
		if r, err := Parse(from); err != nil || PolicyFor(rules, r.Moving()).Refuse {
			t.Errorf("%s: got %v, or a refusal; want neither", from, err)
		}
	}
}
