package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// publicFile returns a file of the library's module, which the module cache has: a bundle of the public instance, and
// its trusted root.
func publicFile(t *testing.T, name string) []byte {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/sigstore/sigstore-go").Output()
	if err != nil {
		t.Fatal(err)
	}
	return readFile(t, filepath.Join(strings.TrimSpace(string(dir)), filepath.FromSlash(name)))
}

// The bundle is the provenance of sigstore.js 2.0.0 on npm, as a workflow of GitHub made it: Fulcio, Rekor, and the log
// of certificates are the public ones.
func TestVerdict_acceptsPublicBundle(t *testing.T) {
	const digest = "46d4e2f74c4877316640000a6fdf8a8b59f1e0847667973e9859f774dd31b8f1e0937813b777fb66a2ac67d50540fe34640966eee9fc2ccca387082b4c85cd3c"
	v := verification{
		Root:    publicFile(t, "pkg/testing/data/trusted-roots/public-good.json"),
		Bundle:  publicFile(t, "pkg/testing/data/bundles/sigstore.js@2.0.0-provenance.sigstore.json"),
		Digests: map[string]string{"sha512": digest},
	}
	got := v.verdict()
	want := provenance{Builder: "https://github.com/actions/runner/github-hosted", Source: "https://github.com/sigstore/sigstore-js", Commit: "f0b49a04e5a62250e0f60fb128004a73110fe311", Ref: "refs/heads/main"}
	if got.Fault != "" || got.Issuer != "https://token.actions.githubusercontent.com" || got.Statement != "https://slsa.dev/provenance/v1" ||
		got.Identity != "https://github.com/sigstore/sigstore-js/.github/workflows/release.yml@refs/heads/main" || got.Provenance == nil || *got.Provenance != want {
		t.Errorf("got %+v, %+v, want the workflow of sigstore-js, and %+v", got, got.Provenance, want)
	}
	v.Digests["sha512"] = hex.EncodeToString(make([]byte, 64))
	if got := v.verdict(); got.Fault != faultArtifact || got.Detail != "sha512:"+digest {
		t.Errorf("got %+v, want other bytes", got)
	}
	v.Digests = nil
	if got := v.verdict(); got.Fault == "" {
		t.Errorf("got %+v without a digest, want a fault", got)
	}
}

// A request that is not one of sallyport's is refused.
func TestServe_refusesOtherRequests(t *testing.T) {
	for _, text := range []string{"", "x", "{}", "[]", `{"verify":null}`} {
		var out bytes.Buffer
		if err := serve(strings.NewReader(text), &out); err == nil || out.Len() > 0 {
			t.Errorf("%q: got %v and %q, want an error alone", text, err, out.String())
		}
	}
}

// Bundles in JSON of any shape have a fault, and no panic.
func TestVerdict_refusesBundlesOfAnyShape(t *testing.T) {
	trusted := publicFile(t, "pkg/testing/data/trusted-roots/public-good.json")
	bundle := publicFile(t, "pkg/testing/data/bundles/sigstore.js@2.0.0-provenance.sigstore.json")
	var whole map[string]any
	if err := json.Unmarshal(bundle, &whole); err != nil {
		t.Fatal(err)
	}
	tried := 0
	mutations(whole, func() {
		raw, err := json.Marshal(whole)
		if err != nil {
			t.Fatal(err)
		}
		v := verification{Root: trusted, Bundle: raw, Digests: map[string]string{"sha512": strings.Repeat("00", 64)}}
		if got := v.verdict(); got.Fault == "" {
			t.Errorf("%s: got %+v, want a fault", raw, got)
		}
		tried++
	})
	if tried < 100 {
		t.Errorf("got %d mutations, want over 100", tried)
	}
}

// mutations replaces each member of a value in turn by values of other shapes, and calls try for each.
func mutations(v any, try func()) {
	replaced := func(set func(any), was any) {
		for _, other := range []any{nil, "", "AAAA", 0, -1, true, []any{}, map[string]any{}} {
			set(other)
			try()
		}
		set(was)
	}
	switch v := v.(type) {
	case map[string]any:
		for key, was := range v {
			replaced(func(x any) { v[key] = x }, was)
			mutations(was, try)
		}
	case []any:
		for i, was := range v {
			replaced(func(x any) { v[i] = x }, was)
			mutations(was, try)
		}
	}
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
