package hostfuncs

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// maxURI limits the URI of a resource to those that plugins publish, in bytes.
const maxURI = 8 << 10

// readAct is the effect in the words of denials, before the URI and the name of the plugin.
const readAct = "read the resource "

// readResource serves resources/read {uri} → {contents}: a resource of some plugin that the caller of the call may read,
// under that plugin's own grants and the ceilings of the calling plugin.
func readResource(ctx context.Context, g *Gate, params json.RawMessage, _ runtime.Streams) (json.RawMessage, error) {
	caller := g.policy.host.caller.Load()
	uri, ok := jsonraw.String(jsonraw.Get(params, "uri"))
	switch {
	case caller == nil:
		return nil, askErrorf(runtime.KindUnsupported, "resources/read is not available here")
	case !ok || len(uri) > maxURI || !isURI(uri):
		return nil, askErrorf(runtime.KindInvalid, "uri is the URI of a resource, of at most %d bytes", maxURI)
	}
	n := Nested{URI: uri, Principal: g.call.Principal, Roles: g.call.Roles}
	n.Plugin = (*caller).Publisher(n)
	act := readAct + uri
	if n.Plugin != "" {
		act += " of " + n.Plugin
	}
	var result json.RawMessage
	var err error
	err = g.pass(ctx, effect{
		family: "resources", act: act, target: cut(uri, maxAct),
		decide: func(s *grant.Set) grant.Decision { return s.Resource(n.Plugin, uri) },
		intent: "the read of the resource " + cut(uri, maxAct),
		entry:  callEntry("resources/read", &g.writes, params, &result),
		do: func(ctx context.Context, _ grant.Decision) error {
			result, err = g.nest(ctx, "the resource "+cut(uri, maxAct), n, (*caller).ReadResource)
			return err
		},
	})
	return result, err
}

// isURI reports whether a text has a scheme, and no character that a denial could be misread with.
func isURI(s string) bool {
	scheme, _, found := strings.Cut(s, ":")
	return found && scheme != "" && !strings.ContainsAny(s, " \"<>\\^`{|}") && printable(s) == s
}

func resourceFamily() family {
	read := func(s *grant.Set, name string) grant.Decision {
		uri, plugin, _ := strings.Cut(name, " of ")
		return s.Resource(plugin, uri)
	}
	return family{
		name: "resources", acts: []string{readAct + "URI of PLUGIN"}, explain: named("resources", readAct, read),
		methods: map[string]method{"resources/read": readResource},
		replay:  replayRecorded, bindable: true,
	}
}
