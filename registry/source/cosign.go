package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"strconv"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/sallyport-mcp/sallyport/internal/sigstore"
)

const (
	// bundleType begins the type of sigstore bundles, as referrers of an image and as their layers.
	bundleType = "application/vnd.dev.sigstore.bundle"
	// payloadType is that of a layer with the text that cosign signed for an image.
	payloadType = "application/vnd.dev.cosign.simplesigning.v1+json"
	// maxPayload limits that text, in bytes.
	maxPayload = 64 << 10
	// envelopeType is that of a layer with a statement that cosign signed about an image.
	envelopeType = "application/vnd.dsse.envelope.v1+json"
	// maxReferrers limits the referrers of an image that are looked at, in the order of the registry, and the layers under
	// a tag.
	maxReferrers = 64
)

// Annotations of cosign at a layer with a signed text.
const (
	annotationSignature   = "dev.cosignproject.cosign/signature"
	annotationCertificate = "dev.sigstore.cosign/certificate"
	annotationEntry       = "dev.sigstore.cosign/bundle"
)

// imageBundles collects the bundles of an image: its referrers, as cosign 3 and GitHub push them, and the tags of earlier
// cosigns, .sig for signatures and .att for signed statements.
func (f *Fetcher) imageBundles(ctx context.Context, r Ref, a *Artifact) error {
	repo, err := f.repository(ctx, r)
	if err != nil {
		return err
	}
	if err := a.addReferrers(ctx, repo); err != nil && !errors.Is(err, errdef.ErrNotFound) {
		return err
	}
	for _, suffix := range []string{".sig", ".att"} {
		tag := strings.Replace(a.Origin.Digest, ":", "-", 1) + suffix
		if err := a.addTagged(ctx, repo, tag); err != nil && !errors.Is(err, errdef.ErrNotFound) {
			return err
		}
	}
	return nil
}

// errEnough ends a listing of referrers.
var errEnough = errors.New("enough")

// addReferrers adds the bundles that refer to the image.
func (a *Artifact) addReferrers(ctx context.Context, repo *remote.Repository) error {
	seen := 0
	err := repo.Referrers(ctx, a.image, "", func(page []ocispec.Descriptor) error {
		for _, d := range page {
			if seen++; seen > maxReferrers || len(a.bundles) == maxBundles {
				return errEnough
			}
			if d.ArtifactType != ocispec.MediaTypeEmptyJSON && !strings.HasPrefix(d.ArtifactType, bundleType) {
				continue // registries before the final specification give the type of the configuration, which is empty
			}
			bundle, err := bundleLayer(ctx, repo, d.Digest.String())
			if err != nil {
				return err
			}
			if bundle != nil {
				a.bundles = append(a.bundles, signature{bundle: bundle, content: a.manifest})
			}
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return err
}

// bundleLayer fetches the bundle in a referrer, nil if it has none.
func bundleLayer(ctx context.Context, repo *remote.Repository, digest string) ([]byte, error) {
	m, err := manifestOf(ctx, repo, digest)
	if err != nil || len(m.Layers) != 1 || !strings.HasPrefix(m.Layers[0].MediaType, bundleType) {
		return nil, err
	}
	if m.Layers[0].Size > sigstore.MaxBundle {
		return make([]byte, sigstore.MaxBundle+1), nil // refused for its size, without its bytes
	}
	return fetchLayer(ctx, repo, m.Layers[0])
}

// manifestOf fetches the manifest of a signature.
func manifestOf(ctx context.Context, repo *remote.Repository, reference string) (m ocispec.Manifest, err error) {
	_, raw, err := oras.FetchBytes(ctx, repo, reference, oras.FetchBytesOptions{MaxBytes: maxManifest})
	if err == nil && json.Unmarshal(raw, &m) != nil {
		err = errors.New("the manifest of its signature is not JSON")
	}
	return m, err
}

// addTagged adds the signatures and the statements under a tag.
func (a *Artifact) addTagged(ctx context.Context, repo *remote.Repository, tag string) error {
	m, err := manifestOf(ctx, repo, tag)
	if err != nil {
		return err
	}
	limits := map[string]int64{payloadType: maxPayload, envelopeType: sigstore.MaxBundle}
	for _, d := range m.Layers[:min(len(m.Layers), maxReferrers)] {
		if limit, known := limits[d.MediaType]; !known || d.Size > limit || len(a.bundles) == maxBundles {
			continue
		}
		layer, err := fetchLayer(ctx, repo, d)
		if err != nil {
			return err
		}
		switch {
		case d.MediaType == payloadType:
			bundle := bundleOf(d.Annotations, "messageSignature", messageSignature(d.Annotations, layer))
			a.bundles = append(a.bundles, signature{bundle: bundle, content: layer, err: namesImage(layer, a.Origin.Digest)})
		case vouches(statementType(layer)) == nil: // a list of parts or of faults takes the place of no signature
			a.bundles = append(a.bundles, signature{bundle: bundleOf(d.Annotations, "dsseEnvelope", json.RawMessage(layer)), content: a.manifest})
		}
	}
	return nil
}

// statementType returns the type of the predicate in an envelope, before it is verified; "" if it has none.
func statementType(envelope []byte) string {
	var e struct {
		Payload []byte `json:"payload"`
	}
	var statement struct {
		PredicateType string `json:"predicateType"`
	}
	if json.Unmarshal(envelope, &e) != nil || json.Unmarshal(e.Payload, &statement) != nil {
		return ""
	}
	return statement.PredicateType
}

// namesImage returns an error if a text that cosign signed is about another image.
func namesImage(payload []byte, digest string) error {
	var p struct {
		Critical struct {
			Type  string `json:"type"`
			Image struct {
				Digest string `json:"docker-manifest-digest"`
			} `json:"image"`
		} `json:"critical"`
	}
	if json.Unmarshal(payload, &p) != nil || p.Critical.Type != "cosign container image signature" {
		return &SignatureError{errors.New("its signature is for a text that names no image"), "cosign sign IMAGE@DIGEST signs again"}
	}
	if p.Critical.Image.Digest != digest {
		return &SignatureError{fmt.Errorf("its signature is for the image %.80q, and not for %s", p.Critical.Image.Digest, digest), "cosign sign IMAGE@" + digest + " signs this one"}
	}
	return nil
}

// entry is an entry of the transparency log in an annotation.
type entry struct {
	SignedEntryTimestamp []byte
	Payload              struct {
		Body           []byte `json:"body"`
		IntegratedTime int64  `json:"integratedTime"`
		LogIndex       int64  `json:"logIndex"`
		LogID          string `json:"logID"`
	}
}

// bundleOf returns the bundle of a layer under a tag, with its signature or its envelope as a member. A part that is
// missing or malformed is missing in the bundle too, which is refused for it.
func bundleOf(annotations map[string]string, member string, content any) []byte {
	material := map[string]any{"publicKey": map[string]any{"hint": "cosign"}}
	if block, _ := pem.Decode([]byte(annotations[annotationCertificate])); block != nil {
		material = map[string]any{"certificate": map[string]any{"rawBytes": block.Bytes}}
	}
	var e entry
	if json.Unmarshal([]byte(annotations[annotationEntry]), &e) == nil {
		material["tlogEntries"] = []any{e.bundled()}
	}
	bundle, err := json.Marshal(map[string]any{"mediaType": bundleType + "+json;version=0.1", "verificationMaterial": material, member: content})
	if err != nil {
		return nil // an envelope that is not JSON
	}
	return bundle
}

// messageSignature returns the signature of a payload as a bundle has it.
func messageSignature(annotations map[string]string, payload []byte) map[string]any {
	sum := sha256.Sum256(payload)
	return map[string]any{"messageDigest": map[string]any{"algorithm": "SHA2_256", "digest": sum[:]}, "signature": annotations[annotationSignature]}
}

// bundled returns an entry as a bundle has it.
func (e entry) bundled() map[string]any {
	var body struct {
		Kind    string `json:"kind"`
		Version string `json:"apiVersion"`
	}
	_ = json.Unmarshal(e.Payload.Body, &body) // a body that is not JSON is of no kind
	id, _ := hex.DecodeString(e.Payload.LogID)
	return map[string]any{
		"logIndex": strconv.FormatInt(e.Payload.LogIndex, 10), "integratedTime": strconv.FormatInt(e.Payload.IntegratedTime, 10),
		"logId": map[string]any{"keyId": id}, "kindVersion": map[string]any{"kind": body.Kind, "version": body.Version},
		"inclusionPromise": map[string]any{"signedEntryTimestamp": e.SignedEntryTimestamp}, "canonicalizedBody": e.Payload.Body,
	}
}
