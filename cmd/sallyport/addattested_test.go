//go:build unix

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/sigstore/sigstoretest"
)

// attested is a statement that the workflow signed about an image.
func (s *signing) attested(manifest []byte, edit func(*sigstoretest.Spec)) sigstoretest.Bundle {
	s.t.Helper()
	spec := sigstoretest.Spec{Issuer: workflowIssuer, Identity: workflowIdentity, Content: manifest, Statement: "https://slsa.dev/provenance/v1"}
	must(s.t, json.Unmarshal([]byte(`{"runDetails":{"builder":{"id":"https://github.com/actions/runner"}},"buildDefinition":{
		"externalParameters":{"workflow":{"repository":"https://github.com/acme/weather","ref":"refs/tags/v1.2.0"}}}}`), &spec.Predicate))
	if edit != nil {
		edit(&spec)
	}
	return s.authority.Bundle(s.t, spec)
}

// attach pushes statements under the tag that cosign attest gives them.
func (s *ociServer) attach(name, image string, statements ...sigstoretest.Bundle) {
	s.t.Helper()
	var layers []map[string]any
	for _, b := range statements {
		layers = append(layers, s.blob(name, "application/vnd.dsse.envelope.v1+json", b.Envelope(), cosignAnnotations(s.t, b)))
	}
	s.put(name, strings.Replace(image, ":", "-", 1)+".att", map[string]any{}, layers...)
}

// asBuilt is shown of a plugin whose provenance the workflow signed.
const asBuilt = "built from https://github.com/acme/weather refs/tags/v1.2.0 by https://github.com/actions/runner, as the signer states"

// A provenance that cosign attest pushed is verified and shown, in each form in which a log has had it, and behind more
// statements of other kinds than are verified.
func TestAdd_showsTheProvenanceUnderATag(t *testing.T) {
	s, hub := newSigning(t), newOCIServer(t)
	s.policy(requireWorkflow)
	for name, edit := range map[string]func(*sigstoretest.Spec){
		"acme/dsse/speaker":    nil,
		"acme/in-toto/speaker": func(spec *sigstoretest.Spec) { spec.InToto = true },
	} {
		image := hub.push(name, "1", speaker("Speaks.", "one"))
		manifest := hub.manifest(name, "1")
		parts := s.attested(manifest, func(spec *sigstoretest.Spec) { spec.Statement = "https://spdx.dev/Document" })
		all := append([]sigstoretest.Bundle{}, parts, parts, parts, parts, parts, parts, parts, parts, parts)
		hub.attach(name, image, append(all, s.attested(manifest, edit))...)
		if screen := s.installs(hub.source(name, "1"), byWorkflow); !strings.Contains(screen, unwrapped(asBuilt)) {
			t.Errorf("%s: got %s, want %q", name, screen, asBuilt)
		}
	}
}

// A verified signer and its provenance are shown where no signature is required, and no other ones. Without a trusted root
// nothing is asked for.
func TestAdd_showsASignerThatNobodyRequires(t *testing.T) {
	s, hub := newSigning(t), newOCIServer(t)
	s.policy("")
	const unrequired = "signed  no signature is required of this source "
	const signer = workflowIdentity + " of " + workflowIssuer + " signed it "
	image := hub.push("acme/built/speaker", "1", speaker("Speaks.", "one"))
	hub.attach("acme/built/speaker", image, s.attested(hub.manifest("acme/built/speaker", "1"), nil))
	s.installs(hub.source("acme/built/speaker", "1"), unrequired+signer+asBuilt)

	image = hub.push("acme/other/speaker", "1", speaker("Speaks.", "other"))
	stranger := &signing{s.added, sigstoretest.New(t)} // of another authority
	hub.attach("acme/other/speaker", image, stranger.attested(hub.manifest("acme/other/speaker", "1"), nil))
	if screen := s.installs(hub.source("acme/other/speaker", "1"), unrequired+"into"); strings.Contains(screen, "signedit") {
		t.Errorf("another authority: got %s, want no signer", screen)
	}
	file := filepath.Join(t.TempDir(), "speaker.wasm")
	put(t, file, speaker("Speaks.", "one"))
	put(t, file+".sigstore.json", s.signed(speaker("Speaks.", "one"), nil))
	s.installs(file, unrequired+signer)
	put(t, filepath.Join(s.home, "sallyport.yaml"), nil)
	if screen := s.installs(file, unrequired+"into"); strings.Contains(screen, "signedit") {
		t.Errorf("no trusted root: got %s, want no signer", screen)
	}
}

// An update whose bytes have a different verified signer than those before, or none, says so, and names that of before.
func TestUpdate_namesTheSignerOfBefore(t *testing.T) {
	s := newSigning(t)
	s.policy("")
	file := filepath.Join(t.TempDir(), "speaker.wasm")
	release := func(version string, by func(*sigstoretest.Spec)) {
		put(t, file, versioned(version))
		put(t, file+".sigstore.json", s.signed(versioned(version), by))
	}
	release("1.0.0", nil)
	if screen, out, code := typing(t, s.program("add", file, s.dir), "y"); code != 0 || strings.Contains(screen, "signer?") {
		t.Fatalf("add: got code %d, %s, want it installed\n%s", code, out, screen)
	}
	const before = "signer? the bytes before were signed by " + workflowIdentity + " of " + workflowIssuer
	for name, c := range map[string]struct {
		release func()
		want    bool
	}{
		"the same":   {func() { release("1.1.0", nil) }, false},
		"a stranger": {func() { release("1.2.0", func(s *sigstoretest.Spec) { s.Identity = "mallory@evil.example" }) }, true},
		"nobody":     {func() { release("1.3.0", nil); must(t, os.Remove(file+".sigstore.json")) }, true},
	} {
		c.release()
		screen, out, code := typing(t, s.program("update", s.dir), "n")
		if code != 1 || strings.Contains(unwrapped(screen), unwrapped(before)) != c.want {
			t.Errorf("%s: got code %d, %s, want %q: %t\n%s", name, code, out, before, c.want, screen)
		}
	}
}

// A statement under a tag that does not vouch for the image is refused, each with a sentence of its own.
func TestAdd_refusesBadStatementsUnderATag(t *testing.T) {
	s, hub := newSigning(t), newOCIServer(t)
	s.policy(requireWorkflow)
	other := sigstoretest.New(t)
	for name, c := range map[string]struct {
		edit       func(*sigstoretest.Spec)
		want, hint string
	}{
		"parts": {func(spec *sigstoretest.Spec) { spec.Statement = "https://spdx.dev/Document" }, "it has no signature of sigstore", "cosign sign 127.0.0.1:"},
		"image": {func(spec *sigstoretest.Spec) { spec.Content = []byte("another image") }, "its signature is for other bytes: sha256:", "sallyport add SOURCE"},
		"stranger": {func(spec *sigstoretest.Spec) {
			spec.Issuer, spec.Identity = "https://evil.example", "mallory@evil.example"
		}, "a stranger signed it, mallory@evil.example", "if you know that signer"},
		"forged": {func(spec *sigstoretest.Spec) { spec.Forged = true }, "its signature is wrong", "sallyport add SOURCE"},
		"log":    {func(spec *sigstoretest.Spec) { spec.Log = other }, "in a transparency log that the trusted root does not name", "sallyport trust update"},
		"unsigned": {func(spec *sigstoretest.Spec) {
			spec.Edit = func(b sigstoretest.Bundle) { b["dsseEnvelope"].(map[string]any)["signatures"] = []any{} }
		}, "its entry of the transparency log is for another signature", "sallyport add SOURCE"},
	} {
		name := "acme/" + name + "/speaker"
		image := hub.push(name, "1", speaker("Speaks.", "one"))
		hub.attach(name, image, s.attested(hub.manifest(name, "1"), c.edit))
		s.refused(hub.source(name, "1"), c.want, c.hint)
	}
	image := hub.push("acme/many/speaker", "1", speaker("Speaks.", "one"))
	manifest := hub.manifest("acme/many/speaker", "1")
	many := slices.Repeat([]sigstoretest.Bundle{s.attested(manifest, func(spec *sigstoretest.Spec) { spec.Statement = "https://spdx.dev/Document" })}, 64)
	hub.attach("acme/many/speaker", image, append(many, s.attested(manifest, nil))...)
	s.refused(hub.source("acme/many/speaker", "1"), "it has no signature of sigstore", "cosign sign 127.0.0.1:") // more are not read
}
