package settings

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/registry/source"
)

const publicKey = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3"

func loadText(t *testing.T, text string) (*Settings, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "sallyport.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load(Options{File: file})
}

func TestLoad_readsThePoliciesOfSources(t *testing.T) {
	s, err := loadText(t, `sources:
  oci://ghcr.io/acme/**: {minisign: `+publicKey+`}
  oci://ghcr.io/acme/old:1: unsigned
  https://a.example/**: {minisign: [`+publicKey+`, `+publicKey+`]}
  "**": refuse
`)
	if err != nil {
		t.Fatal(err)
	}
	for from, want := range map[string]string{
		"oci://ghcr.io/acme/w:1": "1 key", "oci://ghcr.io/acme/old:1": "unsigned", "oci://ghcr.io/acme-evil/w:1": "refuse",
		"https://a.example/w.wasm": "2 keys", "https://b.example/w.wasm": "refuse", "/home/w.wasm": "refuse",
	} {
		p := source.PolicyFor(s.Sources, from)
		got := map[int]string{0: "unsigned", 1: "1 key", 2: "2 keys"}[len(p.Keys)]
		if p.Refuse {
			got = "refuse"
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", from, got, want)
		}
	}
}

func TestLoad_readsRequiredIdentities(t *testing.T) {
	const one, two = "{issuer: 'https://a.example', identity: 'https://a.example/acme/**'}", "{issuer: 'https://b.example', identity: ann@acme.example}"
	s, err := loadText(t, "sources:\n  oci://ghcr.io/one/**: {require: "+one+"}\n  oci://ghcr.io/two/**: {require: ["+one+", "+two+"]}\n")
	if err != nil {
		t.Fatal(err)
	}
	first, second := source.Identity{Issuer: "https://a.example", Name: "https://a.example/acme/**"}, source.Identity{Issuer: "https://b.example", Name: "ann@acme.example"}
	for from, want := range map[string][]source.Identity{"oci://ghcr.io/one/x": {first}, "oci://ghcr.io/two/x": {first, second}} {
		if got := source.PolicyFor(s.Sources, from).Require; !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", from, got, want)
		}
	}
	for text, want := range map[string]string{
		"{}": "issuer: is missing", "null": "issuer: is missing", "[]": "a key is missing", "[[]]": "want keys and values", "{issuer: a, name: b}": `unknown key "name"`,
		"{issuer: [a], identity: b}": "issuer: want one value", "{issuer: 'https://a.example', identity: 'https://a.example**'}": "** follows a slash",
		one + ", minisign: " + publicKey: "are two policies",
	} {
		if _, err := loadText(t, "sources: {'**': {require: "+text+"}}"); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "sallyport.yaml:1") {
			t.Errorf("%s: got %v, want %q at line 1", text, err, want)
		}
	}
}

func TestLoad_refusesBadPoliciesOfSources(t *testing.T) {
	for text, want := range map[string]string{
		"sources: [a]":                           "sources",
		"sources: {'**': sometimes}":             `want {minisign: KEY}, {require: {issuer: …, identity: …}}, unsigned or refuse, not "sometimes"`,
		"sources: {'**': {}}":                    "a key is missing",
		"sources: {'**': {minisign: []}}":        "a key is missing",
		"sources: {'**': {minisign: abc}}":       "is no public key of minisign",
		"sources: {'**': {cosign: x}}":           `unknown key "cosign"`,
		"sources: {'oci://a/*/b': refuse}":       "a star stands only at the end",
		"sources: {'oci://ghcr.io/a**': refuse}": "** follows a slash or a colon",
		"sources: {'ftp://a/b': refuse}":         "is no scheme of a source",
		"sources: {'': refuse}":                  "a pattern is empty",
		"sources: {'**': refuse, '**': refuse}":  "**",
	} {
		if _, err := loadText(t, text); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "sallyport.yaml:1") {
			t.Errorf("%s: got %v, want line 1 with %q", text, err, want)
		}
	}
}

// A grant is added beside the policies, which stay.
func TestAdd_keepsThePoliciesOfSources(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sallyport.yaml")
	if err := os.WriteFile(file, []byte("sources:\n  '**': refuse\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := AddAll(file, "a", []string{"fs: read ~/x", "fs: read ~/x", "net: GET https://a.example/**"})
	if err == nil {
		err = a.Write()
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := Load(Options{File: file})
	if err != nil || len(s.Sources) != 1 || len(s.Plugins) != 1 || len(s.Plugins[0].Grants.Lines()) != 2 {
		t.Errorf("got %+v, %v, want the policy and two grants", s, err)
	}
}
