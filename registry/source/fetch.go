package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry/remote/retry"

	"github.com/sallyport-mcp/sallyport/hostfuncs/egress"
	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/internal/minisign"
	"github.com/sallyport-mcp/sallyport/internal/sigstore"
	"github.com/sallyport-mcp/sallyport/registry/lock"
	"github.com/sallyport-mcp/sallyport/registry/script"
	"github.com/sallyport-mcp/sallyport/registry/toolfile"
	"github.com/sallyport-mcp/sallyport/runtime/abi/command"
)

const (
	// maxPlugin limits a plugin file, in bytes, as the host does when it loads one.
	maxPlugin = 128 << 20
	// maxRedirects limits the redirects of one request; registries use one, to their storage.
	maxRedirects = 5
	// fetchTime is the default limit of one fetch: 128 MiB at 500 KB/s.
	fetchTime = 5 * time.Minute
	// retries limits how often a request is repeated that the server refused for now.
	retries = 3
)

// The extensions of plugin files.
const (
	extModule = ".wasm"
	extPrompt = ".prompt.md"
	extSkill  = ".skill"

	extManifest = ".json" // of an Extism plugin
)

// extensions returns the extensions of plugin files and of archives that hold one.
func extensions() []string {
	return []string{extModule, extPrompt, extSkill, extManifest, ".tar.gz", ".tgz", ".tar"}
}

// Artifact is a fetched plugin.
type Artifact struct {
	Origin  lock.Origin
	Stem    string // its file name at the source, without the extension
	Ext     string // ".wasm", ".prompt.md", ".skill" or ".json"
	Content []byte // of its file
	Tool    []byte // of its tool file; nil if it has none

	// Signature is that of minisign beside the source, or in the annotation of an image; nil if there is none. Policy
	// checks it.
	Signature []byte
	// Provenance is that of the build, as the verified signer states it; nil is none.
	Provenance *sigstore.Provenance

	file     string // its name at the source, a path of this machine for a local one
	signed   []byte // the bytes that the signature is for
	whole    bool   // they include the tool file
	bundles  []signature
	image    ocispec.Descriptor // of an image
	manifest []byte             // of that image, or its index; nil for a file
}

// Options configure a Fetcher. The zero value is usable.
type Options struct {
	Egress egress.Options
	// Named are hosts, each "host" or "host:port", that may be on a private network or on this machine.
	Named []string
	// Time limits one fetch; 0 is five minutes.
	Time time.Duration
	// Wait is the first pause before a refused request is repeated; 0 is 250 ms.
	Wait time.Duration
}

// Fetcher fetches plugins. It is safe for concurrent use.
type Fetcher struct {
	o Options
}

// NewFetcher returns a Fetcher.
func NewFetcher(o Options) *Fetcher {
	if o.Wait == 0 {
		o.Wait = 250 * time.Millisecond
	}
	if o.Time == 0 {
		o.Time = fetchTime
	}
	return &Fetcher{o}
}

// Bounded returns a context that ends at the limit of one fetch, for several requests that are one for the operator.
func (f *Fetcher) Bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, f.o.Time)
}

// Fetch fetches a plugin. Errors are sentences for the operator.
func (f *Fetcher) Fetch(ctx context.Context, r Ref) (*Artifact, error) {
	ctx, cancel := f.Bounded(ctx)
	defer cancel()
	switch r.scheme {
	case schemeFile:
		return fetchLocal(r)
	case schemeOCI:
		a, err := f.fetchImage(ctx, r)
		return a, failure(r, err)
	}
	a, err := f.fetchWeb(ctx, r)
	return a, failure(r, err)
}

// Newest returns the digest of the newest version at the source of a plugin. For a file or an address that is the digest
// of its content.
func (f *Fetcher) Newest(ctx context.Context, r Ref) (string, error) {
	if r.scheme != schemeOCI {
		a, err := f.Fetch(ctx, r)
		if err != nil {
			return "", err
		}
		return a.Origin.Digest, nil
	}
	ctx, cancel := f.Bounded(ctx)
	defer cancel()
	digest, err := f.resolveImage(ctx, r)
	return digest, failure(r, err)
}

// client returns a client for the host of a reference.
func (f *Fetcher) client(r Ref) *http.Client {
	named := []string{r.named()}
	for _, host := range f.o.Named {
		named = append(named, withPort(host, "443"), withPort(host, "80"))
	}
	base := &encrypted{RoundTripper: egress.NewTransport(f.o.Egress, named...)}
	return &http.Client{
		Transport: &retry.Transport{Base: base, Policy: f.policy},
		CheckRedirect: func(_ *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return errRedirects
			}
			return nil
		},
	}
}

var errRedirects = fmt.Errorf("more than %d redirects", maxRedirects)

// policy repeats requests that the server refused for now.
func (f *Fetcher) policy() retry.Policy {
	return &retry.GenericPolicy{
		Retryable: func(res *http.Response, err error) (bool, error) {
			if err != nil {
				return false, err // another try takes as long as this one
			}
			return res.StatusCode == http.StatusTooManyRequests || res.StatusCode >= 500, nil
		},
		Backoff: retry.ExponentialBackoff(f.o.Wait, 2, 0),
		MinWait: f.o.Wait, MaxWait: 20 * f.o.Wait, MaxRetry: retries,
	}
}

// encrypted refuses requests without TLS to other machines: a registry must not send a login into the open.
type encrypted struct{ http.RoundTripper }

// RoundTrip sends a request if it is encrypted, or stays on this machine.
func (e *encrypted) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != schemeHTTPS && !isLoopback(r.URL.Hostname()) {
		return nil, &plainError{r.URL.Host}
	}
	return e.RoundTripper.RoundTrip(r)
}

// plainError means that a server leads to a host without encryption.
type plainError struct{ host string }

// Error names the host.
func (e *plainError) Error() string {
	return "it leads to " + e.host + " without encryption, which is refused"
}

// fetchWeb fetches a file or an archive from the web.
func (f *Fetcher) fetchWeb(ctx context.Context, r Ref) (*Artifact, error) {
	content, err := f.download(ctx, r)
	if err != nil {
		return nil, err
	}
	a, err := artifactOf(r, content)
	if err == nil {
		a.Signature, err = f.beside(ctx, r, SignatureSuffix, minisign.MaxSignature)
	}
	return a, err
}

// download fetches a file from the web.
func (f *Fetcher) download(ctx context.Context, r Ref) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url.String(), nil)
	if err != nil {
		return nil, err
	}
	res, err := f.client(r).Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, &statusError{code: res.StatusCode}
	}
	if res.ContentLength > maxPlugin {
		return nil, tooLarge(res.ContentLength)
	}
	return bounded(res.Body, maxPlugin)
}

// SignatureSuffix is added to the name of a file for that of its minisign signature.
const SignatureSuffix = ".minisig"

// artifactOf returns the artifact of a file or an archive with its name.
func artifactOf(r Ref, content []byte) (*Artifact, error) {
	stem, ext := r.stem()
	a := &Artifact{file: r.path, Stem: stem, Ext: ext, Content: content, signed: content, Origin: lock.Origin{From: r.Moving(), Digest: fileid.Digest(content)}}
	if r.url != nil {
		a.file = r.url.Path
	}
	switch ext {
	case extModule, extPrompt, extSkill, extManifest:
		return a, nil
	case "":
		if script.Is(a.file) {
			return nil, errors.New("it is a script: sallyport build makes a module of it, or copy it with its imports into the plugin folder, which serves it as it is")
		}
		if strings.HasPrefix(string(content), "\x00asm") {
			a.Ext = extModule
			return a, nil
		}
		return nil, errors.New("it is no plugin file: want .wasm, .prompt.md, .skill, or a .tar.gz with one .wasm")
	}
	return a, a.unpack()
}

// unpack replaces an archive by the plugin in it.
func (a *Artifact) unpack() error {
	left := int64(maxUnpacked)
	members, err := unpacked(strings.NewReader(string(a.Content)), &left, func(name string) bool {
		return strings.HasSuffix(name, extModule) || toolfile.Is(name)
	})
	if err != nil {
		return err
	}
	var module string
	for name := range members {
		if !strings.HasSuffix(name, extModule) {
			continue
		}
		if module != "" {
			return fmt.Errorf("the archive has more than one plugin: %s and %s", min(module, name), max(module, name))
		}
		module = name
	}
	if module == "" {
		return errors.New("the archive has no .wasm file")
	}
	a.whole = true
	a.Stem, a.Ext, a.Content, a.Tool = strings.TrimSuffix(filepath.Base(module), extModule), extModule, members[module], members[toolfile.Beside(module)]
	return nil
}

// bounded reads everything, up to a limit.
func bounded(from io.Reader, limit int64) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(from, limit+1))
	if err == nil && int64(len(content)) > limit {
		err = tooLarge(0)
	}
	return content, err
}

// tooLarge returns the error for a file over the limit; 0 is an unknown size.
func tooLarge(size int64) error {
	if size > 0 {
		return fmt.Errorf("it has %d bytes, and a plugin at most %d MiB", size, maxPlugin>>20)
	}
	return fmt.Errorf("it is longer than %d MiB, the most that a plugin may have", maxPlugin>>20)
}

// fetchLocal reads a plugin file with its tool file, or the one of a folder.
func fetchLocal(r Ref) (*Artifact, error) {
	info, err := os.Stat(r.path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.path, fileid.Plain(err))
	}
	if info.IsDir() {
		if r.path, err = onlyPlugin(r.path); err != nil {
			return nil, err
		}
	}
	if toolfile.Is(r.path) {
		r.path = toolfile.Module(r.path)
	}
	content, _, err := fileid.Read(r.path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.path, err)
	}
	a, err := artifactOf(r, content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.path, err)
	}
	if sig, _, err := fileid.Read(r.path + SignatureSuffix); err == nil {
		a.Signature = sig
	}
	if beside := toolfile.Beside(r.path); a.Tool == nil && beside != "" {
		text, _, err := fileid.Read(beside)
		switch {
		case err == nil && len(text) > command.MaxSize:
			return nil, fmt.Errorf("%s: the file is over %d MiB", beside, command.MaxSize>>20)
		case err == nil:
			a.Tool = text
		case !errors.Is(err, os.ErrNotExist):
			return nil, fmt.Errorf("%s: %w", beside, err)
		}
	}
	return a, nil
}

// onlyPlugin returns the only plugin file of a folder.
func onlyPlugin(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	var found []string
	for _, e := range entries {
		name := strings.ToLower(e.Name())
		if !strings.HasPrefix(name, ".") && (strings.HasSuffix(name, extModule) || strings.HasSuffix(name, extPrompt) || strings.HasSuffix(name, extSkill)) {
			found = append(found, e.Name())
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("%s has no plugin file: want .wasm, .prompt.md or .skill", dir)
	case 1:
		return filepath.Join(dir, found[0]), notLinked(filepath.Join(dir, found[0]))
	}
	return "", fmt.Errorf("%s has %d plugins, %s and others: name one file", dir, len(found), found[0])
}

// notLinked returns an error for a link: in a folder of another author, notes.prompt.md could lead to a file with keys of
// the operator.
func notLinked(file string) error {
	to, err := os.Readlink(file)
	if err != nil {
		return nil // no link
	}
	return fmt.Errorf("%s is a link to %s: name the file, if that is the plugin", file, to)
}
