package registry

import (
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/registry/catalogue"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
)

// changedFunc takes a plugin's notice that one of its lists, or what a resource holds, is another now.
type changedFunc func(method string, params json.RawMessage)

// resourceUpdated is the one notice that is about no list. It costs next to nothing, however often it
// comes: what it says is told together.
const resourceUpdated = "notifications/resources/updated"

// changed serves the notices of a plugin about itself.
func (g *generation) changed(method string, params json.RawMessage) {
	if method == resourceUpdated {
		g.updated(params)
		return
	}
	if n, ok := catalogue.ParseListChanged(method, params); ok {
		g.choose(n)
		g.plugin.relist()
	}
}

// updated serves notifications/resources/updated {uri}: whoever subscribed to the resource is told. A
// plugin can speak of its own resources only; of others it is not heard.
func (g *generation) updated(params json.RawMessage) {
	uri, _ := rawjson.String(rawjson.Get(params, "uri"))
	if len(uri) <= manifest.MaxURI && g.plugin.get() == g && g.offer.Load().Serves(uri) {
		g.plugin.updated(uri)
	}
}

func (g *generation) choose(n catalogue.ListChanged) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.chosen = g.chosen.After(n, g.manifest)
}

// choice is what the plugin chose last; nil if it never did.
func (g *generation) choice() *catalogue.Choice {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.chosen
}

// publish decides what g offers, under its configuration and what the plugin itself shows and hides.
func (g *generation) publish() {
	p := catalogue.Plugin{
		Name: g.plugin.name, Manifest: g.manifest, Prefix: g.config.prefixed(), Only: g.config.Only, Hide: g.config.Hide,
		Chosen: g.choice(), Grants: g.config.Grants, Places: g.places, Server: g, Logger: g.log,
	}
	if g.code != nil {
		p.Skill = g.code.skill
	}
	if g.pinned != nil && g.module != nil {
		p.Approved = func(key string) bool { return g.pinned[key] == g.module.Hashes()[key] }
	}
	g.offer.Store(catalogue.Publish(p))
}
