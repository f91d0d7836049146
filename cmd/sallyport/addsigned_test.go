//go:build unix

package main

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/internal/minisign/minisigntest"
	"github.com/sallyport-mcp/sallyport/internal/sigstore"
	"github.com/sallyport-mcp/sallyport/internal/sigstore/sigstoretest"
)

// The signer of the tests, a workflow, and the policy that requires it.
const (
	workflowIssuer   = "https://token.actions.githubusercontent.com"
	workflowIdentity = "https://github.com/acme/weather/.github/workflows/release.yml@refs/tags/v1.2.0"
	requireWorkflow  = "{require: {issuer: '" + workflowIssuer + "', identity: 'https://github.com/acme/**'}}"
)

// signing is a home folder for add with sallyport-sigstore beside the program, and an instance of sigstore.
type signing struct {
	*added
	authority *sigstoretest.Authority
}

func newSigning(t *testing.T) *signing {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(sigstore.Beside(self)); err != nil {
		if _, err := sigstoretest.Program(filepath.Dir(self)); err != nil {
			t.Fatal(err)
		}
	}
	s := &signing{newAdded(t), sigstoretest.New(t)}
	put(t, filepath.Join(s.home, "root.json"), s.authority.Root())
	return s
}

// policy sets the policy of all sources; "" is none.
func (s *signing) policy(policy string) {
	s.t.Helper()
	text := "trusted_root: " + filepath.Join(s.home, "root.json") + "\n"
	if policy != "" {
		text += "sources:\n  '**': " + policy + "\n"
	}
	put(s.t, filepath.Join(s.home, "sallyport.yaml"), []byte(text))
}

// signed returns a bundle of the workflow for a content.
func (s *signing) signed(content []byte, edit func(*sigstoretest.Spec)) []byte {
	s.t.Helper()
	spec := sigstoretest.Spec{Issuer: workflowIssuer, Identity: workflowIdentity, Content: content}
	if edit != nil {
		edit(&spec)
	}
	return s.authority.Sign(s.t, spec)
}

// refused adds a source that is refused with a text and a hint, and leaves nothing.
func (s *signing) refused(from, want, hint string) {
	s.t.Helper()
	out, err := s.program("add", from, s.dir).CombinedOutput()
	_, said, _ := strings.Cut(string(out), "hint: ")
	if err == nil || !strings.Contains(string(out), want) || !strings.Contains(said, hint) || s.files() != "" {
		s.t.Errorf("got %s, %v and files %q, want %q and the hint %q", out, err, s.files(), want, hint)
	}
}

// installs adds a source, agrees, and removes the plugin again. It returns what was shown.
func (s *signing) installs(from, want string) string {
	s.t.Helper()
	screen, out, code := typing(s.t, s.program("add", from, s.dir), "y")
	screen = unwrapped(screen)
	if code != 0 || !strings.Contains(screen, unwrapped(want)) || s.files() != "speaker.wasm" {
		s.t.Errorf("got code %d, %s and files %q, want it installed and %q\n%s", code, out, s.files(), want, screen)
	}
	if _, out, code := typing(s.t, s.program("remove", "speaker", s.dir, "--purge"), "y"); code != 0 {
		s.t.Errorf("remove: got code %d\n%s", code, out)
	}
	return screen
}

// unwrapped removes the blanks and the lines of a screen, which breaks long words too.
func unwrapped(screen string) string { return strings.Join(strings.Fields(screen), "") }

// byWorkflow is shown of a plugin that the workflow signed.
const byWorkflow = "signed  " + workflowIdentity + " of " + workflowIssuer + ", as its source requires"

// A file with its bundle beside it, here and on the web, is installed if the required identity signed it.
func TestAdd_requiresAnIdentityOfAFile(t *testing.T) {
	s := newSigning(t)
	s.policy(requireWorkflow)
	wasm := speaker("Speaks.", "one")
	files := t.TempDir()
	web := httptest.NewServer(http.FileServer(http.Dir(files)))
	t.Cleanup(web.Close)
	put(t, filepath.Join(files, "speaker.wasm"), wasm)
	for _, from := range []string{filepath.Join(files, "speaker.wasm"), web.URL + "/speaker.wasm"} {
		beside := filepath.Join(files, "speaker.wasm.sigstore.json")
		s.refused(from, "it has no signature of sigstore, and one by https://github.com/acme/** of "+workflowIssuer+" is required",
			"cosign sign-blob speaker.wasm --bundle speaker.wasm.sigstore.json")
		put(t, beside, s.signed([]byte("other bytes"), nil))
		s.refused(from, "its signature is for other bytes: sha256:", "sallyport add SOURCE")
		put(t, beside, s.signed(wasm, func(s *sigstoretest.Spec) { s.Identity = "mallory@evil.example" }))
		s.refused(from, "the identity mallory@evil.example signed it, and https://github.com/acme/** of", "identity: mallory@evil.example} in the configuration takes it")
		put(t, beside, s.signed(wasm, func(s *sigstoretest.Spec) { s.Issuer = "https://evil.example" }))
		s.refused(from, "as the issuer https://evil.example vouches", "require: {issuer: https://evil.example")
		put(t, beside, s.signed(wasm, func(s *sigstoretest.Spec) { s.Issuer, s.Identity = "https://evil.example", "mallory@evil.example" }))
		s.refused(from, "a stranger signed it, mallory@evil.example of https://evil.example", "if you know that signer")
		put(t, beside, s.signed(wasm, nil))
		s.installs(from, byWorkflow)
		if err := os.Remove(beside); err != nil {
			t.Fatal(err)
		}
	}
}

// The origin of the build is shown, as the required signer states it.
func TestAdd_showsTheProvenance(t *testing.T) {
	s := newSigning(t)
	s.policy(requireWorkflow)
	wasm := speaker("Speaks.", "one")
	file := filepath.Join(t.TempDir(), "speaker.wasm")
	put(t, file, wasm)
	provenance := s.signed(wasm, func(s *sigstoretest.Spec) {
		s.Statement = "https://slsa.dev/provenance/v1"
		must(t, json.Unmarshal([]byte(`{"runDetails":{"builder":{"id":"https://github.com/actions/runner"}},"buildDefinition":{
			"externalParameters":{"workflow":{"repository":"https://github.com/acme/weather","ref":"refs/tags/v1.2.0"}}}}`), &s.Predicate))
	})
	put(t, file+".sigstore.json", append(append(s.signed(wasm, nil), '\n'), provenance...))
	screen := s.installs(file, byWorkflow)
	if want := unwrapped("built from https://github.com/acme/weather refs/tags/v1.2.0 by https://github.com/actions/runner, as the signer states"); !strings.Contains(screen, want) {
		t.Errorf("got %s, want %q", screen, want)
	}
}

// An image is installed as each policy allows, signed by a referrer, by a tag of cosign, and not signed.
func TestAdd_requiresAnIdentityOfAnImage(t *testing.T) {
	s, hub := newSigning(t), newOCIServer(t)
	wasm := speaker("Speaks.", "one")
	images := map[string]string{}
	for _, name := range []string{"unsigned", "referrer", "tagged"} {
		images[name] = hub.push("acme/"+name+"/speaker", "1", wasm)
	}
	hub.refer("acme/referrer/speaker", images["referrer"], s.signed(hub.manifest("acme/referrer/speaker", "1"), nil))
	payload := cosignPayload(images["tagged"])
	hub.pushTagged("acme/tagged/speaker", images["tagged"], payload, cosignAnnotations(t, s.bundle(payload)))
	from := func(name string) string { return hub.source("acme/"+name+"/speaker", "1") }

	key := minisigntest.New("12345678").Public()
	for name := range images {
		s.policy("")
		s.installs(from(name), "no signature is required of this source")
		s.policy("unsigned")
		s.installs(from(name), "no signature is required of this source")
		s.policy("refuse")
		s.refused(from(name), "the configuration refuses this source", "sources: in")
		s.policy("{minisign: " + key + "}")
		s.refused(from(name), "it is not signed, and a signature by 3837363534333231 is required", "sources: in")
		s.policy("{require: {issuer: 'https://accounts.google.com', identity: ann@acme.example}}")
		if name != "unsigned" {
			s.refused(from(name), "a stranger signed it, "+workflowIdentity, "if you know that signer")
		}
		s.policy(requireWorkflow)
		if name != "unsigned" {
			s.installs(from(name), byWorkflow)
		}
	}
	s.refused(from("unsigned"), "it has no signature of sigstore", "cosign sign 127.0.0.1:")
	moved := hub.push("acme/tagged/speaker", "2", speaker("Speaks.", "two"))
	hub.pushTagged("acme/tagged/speaker", moved, payload, cosignAnnotations(t, s.bundle(payload)))
	s.refused(hub.source("acme/tagged/speaker", "2"), "its signature is for the image", "cosign sign IMAGE@"+moved)
}

// bundle returns a bundle of the workflow as maps.
func (s *signing) bundle(content []byte) sigstoretest.Bundle {
	s.t.Helper()
	return s.authority.Bundle(s.t, sigstoretest.Spec{Issuer: workflowIssuer, Identity: workflowIdentity, Content: content})
}

// cosignPayload is the text that cosign signs for an image.
func cosignPayload(digest string) []byte {
	return []byte(`{"critical":{"identity":{"docker-reference":""},"image":{"docker-manifest-digest":"` + digest + `"},"type":"cosign container image signature"},"optional":null}`)
}

// cosignAnnotations returns the annotations that cosign writes for a bundle.
func cosignAnnotations(t *testing.T, b sigstoretest.Bundle) map[string]string {
	t.Helper()
	e := b.Entry()
	entry, err := json.Marshal(map[string]any{
		"SignedEntryTimestamp": e["inclusionPromise"].(map[string]any)["signedEntryTimestamp"],
		"Payload":              map[string]any{"body": e["canonicalizedBody"], "integratedTime": json.Number(e["integratedTime"].(string)), "logIndex": 0, "logID": sigstoretest.LogID(e)},
	})
	must(t, err)
	annotations := map[string]string{
		"dev.cosignproject.cosign/signature": "", // of a statement: its envelope has the signature
		"dev.sigstore.cosign/certificate":    sigstoretest.PEM(b.Certificate()),
		"dev.sigstore.cosign/bundle":         string(entry),
	}
	if message, ok := b["messageSignature"]; ok {
		annotations["dev.cosignproject.cosign/signature"] = base64.StdEncoding.EncodeToString(message.(map[string]any)["signature"].([]byte))
	}
	return annotations
}

// manifest returns the manifest under a tag.
func (s *ociServer) manifest(name, tag string) []byte {
	s.t.Helper()
	res, err := http.Get(s.url + "/v2/" + name + "/manifests/" + tag)
	must(s.t, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	must(s.t, err)
	return raw
}

// blob pushes a blob and returns its descriptor.
func (s *ociServer) blob(name, kind string, content []byte, annotations map[string]string) map[string]any {
	s.t.Helper()
	digest := fileid.Digest(content)
	s.send("POST", "/v2/"+name+"/blobs/uploads/?digest="+digest, "application/octet-stream", content)
	return map[string]any{"mediaType": kind, "digest": digest, "size": len(content), "annotations": annotations}
}

// put pushes a manifest with layers.
func (s *ociServer) put(name, tag string, manifest map[string]any, layers ...map[string]any) {
	s.t.Helper()
	const kind = "application/vnd.oci.image.manifest.v1+json"
	manifest["schemaVersion"], manifest["mediaType"], manifest["layers"] = 2, kind, layers
	manifest["config"] = s.blob(name, "application/vnd.oci.empty.v1+json", []byte("{}"), nil)
	raw, err := json.Marshal(manifest)
	must(s.t, err)
	if tag == "" {
		tag = fileid.Digest(raw)
	}
	s.send("PUT", "/v2/"+name+"/manifests/"+tag, kind, raw)
}

// refer pushes a bundle that refers to an image.
func (s *ociServer) refer(name, image string, bundle []byte) {
	s.t.Helper()
	const kind = "application/vnd.dev.sigstore.bundle.v0.3+json"
	subject := map[string]any{"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": image, "size": len(s.manifest(name, image))}
	s.put(name, "", map[string]any{"artifactType": kind, "subject": subject}, s.blob(name, kind, bundle, nil))
}

// pushTagged pushes a signed text under the tag of cosign for an image.
func (s *ociServer) pushTagged(name, image string, payload []byte, annotations map[string]string) {
	s.t.Helper()
	layer := s.blob(name, "application/vnd.dev.cosign.simplesigning.v1+json", payload, annotations)
	s.put(name, strings.Replace(image, ":", "-", 1)+".sig", map[string]any{}, layer)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
