package hostfuncs

import (
	"context"
	"net/url"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
)

// RootsLister is met by a Client that can say in which folders its user works.
type RootsLister interface {
	// Roots returns absolute paths, or why it cannot.
	Roots(ctx context.Context) ([]string, error)
}

// bind returns the grants as they hold for one call.
func (p *Policy) bind(c Call) *grant.Set {
	if !p.varies {
		return p.plugin.Grants
	}
	return p.plugin.Grants.Bind(grant.Call{
		Entry: c.Entry, Values: c.Values, Home: p.host.places.Home,
		URL: func(text string) (*url.URL, error) { return parseURL(text, nil) },
	})
}

// askRoots fills {roots} in when nothing else allows what a plugin wants of files, and reports whether
// there are lines that it filled. The client is asked once in a call, and only if it speaks for
// whoever sits at this machine: another's folders are no folders of this one.
func (g *Gate) askRoots(ctx context.Context, family string) bool {
	if family != "fs" || !g.grants.NeedsRoots() {
		return false
	}
	var folders []string
	if l, ok := g.call.Client.(RootsLister); ok && isLocal(g.call.Principal) {
		folders, _ = l.Roots(ctx) // without an answer there are none
	}
	g.grants = g.grants.WithRoots(folders)
	return true
}

// isLocal reports whether a principal is a process of this machine, not one that came over HTTP.
func isLocal(principal string) bool {
	return principal == "cli" || strings.HasPrefix(principal, "stdio:") || strings.HasPrefix(principal, "socket:")
}
