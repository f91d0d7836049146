package source

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/sallyport-mcp/sallyport/internal/fileid"
)

// maxDocument limits a document, in bytes: an index of some ten thousand plugins.
const maxDocument = 16 << 20

// Document fetches a file or an address as it is. Errors are sentences for the operator.
func (f *Fetcher) Document(ctx context.Context, r Ref) ([]byte, error) {
	ctx, cancel := f.Bounded(ctx)
	defer cancel()
	switch r.scheme {
	case schemeFile:
		info, err := os.Stat(r.path)
		if err == nil && info.Size() > maxDocument {
			return nil, fmt.Errorf("%s: it is over %d MiB", r.path, maxDocument>>20)
		}
		raw, _, err := fileid.Read(r.path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.path, err)
		}
		return raw, nil
	case schemeOCI:
		return nil, fmt.Errorf("%s is an image, and no document", r)
	}
	raw, err := f.get(ctx, r)
	return raw, failure(r, err)
}

// get fetches an address.
func (f *Fetcher) get(ctx context.Context, r Ref) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", f.agent())
	res, err := f.client(r).Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, &statusError{code: res.StatusCode}
	}
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxDocument+1))
	if err == nil && len(raw) > maxDocument {
		err = fmt.Errorf("it is over %d MiB", maxDocument>>20)
	}
	return raw, err
}

// Examine reads the manifest of an image and reports whether it has a WebAssembly module, with its digest.
func (f *Fetcher) Examine(ctx context.Context, r Ref) (digest string, module bool, err error) {
	if r.scheme != schemeOCI {
		return "", false, fmt.Errorf("%s is no image of a registry", r)
	}
	ctx, cancel := f.Bounded(ctx)
	defer cancel()
	repo, err := f.repository(ctx, r)
	if err != nil {
		return "", false, failure(r, err)
	}
	top, _, m, err := fetchManifest(ctx, repo, r.reference())
	if err != nil {
		return "", false, failure(r, err)
	}
	for _, d := range m.Layers {
		module = module || isModule(d.MediaType)
	}
	return top.Digest.String(), module, nil
}
