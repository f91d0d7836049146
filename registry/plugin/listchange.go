package plugin

import (
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
)

// changedFunc handles a plugin's notification that one of its lists, or the contents of a resource, changed.
type changedFunc func(principal, method string, params json.RawMessage)

// resourceUpdated is the only notification that is not about a list. It is cheap at any rate, since updates are
// coalesced.
const resourceUpdated = "notifications/resources/updated"

// changed handles the notifications of a plugin about itself.
func (g *Generation) changed(principal, method string, params json.RawMessage) {
	if method == resourceUpdated {
		g.updated(params)
		return
	}
	if n, ok := catalog.ParseListChanged(method, params); ok {
		g.choose(principal, n)
		g.plugin.Relist()
	}
}

// updated handles notifications/resources/updated {uri} and notifies the subscribers of the resource. Notifications
// about resources of other plugins are ignored.
func (g *Generation) updated(params json.RawMessage) {
	uri, _ := jsonraw.String(jsonraw.Get(params, "uri"))
	if len(uri) <= manifest.MaxURI && g.plugin.Current() == g && g.offer.Load().Serves(uri) {
		g.plugin.Updated(uri)
	}
}

func (g *Generation) choose(principal string, n catalog.ListChanged) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.chosen = g.chosen.After(principal, n, g.publish.Manifest)
}
