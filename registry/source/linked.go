package source

import (
	"context"
	"errors"
	"fmt"

	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/registry/extismfile"
)

// FetchModule puts the module that an Extism manifest names into the manifest; other artifacts stay. It has to be the one
// of the manifest's hash, so that a signature of the manifest covers it. refused reports whether the operator takes
// nothing from an address. Errors are sentences for the operator.
func (f *Fetcher) FetchModule(ctx context.Context, r Ref, a *Artifact, refused func(Ref) bool) error {
	if a.Ext != extManifest {
		return nil
	}
	m, err := extismfile.Parse(a.Content)
	if err != nil || m.Inline {
		return err
	}
	if m.Digest == "" {
		return errors.New("the manifest names its module without a hash, and another module could take its place: write \"hash\": SHA-256 in hex beside its path or url")
	}
	wasm, err := f.module(ctx, r, a, m, refused)
	if err != nil {
		return err
	}
	if digest := fileid.Digest(wasm); digest != m.Digest {
		return fmt.Errorf("the module is %s, and the manifest wants %s", digest, m.Digest)
	}
	a.Content, err = extismfile.With(a.Content, wasm)
	return err
}

// module reads the module of a manifest from its file or its address. Its host has to be public, or that of the manifest.
func (f *Fetcher) module(ctx context.Context, r Ref, a *Artifact, m *extismfile.Manifest, refused func(Ref) bool) ([]byte, error) {
	if m.Path != "" {
		if !r.Local() {
			return nil, errors.New("the manifest names its module by a path, which an address does not have: it needs a url")
		}
		path, err := m.Module(a.file)
		if err != nil {
			return nil, err
		}
		wasm, _, err := fileid.Read(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return wasm, nil
	}
	from, err := web(m.URL)
	if err != nil {
		return nil, fmt.Errorf("the module of the manifest: %w", err)
	}
	from = from.Suggested(r)
	if refused(from) {
		return nil, fmt.Errorf("%s: %w", from, ErrRefused)
	}
	ctx, cancel := f.Bounded(ctx)
	defer cancel()
	wasm, err := f.download(ctx, from)
	return wasm, failure(from, err)
}
