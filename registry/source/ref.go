package source

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"oras.land/oras-go/v2/registry"

	"github.com/sallyport-mcp/sallyport/internal/fileid"
)

// The schemes of references.
const (
	schemeFile  = "file"
	schemeHTTP  = "http"
	schemeHTTPS = "https"
	schemeOCI   = "oci"
)

// maxRef limits a reference, in bytes; that of browsers' address bars.
const maxRef = 2048

// Ref names a plugin: a file, a folder, an address of the web, or an image of an OCI registry.
type Ref struct {
	scheme string
	path   string // of a file or folder, absolute
	url    *url.URL
	image  registry.Reference // without tag and digest
	tag    string
	digest string // the required digest of the image; "" is any

	// suggested means that an index named the reference. Then its host has to be public, unless it is by, the host of the
	// index itself.
	suggested bool
	by        string
}

// Parse parses a reference: a path, file://…, https://… or oci://REGISTRY/NAME[:TAG][@DIGEST].
func Parse(text string) (Ref, error) {
	if len(text) > maxRef {
		return Ref{}, fmt.Errorf("the source is over %d bytes long", maxRef)
	}
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		return local(text)
	}
	switch scheme = strings.ToLower(scheme); scheme {
	case schemeFile:
		u, err := url.Parse(text)
		if err != nil || u.Host != "" && u.Host != "localhost" || strings.HasPrefix(u.Path, "//") { // \\server\share on Windows
			return Ref{}, fmt.Errorf("%.200q names no file of this machine", text)
		}
		return local(filepath.FromSlash(u.Path))
	case schemeOCI:
		return image(rest)
	case schemeHTTP, schemeHTTPS:
		return web(text)
	}
	return Ref{}, fmt.Errorf("%.40q is no scheme of a source: give a path, https://… or oci://REGISTRY/NAME:TAG", scheme)
}

// local returns the reference of a path.
func local(name string) (Ref, error) {
	if name == "" {
		return Ref{}, errors.New("the source is empty")
	}
	abs, err := filepath.Abs(name)
	return Ref{scheme: schemeFile, path: abs}, err
}

// web returns the reference of an address.
func web(text string) (Ref, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "":
		return Ref{}, fmt.Errorf("%.200q is no address", text)
	case u.User != nil:
		return Ref{}, errors.New("the address has a password in it, which the lock file would keep: leave it out")
	}
	if err := plainASCII("host", u.Host); err != nil {
		return Ref{}, err
	}
	if u.Scheme = strings.ToLower(u.Scheme); u.Scheme == schemeHTTP && !isLoopback(u.Hostname()) {
		return Ref{}, fmt.Errorf("%s is not encrypted: use https://", u.Redacted())
	}
	for part := range strings.SplitSeq(u.Path, "/") {
		if part == ".." || part == "." || strings.Contains(part, `\`) {
			return Ref{}, fmt.Errorf("%.200q has a step up or a backslash in its path: write the address that it leads to", text)
		}
	}
	if strings.Contains(u.Path, "//") {
		return Ref{}, fmt.Errorf("%.200q has two slashes in its path: write one", text)
	}
	u.Fragment = ""
	return Ref{scheme: u.Scheme, url: u}, nil
}

// image returns the reference of an image, without its scheme.
func image(text string) (Ref, error) {
	if err := plainASCII("reference", text); err != nil {
		return Ref{}, err
	}
	name, digest, pinned := strings.Cut(text, "@")
	if _, ok := fileid.Hex(digest); pinned && !ok {
		return Ref{}, fmt.Errorf("%.100q is no digest: want sha256: and 64 digits in lower case", digest)
	}
	parsed, err := registry.ParseReference(name)
	if err != nil {
		return Ref{}, fmt.Errorf("%.200q is no image of a registry: want oci://REGISTRY/NAME:TAG", "oci://"+text)
	}
	r := Ref{scheme: schemeOCI, image: parsed, tag: parsed.Reference, digest: digest}
	if r.tag == "" && !pinned {
		r.tag = "latest"
	}
	r.image.Reference = ""
	return r, nil
}

// plainASCII refuses letters of other scripts, which look like those of another name.
func plainASCII(what, text string) error {
	for _, c := range text {
		if c <= ' ' || c >= 0x7f {
			return fmt.Errorf("the %s %.200q has the character %U, which looks like another one: write it in ASCII", what, text, c)
		}
	}
	return nil
}

// String returns the reference in canonical form, which Parse reads.
func (r Ref) String() string {
	switch r.scheme {
	case schemeFile:
		return r.path
	case schemeOCI:
		text := r.Moving()
		if r.digest != "" {
			text += "@" + r.digest
		}
		return text
	}
	return r.url.String()
}

// Moving returns the reference without a required digest: the place where newer versions appear.
func (r Ref) Moving() string {
	if r.scheme != schemeOCI {
		return r.String()
	}
	text := "oci://" + r.image.Registry + "/" + r.image.Repository
	if r.tag != "" {
		text += ":" + r.tag
	}
	return text
}

// Pattern returns the pattern of a rule that covers every version of an image, and other references alone.
func (r Ref) Pattern() string {
	if r.scheme != schemeOCI {
		return r.String()
	}
	return strings.TrimSuffix(r.Moving(), ":"+r.tag) + ":**"
}

// Fixed reports whether the reference can never name other bytes.
func (r Ref) Fixed() bool { return r.digest != "" }

// Names reports whether the reference requires a digest.
func (r Ref) Names(digest string) bool { return r.digest == digest }

// At returns the reference of an image with a required digest; other references stay.
func (r Ref) At(digest string) Ref {
	if r.scheme == schemeOCI {
		r.digest = digest
	}
	return r
}

// Suggested returns the reference as one that the document at another reference names: its host has to be public, or that
// of the document.
func (r Ref) Suggested(by Ref) Ref {
	r.suggested, r.by = true, by.host()
	return r
}

// named returns the host that may be on a private network, because the operator named it.
func (r Ref) named() string {
	if r.suggested && r.host() != r.by {
		return r.by
	}
	return r.host()
}

// Local reports whether the reference is a path of this machine.
func (r Ref) Local() bool { return r.scheme == schemeFile }

// stem returns the name of the plugin's file without its extension, and the extension.
func (r Ref) stem() (stem, ext string) {
	base := path.Base(r.image.Repository)
	switch r.scheme {
	case schemeFile:
		base = filepath.Base(r.path)
	case schemeHTTP, schemeHTTPS:
		base = path.Base(r.url.Path)
	case schemeOCI:
		return base, extModule
	}
	for _, ext := range extensions() {
		if stem, ok := cutSuffixFold(base, ext); ok && stem != "" {
			return stem, ext
		}
	}
	return base, ""
}

func cutSuffixFold(text, suffix string) (string, bool) {
	if n := len(text) - len(suffix); n >= 0 && strings.EqualFold(text[n:], suffix) {
		return text[:n], true
	}
	return text, false
}

// host returns the host and port that the reference names; "" for a path.
func (r Ref) host() string {
	switch {
	case r.scheme == schemeOCI:
		return withPort(r.image.Host(), "443")
	case r.url != nil && r.scheme == schemeHTTP:
		return withPort(r.url.Host, "80")
	case r.url != nil:
		return withPort(r.url.Host, "443")
	}
	return ""
}

// withPort adds the default port to a host without one.
func withPort(host, port string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	return net.JoinHostPort(strings.Trim(host, "[]"), port)
}

// isLoopback reports whether a host is this machine by its name.
func isLoopback(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return a.IsLoopback()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}
