package source

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/minisign"
	"github.com/sallyport-mcp/sallyport/internal/sigstore"
)

// Policy is the operator's requirement for plugins of some sources. The zero value takes unsigned plugins.
type Policy struct {
	Refuse  bool           // nothing is taken
	Keys    []minisign.Key // one of them has to have signed; none requires no signature of minisign
	Require []Identity     // one of them has to have signed; none requires no signature of sigstore
}

// Signed describes the signature that a policy requires.
type Signed struct {
	By         string               // the signer, in words; "" if no signature is required
	Provenance *sigstore.Provenance // of the build, as a required signer states it; nil if none does
}

// ErrRefused is returned for a source from which nothing is taken.
var ErrRefused = errors.New("the configuration refuses this source")

// Check returns the signer of an artifact, or why the policy refuses it. The verifier is for policies that require
// identities, whose bundles FetchBundles has fetched.
func (p Policy) Check(ctx context.Context, a *Artifact, v sigstore.Verifier) (Signed, error) {
	switch {
	case p.Refuse:
		return Signed{}, ErrRefused
	case len(p.Require) > 0:
		return p.signedBy(ctx, a, v)
	case len(p.Keys) == 0:
		return Signed{}, nil
	}
	by, err := p.signedWith(a)
	return Signed{By: by}, err
}

// signedWith returns the key of minisign that signed an artifact, in words.
func (p Policy) signedWith(a *Artifact) (signer string, err error) {
	switch {
	case a.Signature == nil:
		return "", fmt.Errorf("it is not signed, and a signature by %s is required", p.names())
	case a.Tool != nil && !a.whole:
		return "", errors.New("its tool file is not covered by the signature: sign an archive of both")
	}
	s, err := minisign.ParseSignature(a.Signature)
	if err != nil {
		return "", err
	}
	for _, k := range p.Keys {
		var other *minisign.KeyError
		err := k.Verify(a.signed, s)
		if errors.As(err, &other) {
			continue
		}
		return "minisign " + k.ID(), err
	}
	return "", fmt.Errorf("it is signed with the key %s, and a signature by %s is required", s.ID(), p.names())
}

// names lists the keys.
func (p Policy) names() string {
	var ids []string
	for _, k := range p.Keys {
		ids = append(ids, k.ID())
	}
	return strings.Join(ids, " or ")
}

// Rule is the policy for the sources that match a pattern.
type Rule struct {
	Pattern string // a source, or its beginning and "**"
	Policy
}

// Covers reports whether a rule holds for a source, in any spelling of its host and path, and with any query unless the
// pattern has one.
func (r Rule) Covers(from string) bool {
	from = plainAddress(from)
	if path, _, query := strings.Cut(from, "?"); query && strings.HasPrefix(from, schemeHTTP) && !strings.Contains(r.Pattern, "?") {
		from = path // servers of files pass over a query
	}
	beginning, open := strings.CutSuffix(r.Pattern, "**")
	beginning = plainAddress(beginning)
	if open && from+":" == beginning { // an image that is named by its digest alone can have any tag
		return true
	}
	return open && strings.HasPrefix(from, beginning) || from == beginning
}

// plainAddress returns a source or a pattern in one spelling: the host in lower case, without the default port and the
// dot of a full name, Docker's registry by its short name, no letter or digit of the path as an escape, and the names of a
// repository in lower case where the host does not tell them apart.
func plainAddress(text string) string {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return text
	}
	host, below, slash := strings.Cut(rest, "/")
	scheme = strings.ToLower(scheme)
	host = plainHost(strings.ToLower(host), scheme)
	if host == "registry-1.docker.io" || host == "index.docker.io" {
		host = "docker.io"
	}
	if slash {
		below = "/" + below
	}
	below = plainEscapes(below)
	if slices.Contains(foldingHosts, host) {
		below = foldNames(below)
	}
	return scheme + "://" + host + below
}

// foldingHosts serve one repository under every case of its owner's name and its own.
var foldingHosts = []string{"github.com", "www.github.com", "codeload.github.com", "raw.githubusercontent.com"}

// foldNames returns a path with its first two names in lower case.
func foldNames(path string) string {
	end := len(path)
	if names := strings.SplitN(path, "/", 4); len(names) == 4 {
		end -= len(names[3])
	}
	return strings.ToLower(path[:end]) + path[end:]
}

// plainHost returns a host in lower case without the dot of a full name, and its port, if that is not the default of the
// scheme, without zeros before it.
func plainHost(host, scheme string) string {
	name, port := host, ""
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		name, port = host[:i], strings.TrimLeft(host[i+1:], "0")
	}
	name = strings.TrimSuffix(name, ".")
	if port == "" || port == "443" && scheme != schemeHTTP || port == "80" && scheme == schemeHTTP {
		return name
	}
	return name + ":" + port
}

// plainEscapes decodes the escapes of characters that never need one, and those of slashes, which servers decode too.
func plainEscapes(path string) string {
	var out strings.Builder
	for rest := path; rest != ""; {
		at := strings.IndexByte(rest, '%')
		if at < 0 || at+3 > len(rest) {
			out.WriteString(rest)
			break
		}
		out.WriteString(rest[:at])
		escape := strings.ToUpper(rest[at : at+3])
		if c, err := url.PathUnescape(escape); err == nil && (url.PathEscape(c) == c || c == "/") {
			escape = c
		}
		out.WriteString(escape)
		rest = rest[at+3:]
	}
	return out.String()
}

// PolicyFor returns the policy of a source: that of the longest pattern that covers it.
func PolicyFor(rules []Rule, from string) Policy {
	var best Rule
	for _, r := range rules {
		if r.Covers(from) && len(r.Pattern) > len(best.Pattern) {
			best = r
		}
	}
	return best.Policy
}

// CheckPattern returns an error for a pattern that covers sources that its author can hardly mean: oci://ghcr.io/acme**
// covers ghcr.io/acme-evil too.
func CheckPattern(pattern string) error {
	beginning, open := strings.CutSuffix(pattern, "**")
	switch {
	case strings.Contains(beginning, "*"):
		return errors.New("a star stands only at the end, as **")
	case open && beginning != "" && !strings.HasSuffix(beginning, "/") && !strings.HasSuffix(beginning, ":"):
		return errors.New("** follows a slash or a colon: oci://ghcr.io/acme/**")
	case pattern == "":
		return errors.New("a pattern is empty")
	case !open:
		_, err := Parse(pattern)
		return err
	}
	return nil
}
