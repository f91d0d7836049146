package source

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/internal/sigstore"
)

const (
	// bundleSuffix is added to the name of a file for that of its sigstore bundles.
	bundleSuffix = ".sigstore.json"
	// maxBundles limits the bundles of one plugin: a signature, provenance, and those of some more signers.
	maxBundles = 8
)

// signature is a sigstore bundle of an artifact.
type signature struct {
	bundle  []byte
	content []byte // the signed bytes
	err     error  // why it is not for the artifact; nil if that is for its bytes to tell
}

// verify returns the signer.
func (s signature) verify(ctx context.Context, v sigstore.Verifier) (sigstore.Signer, error) {
	if s.err != nil {
		return sigstore.Signer{}, s.err
	}
	signer, err := v.Verify(ctx, s.bundle, s.content)
	var fault *sigstore.Fault
	if errors.As(err, &fault) {
		err = &SignatureError{err, fault.Next()}
	}
	return signer, err
}

// FetchBundles fetches the sigstore bundles of an artifact, for a policy that requires identities: the file
// SOURCE.sigstore.json, with one bundle or several, or the referrers and cosign tags of an image.
func (f *Fetcher) FetchBundles(ctx context.Context, r Ref, a *Artifact) error {
	ctx, cancel := f.Bounded(ctx)
	defer cancel()
	var text []byte
	var err error
	switch r.scheme {
	case schemeFile:
		text, _, _ = fileid.Read(a.file + bundleSuffix) // a file that cannot be read is no signature
	case schemeOCI:
		return failure(r, f.imageBundles(ctx, r, a))
	default:
		text, err = f.beside(ctx, r, bundleSuffix, maxBundles*sigstore.MaxBundle)
	}
	for _, bundle := range split(text) {
		a.bundles = append(a.bundles, signature{bundle: bundle, content: a.signed})
	}
	return failure(r, err)
}

// split returns the JSON values of a text, at most maxBundles; a text that is not JSON is one value.
func split(text []byte) (all []json.RawMessage) {
	for d := json.NewDecoder(bytes.NewReader(text)); len(all) < maxBundles; {
		var one json.RawMessage
		err := d.Decode(&one)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return append(all, text)
		}
		all = append(all, one)
	}
	return all
}

// Get fetches an address of the web, at most max bytes of it. It is for files that have signatures of their own.
func (f *Fetcher) Get(ctx context.Context, address string, max int64) (status int, body []byte, err error) {
	r, err := web(address)
	if err != nil {
		return 0, nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, nil, err
	}
	res, err := f.client(r).Do(req)
	if err != nil {
		return 0, nil, failure(r, err)
	}
	defer res.Body.Close()
	body, err = bounded(res.Body, max)
	return res.StatusCode, body, failure(r, err)
}

// beside fetches the file of the web with a suffix to the name of a source; nil if there is none.
func (f *Fetcher) beside(ctx context.Context, r Ref, suffix string, max int64) ([]byte, error) {
	address := *r.url
	address.Path += suffix
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return nil, err
	}
	res, err := f.client(r).Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, nil
	}
	return io.ReadAll(io.LimitReader(res.Body, max+1))
}

// signCommand is the command that signs an artifact.
func (a *Artifact) signCommand() string {
	if a.manifest != nil {
		return "cosign sign " + strings.TrimPrefix(a.Origin.From, schemeOCI+"://") + "@" + a.Origin.Digest
	}
	return fmt.Sprintf("cosign sign-blob %s --bundle %[1]s%s", filepath.Base(a.file), bundleSuffix)
}
