package hostfuncs

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/egress"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// bind returns the grants bound to one call.
func (p *Policy) bind(c Call) *grant.Set {
	if !p.varies {
		return p.plugin.Grants
	}
	return p.bound(p.plugin.Grants, c)
}

// bound binds the values of a call in a set.
func (p *Policy) bound(s *grant.Set, c Call) *grant.Set { return s.Bind(p.values(c)) }

// values returns the values that a call binds in grants.
func (p *Policy) values(c Call) grant.Call {
	return grant.Call{
		Entry: c.Entry, Values: c.Values, Home: p.host.places.Home,
		URL: func(text string) (*url.URL, error) { return egress.ParseURL(text, nil) },
	}
}

// unfilled explains a denial by the grant that would cover the effect if the call bound its value: ": {args.x} of
// line 7 is not filled, since …". It is empty without such a grant. If no fs line remains, a value that an fs line
// rejected is named for any file effect: a plugin turns ../x into a path outside the line.
func (g *Gate) unfilled(e effect, d grant.Decision) string {
	if !g.policy.varies || d.Grant != nil || d.Beyond || d.SpellOut {
		return ""
	}
	all := g.policy.plugin.Grants.Unfilled(g.policy.values(g.call))
	i := slices.IndexFunc(all, func(u grant.Unfilled) bool {
		would := e.decide(u.Open)
		return would.Allowed || would.Ask
	})
	if i < 0 && g.kind(e).paths && !slices.ContainsFunc(g.grants.Grants(), func(l grant.Grant) bool { return l.Family == grant.FS && !l.Deny }) {
		i = slices.IndexFunc(all, func(u grant.Unfilled) bool { return u.Family == grant.FS && u.Given })
	}
	if i < 0 {
		return ""
	}
	return fmt.Sprintf(": %s of %s is not filled, since %s", all[i].Binding, lineOf(&grant.Grant{Line: all[i].Line}), g.redact(printable(all[i].Why)))
}

// askRoots binds {roots} when no other line allows a file effect, and reports whether any line needed it. The client
// is asked once per call, and only if it is local: folders of other machines do not apply here.
func (g *Gate) askRoots(f family) bool {
	if !f.paths || !g.grants.NeedsRoots() {
		return false
	}
	var folders []string
	if isLocal(g.call.Principal) {
		folders = g.rootFolders()
	}
	g.grants = g.grants.WithRoots(folders)
	return true
}

// rootFolders asks the client for its roots, and returns none without an answer. If the answer comes with a replay of
// the call, the guest is aborted here.
func (g *Gate) rootFolders() []string {
	a := g.journaledRound(g.until(), []runtime.Question{{Method: "roots/list", Params: json.RawMessage("{}")}}, g.ask)[0]
	var end *runtime.EndError
	if errors.As(a.Err, &end) {
		runtime.Abort(a.Err)
	}
	if a.Err != nil {
		return nil
	}
	answer, err := acceptRoots(nil, a.Result)
	if err != nil {
		return nil
	}
	var folders []string
	for s := jsonraw.ScanArray(jsonraw.Get(answer, "roots")); s.Next(); {
		uri, _ := jsonraw.String(jsonraw.Get(s.Value, "uri"))
		if folder, ok := rootFolder(uri); ok {
			folders = append(folders, folder)
			if real, err := filepath.EvalSymlinks(filepath.FromSlash(folder)); err == nil && real != filepath.FromSlash(folder) {
				folders = append(folders, real) // decisions are about the resolved path
			}
		}
	}
	return folders
}

// rootFolder returns the absolute path of a file:// URL of this machine.
func rootFolder(uri string) (string, bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" {
		return "", false
	}
	path := u.Path
	if len(path) > 2 && path[0] == '/' && path[2] == ':' { // /C:/work
		path = path[1:]
	}
	return path, filepath.IsAbs(filepath.FromSlash(path))
}

// isLocal reports whether a principal is a process of this machine, not an HTTP caller.
func isLocal(principal string) bool {
	return principal == "cli" || strings.HasPrefix(principal, "stdio:") || strings.HasPrefix(principal, "socket:")
}
