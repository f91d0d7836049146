package subscription

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
)

// MaxTopics is how many resources, or tasks, one listener or one legacy session may name: more
// than a person has open, and a bound on what a change has to be compared with.
const MaxTopics = 1024

// Topics are what somebody wants to be told of, or what there is to tell.
type Topics struct {
	tools, prompts, resources bool
	uris                      map[string]bool // of resources
}

// in returns the part of a change that is of these topics. owner finds the plugin of a resource.
func (t *Topics) in(c catalog.Change, owner func(uri string) string) Topics {
	news := Topics{tools: t.tools && c.Tools, prompts: t.prompts && c.Prompts, resources: t.resources && c.Resources}
	if len(c.Updated) == 0 && len(c.Replaced) == 0 {
		return news
	}
	for uri := range t.uris {
		if c.Updated[uri] || len(c.Replaced) > 0 && c.Replaced[owner(uri)] {
			news.subscribe(uri)
		}
	}
	return news
}

// add takes in what another has.
func (t *Topics) add(o Topics) {
	t.tools, t.prompts, t.resources = t.tools || o.tools, t.prompts || o.prompts, t.resources || o.resources
	for uri := range o.uris {
		t.subscribe(uri)
	}
}

func (t *Topics) subscribe(uri string) {
	if t.uris == nil {
		t.uris = map[string]bool{}
	}
	t.uris[uri] = true
}

// Messages are the notifications for these topics, with a _meta unless that is nil.
func (t *Topics) Messages(meta json.RawMessage) (all [][]byte) {
	say := func(method string, params jsonraw.Object) {
		if meta != nil {
			params.Set("_meta", meta)
		}
		all = append(all, jsonrpc.Notification(method, params))
	}
	for _, list := range []struct {
		changed bool
		name    string
	}{{t.tools, "tools"}, {t.prompts, "prompts"}, {t.resources, "resources"}} {
		if list.changed {
			say("notifications/"+list.name+"/list_changed", nil)
		}
	}
	for _, uri := range slices.Sorted(maps.Keys(t.uris)) {
		say("notifications/resources/updated", jsonraw.Object{{Key: "uri", Value: jsonraw.AppendString(nil, uri)}})
	}
	return all
}
