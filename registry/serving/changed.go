package serving

import (
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/registry/catalogue"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
)

// changedFunc takes a plugin's notice that one of its lists, or what a resource holds, is another now.
type changedFunc func(principal, method string, params json.RawMessage)

// resourceUpdated is the one notice that is about no list. It costs next to nothing, however often it
// comes: what it says is told together.
const resourceUpdated = "notifications/resources/updated"

// changed serves the notices of a plugin about itself.
func (g *Generation) changed(principal, method string, params json.RawMessage) {
	if method == resourceUpdated {
		g.updated(params)
		return
	}
	if n, ok := catalogue.ParseListChanged(method, params); ok {
		g.choose(principal, n)
		g.plugin.Relist()
	}
}

// updated serves notifications/resources/updated {uri}: whoever subscribed to the resource is told. A
// plugin can speak of its own resources only; of others it is not heard.
func (g *Generation) updated(params json.RawMessage) {
	uri, _ := rawjson.String(rawjson.Get(params, "uri"))
	if len(uri) <= manifest.MaxURI && g.plugin.Current() == g && g.offer.Load().Serves(uri) {
		g.plugin.Updated(uri)
	}
}

func (g *Generation) choose(principal string, n catalogue.ListChanged) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.chosen = g.chosen.After(principal, n, g.publish.Manifest)
}
