package source

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/registry/lock"
)

const (
	// maxManifest limits the manifest of an image, in bytes: that of registries.
	maxManifest = 4 << 20
	// maxLayers limits the layers of an image that are searched for a plugin.
	maxLayers = 64
	// dockerIndex is the media type of Docker's own index.
	dockerIndex = "application/vnd.docker.distribution.manifest.list.v2+json"
	// dockerManifest is the media type of Docker's own manifest.
	dockerManifest = "application/vnd.docker.distribution.manifest.v2+json"
	// signatureAnnotation is the annotation of a manifest with the minisign signature of the module.
	signatureAnnotation = "dev.sallyport.minisig"
	// pluginMember is the file of a plugin in an image of hyper-mcp.
	pluginMember = "plugin.wasm"
)

// repository opens the repository of an image.
func (f *Fetcher) repository(ctx context.Context, r Ref) (*remote.Repository, error) {
	client := f.client(r)
	repo := &remote.Repository{Reference: r.image, MaxMetadataBytes: maxManifest}
	if isLoopback(strings.Trim(hostOnly(r.image.Host()), "[]")) {
		repo.PlainHTTP = speaksPlain(ctx, client, r.image.Host())
	}
	a := &auth.Client{Client: client, Cache: auth.NewCache(), Header: http.Header{"User-Agent": {f.agent()}}}
	logins, err := credentials.NewStoreFromDocker(credentials.StoreOptions{})
	if err != nil {
		return nil, fmt.Errorf("the logins of Docker cannot be read: %w", err)
	}
	a.Credential = func(ctx context.Context, hostport string) (auth.Credential, error) {
		login, err := credentials.Credential(logins)(ctx, hostport)
		if err != nil {
			return login, fmt.Errorf("the login for %s cannot be read: %w", hostport, err)
		}
		return login, nil
	}
	repo.Client = a
	return repo, nil
}

func (f *Fetcher) agent() string {
	if f.o.Egress.UserAgent == "" {
		return "sallyport"
	}
	return f.o.Egress.UserAgent
}

func hostOnly(host string) string {
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		return host[:i]
	}
	return host
}

// speaksPlain reports whether a registry on this machine speaks http, as registries for development do.
func speaksPlain(ctx context.Context, client *http.Client, host string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, "https://"+host+"/v2/", nil)
	if err != nil {
		return false
	}
	res, err := client.Do(req)
	if err != nil {
		return errors.Is(err, http.ErrSchemeMismatch)
	}
	res.Body.Close()
	return false
}

// reference returns the tag or digest to ask a registry for.
func (r Ref) reference() string {
	if r.digest != "" {
		return r.digest
	}
	return r.tag
}

// resolveImage returns the digest that a tag names now.
func (f *Fetcher) resolveImage(ctx context.Context, r Ref) (string, error) {
	repo, err := f.repository(ctx, r)
	if err != nil {
		return "", err
	}
	d, err := repo.Resolve(ctx, r.reference())
	return d.Digest.String(), err
}

// fetchImage fetches the plugin of an image.
func (f *Fetcher) fetchImage(ctx context.Context, r Ref) (*Artifact, error) {
	repo, err := f.repository(ctx, r)
	if err != nil {
		return nil, err
	}
	top, raw, m, err := fetchManifest(ctx, repo, r.reference())
	if err != nil {
		return nil, err
	}
	wasm, err := pluginOf(ctx, repo, m)
	if err != nil {
		return nil, err
	}
	stem, ext := r.stem()
	a := &Artifact{Stem: stem, Ext: ext, Content: wasm, signed: wasm, image: top, manifest: raw, Origin: lock.Origin{From: r.Moving(), Digest: top.Digest.String()}}
	if text, ok := m.Annotations[signatureAnnotation]; ok {
		a.Signature = []byte(text)
	}
	return a, nil
}

// fetchManifest fetches the manifest of an image, from an index if there is one. The descriptor and the bytes are the
// outer ones.
func fetchManifest(ctx context.Context, repo *remote.Repository, reference string) (top ocispec.Descriptor, raw []byte, m ocispec.Manifest, err error) {
	top, raw, err = oras.FetchBytes(ctx, repo, reference, oras.FetchBytesOptions{MaxBytes: maxManifest})
	if err != nil {
		return top, nil, m, err
	}
	inner, text := top, raw
	if top.MediaType == ocispec.MediaTypeImageIndex || top.MediaType == dockerIndex {
		if inner, text, err = fetchChosen(ctx, repo, raw); err != nil {
			return top, nil, m, err
		}
	}
	if inner.MediaType != ocispec.MediaTypeImageManifest && inner.MediaType != dockerManifest {
		return top, nil, m, fmt.Errorf("its manifest is of the type %.100q, and not an image of OCI or Docker", inner.MediaType)
	}
	return top, raw, m, readManifest("manifest", text, &m)
}

// fetchChosen fetches the manifest of the image that is chosen from an index.
func fetchChosen(ctx context.Context, repo *remote.Repository, raw []byte) (d ocispec.Descriptor, text []byte, err error) {
	var index ocispec.Index
	if err := readManifest("index", raw, &index); err != nil {
		return d, nil, err
	}
	if d, err = choose(index.Manifests); err != nil {
		return d, nil, err
	}
	if err := d.Digest.Validate(); err != nil {
		return d, nil, fmt.Errorf("an image of its index has no valid digest: %w", err)
	}
	return oras.FetchBytes(ctx, repo, d.Digest.String(), oras.FetchBytesOptions{MaxBytes: maxManifest})
}

// readManifest parses the manifest of an image or an index; errors have its name.
func readManifest(name string, raw []byte, into any) error {
	if jsonraw.Valid(raw) != nil {
		return fmt.Errorf("its %s is not JSON", name)
	}
	if at, twice := jsonraw.AmbiguousKey(raw); twice {
		return fmt.Errorf("its %s has a key twice, %.100q: two readers could see two images", name, at)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("its %s has a member of another type than images have", name)
	}
	return nil
}

// choose returns the image of an index: the one for WebAssembly, else the one that hyper-mcp takes, else the only one.
func choose(all []ocispec.Descriptor) (ocispec.Descriptor, error) {
	for _, arch := range []string{"wasm", "wasm32", "amd64"} {
		for _, d := range all {
			if d.Platform != nil && d.Platform.Architecture == arch {
				return d, nil
			}
		}
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return ocispec.Descriptor{}, fmt.Errorf("its index has %d images and none for WebAssembly: name one by its digest", len(all))
}

// pluginOf fetches the plugin of an image.
func pluginOf(ctx context.Context, repo *remote.Repository, m ocispec.Manifest) ([]byte, error) {
	if len(m.Layers) > maxLayers {
		return nil, fmt.Errorf("it has %d layers, and at most %d are read", len(m.Layers), maxLayers)
	}
	var modules, archives []ocispec.Descriptor
	for _, d := range m.Layers {
		switch {
		case isModule(d.MediaType):
			modules = append(modules, d)
		case isArchive(d.MediaType):
			archives = append(archives, d)
		}
	}
	switch {
	case len(modules) == 1:
		return fetchLayer(ctx, repo, modules[0])
	case len(modules) > 1:
		return nil, fmt.Errorf("it has %d WebAssembly layers, and a plugin is one", len(modules))
	}
	left := int64(maxUnpacked)
	for i := len(archives) - 1; i >= 0; i-- { // the last layer replaces files of those before
		layer, err := fetchLayer(ctx, repo, archives[i])
		if err != nil {
			return nil, err
		}
		files, err := unpacked(bytes.NewReader(layer), &left, func(name string) bool { return name == pluginMember })
		if err != nil || files[pluginMember] != nil {
			return files[pluginMember], err
		}
	}
	return nil, errors.New("it has no plugin: want a layer application/wasm, or a tar layer with plugin.wasm")
}

// isModule reports whether a layer is a WebAssembly module.
func isModule(mediaType string) bool {
	switch mediaType {
	case "application/wasm", "application/vnd.wasm.content.layer.v1+wasm", "application/vnd.module.wasm.content.layer.v1+wasm":
		return true
	}
	return false
}

// isArchive reports whether a layer is a tar archive, compressed or not.
func isArchive(mediaType string) bool {
	switch mediaType {
	case ocispec.MediaTypeImageLayer, ocispec.MediaTypeImageLayerGzip, "application/vnd.docker.image.rootfs.diff.tar", "application/vnd.docker.image.rootfs.diff.tar.gzip":
		return true
	}
	return false
}

// fetchLayer fetches one layer, whose size and digest the manifest announced.
func fetchLayer(ctx context.Context, repo *remote.Repository, d ocispec.Descriptor) ([]byte, error) {
	if d.Size > maxPlugin || d.Size < 0 {
		return nil, tooLarge(d.Size)
	}
	if err := d.Digest.Validate(); err != nil {
		return nil, fmt.Errorf("its layer has no valid digest: %w", err)
	}
	body, err := repo.Blobs().Fetch(ctx, d)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	raw, err := content.ReadAll(body, d)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return raw, err
}
