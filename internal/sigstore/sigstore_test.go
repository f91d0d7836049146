package sigstore_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/sigstore"
	"github.com/sallyport-mcp/sallyport/internal/sigstore/sigstoretest"
)

const (
	issuer   = "https://token.actions.githubusercontent.com"
	identity = "https://github.com/acme/weather/.github/workflows/release.yml@refs/tags/v1.2.0"
	slsa     = "https://slsa.dev/provenance/v1"
)

var content = []byte("\x00asm\x01\x00\x00\x00")

// program is sallyport-sigstore, as TestMain built it.
var program string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "")
		if err == nil {
			defer os.RemoveAll(dir)
			program, err = sigstoretest.Program(dir)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

// spec returns a good bundle's description.
func spec(edit func(sigstoretest.Bundle)) sigstoretest.Spec {
	return sigstoretest.Spec{Issuer: issuer, Identity: identity, Content: content, Edit: edit}
}

// rooted returns a verifier with the trusted root of an authority.
func rooted(t *testing.T, a *sigstoretest.Authority) sigstore.Verifier {
	t.Helper()
	root := filepath.Join(t.TempDir(), "root.json")
	if err := os.WriteFile(root, a.Root(), 0o600); err != nil {
		t.Fatal(err)
	}
	return sigstore.Verifier{Program: program, Root: root}
}

// A wrong signature of each kind is refused, with a sentence of its own and the command to type.
func TestVerify_refusesEachBadSignatureInWordsOfItsOwn(t *testing.T) {
	a, other := sigstoretest.New(t), sigstoretest.New(t)
	good := rooted(t, a)
	said := map[string]string{}
	for name, c := range badSignatures(t, a, other) {
		v := good
		if c.verifier != nil {
			c.verifier(&v)
		}
		_, err := v.Verify(t.Context(), c.bundle, content)
		var fault *sigstore.Fault
		if !errors.As(err, &fault) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want a fault with %q", name, err, c.want)
			continue
		}
		if !strings.Contains(fault.Next(), "sallyport ") && !strings.Contains(fault.Next(), "cosign ") && !strings.Contains(fault.Next(), "go build ") {
			t.Errorf("%s: got the next step %q, want a command to type", name, fault.Next())
		}
		if before, twice := said[c.want]; twice {
			t.Errorf("%s and %s: got one sentence, %q, want two", name, before, c.want)
		}
		said[c.want] = name
	}
	if len(said) < 20 {
		t.Errorf("got %d sentences, want 20 at least", len(said))
	}
}

// badSignature is a row of the table.
type badSignature struct {
	bundle   []byte
	want     string
	verifier func(*sigstore.Verifier) // changes it; nil leaves it
}

// badSignatures returns the table. The other instance has keys that the trusted root does not name.
func badSignatures(t *testing.T, a, other *sigstoretest.Authority) map[string]badSignature {
	sign := func(s sigstoretest.Spec) []byte { return a.Sign(t, s) }
	edited := func(edit func(sigstoretest.Bundle)) []byte { return sign(spec(edit)) }
	stolen := a.Bundle(t, spec(nil))
	changed := func(change func(*sigstoretest.Spec)) []byte {
		s := spec(nil)
		change(&s)
		return sign(s)
	}
	table := map[string]badSignature{
		"no JSON":   {[]byte("<html>"), "no sigstore bundle", nil},
		"too large": {make([]byte, sigstore.MaxBundle+1), "over 1024 KiB", nil},
		"a version of the future": {edited(func(b sigstoretest.Bundle) { b["mediaType"] = "application/vnd.dev.sigstore.bundle.v0.9+json" }),
			"a version that is not known here", nil},
		"without a certificate": {edited(func(b sigstoretest.Bundle) { delete(b.Material(), "certificate") }), "missing verification material", nil},
		"without a signature":   {edited(func(b sigstoretest.Bundle) { delete(b, "messageSignature") }), "missing bundle content", nil},
		"an entry without a proof": {edited(func(b sigstoretest.Bundle) { delete(b.Entry(), "inclusionProof") }),
			"without its proof", nil},
		"a key in place of a certificate": {edited(func(b sigstoretest.Bundle) {
			delete(b.Material(), "certificate")
			b.Material()["publicKey"] = map[string]any{"hint": "x"}
		}), "a key signed it", nil},
		"not logged":  {edited(func(b sigstoretest.Bundle) { delete(b.Material(), "tlogEntries") }), "in no transparency log", nil},
		"another log": {changed(func(s *sigstoretest.Spec) { s.Log = other }), "a transparency log that the trusted root does not name", nil},
		"a time that the log did not sign": {edited(func(b sigstoretest.Bundle) { b.Entry()["integratedTime"] = "1767229300" }),
			"the log did not sign it", nil},
		"the entry of another signature": {edited(func(b sigstoretest.Bundle) { b.Material()["tlogEntries"] = stolen.Material()["tlogEntries"] }),
			"is for another signature", nil},
		"a wrong proof": {edited(func(b sigstoretest.Bundle) {
			b.Entry()["inclusionProof"].(map[string]any)["rootHash"] = make([]byte, 32)
		}), "the proof of its entry", nil},
		"no time":                        {changed(func(s *sigstoretest.Spec) { s.Unpromised = true }), "vouches for the time", nil},
		"an expired certificate":         {changed(func(s *sigstoretest.Spec) { s.Delay = time.Hour }), "it was valid from", nil},
		"a certificate of the future":    {changed(func(s *sigstoretest.Spec) { s.Delay = -time.Hour }), "2026-01-01T00:00:00Z", nil},
		"an unlisted certificate":        {changed(func(s *sigstoretest.Spec) { s.Unlisted = true }), "in no log of certificates", nil},
		"other bytes":                    {changed(func(s *sigstoretest.Spec) { s.Content = []byte("other") }), "for other bytes: sha256:d9298a10", nil},
		"an attestation for other bytes": {changed(func(s *sigstoretest.Spec) { s.Statement, s.Content = slsa, []byte("second") }), "for other bytes: sha256:16367aac", nil},
		"a signature of another key":     {changed(func(s *sigstoretest.Spec) { s.Forged = true }), "its signature is wrong", nil},
	}
	s := spec(nil)
	s.Log = a
	table["another authority"] = badSignature{other.Sign(t, s), "an authority that the trusted root does not name", nil}
	for name, c := range badVerifiers() {
		c.bundle = sign(spec(nil))
		table[name] = c
	}
	return table
}

// badVerifiers returns the rows whose bundle is good, and whose program or trusted root is not.
func badVerifiers() map[string]badSignature {
	return map[string]badSignature{
		"no trusted root": {want: "no trusted root is there yet", verifier: func(v *sigstore.Verifier) { v.Root += ".missing" }},
		"a damaged trusted root": {want: "it is not JSON", verifier: func(v *sigstore.Verifier) {
			v.Root = v.Program // a file that is none
		}},
		"no program": {want: "is missing, which verifies", verifier: func(v *sigstore.Verifier) { v.Program += ".missing" }},
	}
}

// A statement whose signature is of another key than the certificate's is refused, as is the content itself.
func TestVerify_refusesForgedStatement(t *testing.T) {
	a := sigstoretest.New(t)
	s := spec(nil)
	s.Statement, s.Forged = slsa, true
	if _, err := rooted(t, a).Verify(t.Context(), a.Sign(t, s), content); err == nil || !strings.Contains(err.Error(), "its signature is wrong") {
		t.Errorf("got %v, want a wrong signature", err)
	}
}

func TestVerify_returnsTheSigner(t *testing.T) {
	a := sigstoretest.New(t)
	v := rooted(t, a)
	for _, identity := range []string{identity, "ann@acme.example"} {
		s := spec(nil)
		s.Identity, s.Delay = identity, time.Minute
		got, err := v.Verify(t.Context(), a.Sign(t, s), content)
		if err != nil || got.Issuer != issuer || got.Identity != identity || got.At.Format(time.RFC3339) != "2026-01-01T01:01:00Z" || got.Statement != "" {
			t.Errorf("got %+v, %v, want %s of %s, a minute after one", got, err, identity, issuer)
		}
	}
}

func TestVerify_returnsTheProvenance(t *testing.T) {
	a := sigstoretest.New(t)
	v := rooted(t, a)
	want := sigstore.Provenance{Builder: "https://github.com/actions/runner", Source: "https://github.com/acme/weather", Commit: "c0ffee", Ref: "refs/tags/v1.2.0"}
	for version, predicate := range map[string]string{
		"v1": `{"runDetails":{"builder":{"id":"https://github.com/actions/runner"}},"buildDefinition":{
			"externalParameters":{"workflow":{"repository":"https://github.com/acme/weather","ref":"refs/tags/v1.2.0"}},
			"resolvedDependencies":[{"uri":"git+https://github.com/acme/weather","digest":{"gitCommit":"c0ffee"}}]}}`,
		"v0.2": `{"builder":{"id":"https://github.com/actions/runner"},
			"invocation":{"configSource":{"uri":"git+https://github.com/acme/weather@refs/tags/v1.2.0","digest":{"sha1":"c0ffee"}}}}`,
	} {
		s := spec(nil)
		s.Statement = "https://slsa.dev/provenance/" + version
		if err := json.Unmarshal([]byte(predicate), &s.Predicate); err != nil {
			t.Fatal(err)
		}
		got, err := v.Verify(t.Context(), a.Sign(t, s), content)
		if err != nil || got.Statement != s.Statement || got.Provenance == nil || *got.Provenance != want {
			t.Errorf("%s: got %+v, %v, want %+v", version, got.Provenance, err, want)
		}
	}
}

// Beside returns a name alone for a program whose own file is unknown.
func TestVerifier_looksForNoProgramInPath(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root.json")
	if err := os.WriteFile(root, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{sigstore.Beside(""), "./" + sigstore.Program} {
		v := sigstore.Verifier{Program: program, Root: root}
		_, verified := v.Verify(t.Context(), []byte("{}"), nil)
		_, updated := v.Newest(t.Context(), sigstore.Update{})
		for _, err := range []error{verified, updated} {
			if err == nil || !strings.Contains(err.Error(), "is missing") {
				t.Errorf("%s: got %v, want it missing", program, err)
			}
		}
	}
}
