package source

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	digest "github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/errcode"
)

// The media types and the platform of an image in the layout of wkg.
const (
	moduleConfig = "application/vnd.wasm.config.v0+json"
	moduleLayer  = "application/wasm"
	moduleArch   = "wasm"
	moduleOS     = "wasip1" // of every module that is no component
)

// Publication is a plugin to publish as an image. Equal publications are equal images, at any time.
type Publication struct {
	Wasm      []byte
	Signature []byte // of minisign; nil is none

	Title, Version, Description string // annotations; "" is none

	// Replace moves a tag that names another image.
	Replace bool
}

// TakenError is returned for a tag that names another image.
type TakenError struct{ Tag, Digest string }

// Error names the tag and its image.
func (e *TakenError) Error() string {
	return fmt.Sprintf("the tag %s names another image, %s", e.Tag, e.Digest)
}

// Push publishes a plugin under the tag of an image, fetches it again by its digest, and returns the digest. Nothing is
// sent if the tag names it already. Errors are sentences for the operator.
func (f *Fetcher) Push(ctx context.Context, r Ref, p Publication) (sum string, err error) {
	ctx, cancel := f.Bounded(ctx)
	defer cancel()
	switch {
	case r.scheme != schemeOCI:
		return "", fmt.Errorf("%s is no image of a registry: want oci://REGISTRY/NAME:TAG", r)
	case r.Fixed():
		return "", fmt.Errorf("%s names its digest, which follows from the bytes: name a tag alone", r)
	case len(p.Wasm) > maxPlugin:
		return "", tooLarge(int64(len(p.Wasm)))
	}
	sum, err = f.push(ctx, r, p)
	var answer *errcode.ErrorResponse
	if errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound {
		return "", &Error{From: r.String(), Err: fmt.Errorf("%s has no such repository, or does not let you write to it", r.image.Registry)}
	}
	return sum, failure(r, err)
}

// push sends the parts of an image that the registry lacks, and its manifest last: no tag ever names half an image.
func (f *Fetcher) push(ctx context.Context, r Ref, p Publication) (string, error) {
	repo, err := f.repository(ctx, r)
	if err != nil {
		return "", err
	}
	parts, manifest, err := p.image()
	if err != nil {
		return "", err
	}
	d := described(ocispec.MediaTypeImageManifest, manifest)
	there, err := repo.Resolve(ctx, r.tag)
	switch {
	case err == nil && there.Digest == d.Digest:
		return d.Digest.String(), nil
	case err == nil && !p.Replace:
		return "", &TakenError{r.tag, there.Digest.String()}
	case err != nil && !errors.Is(err, errdef.ErrNotFound):
		return "", err
	}
	for _, part := range parts {
		if err := pushBlob(ctx, repo, part); err != nil {
			return "", err
		}
	}
	if err := repo.Manifests().PushReference(ctx, d, bytes.NewReader(manifest), r.tag); err != nil {
		return "", err
	}
	r.digest = d.Digest.String()
	return r.digest, f.confirm(ctx, r, p)
}

// blob is a part of an image.
type blob struct {
	ocispec.Descriptor
	raw []byte
}

// image returns the parts and the manifest of a publication.
func (p Publication) image() (parts []blob, manifest []byte, err error) {
	layer := blob{described(moduleLayer, p.Wasm), p.Wasm}
	config, err := json.Marshal(struct {
		Created time.Time       `json:"created"`
		Arch    string          `json:"architecture"`
		OS      string          `json:"os"`
		Layers  []digest.Digest `json:"layerDigests"`
	}{time.Unix(0, 0).UTC(), moduleArch, moduleOS, []digest.Digest{layer.Digest}})
	if err != nil {
		return nil, nil, err
	}
	about := blob{described(moduleConfig, config), config}
	m := ocispec.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest,
		Config: about.Descriptor, Layers: []ocispec.Descriptor{layer.Descriptor}, Annotations: p.annotations()}
	if manifest, err = json.Marshal(m); err == nil && len(manifest) > maxManifest {
		err = fmt.Errorf("its manifest is over %d MiB", maxManifest>>20)
	}
	return []blob{about, layer}, manifest, err
}

// annotations returns the annotations of the manifest.
func (p Publication) annotations() map[string]string {
	all := map[string]string{}
	for key, value := range map[string]string{
		ocispec.AnnotationTitle: p.Title, ocispec.AnnotationVersion: p.Version, ocispec.AnnotationDescription: p.Description,
		signatureAnnotation: string(p.Signature),
	} {
		if value != "" {
			all[key] = value
		}
	}
	return all
}

// described returns the descriptor of bytes.
func described(mediaType string, raw []byte) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(raw), Size: int64(len(raw))}
}

// pushBlob sends a part, unless the registry has it.
func pushBlob(ctx context.Context, repo *remote.Repository, part blob) error {
	has, err := repo.Blobs().Exists(ctx, part.Descriptor)
	if err != nil || has {
		return err
	}
	return repo.Blobs().Push(ctx, part.Descriptor, bytes.NewReader(part.raw))
}

// confirm fetches an image by its digest and compares it with the publication.
func (f *Fetcher) confirm(ctx context.Context, r Ref, p Publication) error {
	a, err := f.fetchImage(ctx, r)
	if err == nil && (!bytes.Equal(a.Content, p.Wasm) || !bytes.Equal(a.Signature, p.Signature)) {
		err = errors.New("it was pushed, and other bytes came back")
	}
	return err
}
