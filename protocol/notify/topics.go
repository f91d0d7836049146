package notify

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
)

// MaxTopics is the maximum number of resources, or of tasks, per listener or legacy session. It limits the
// comparisons per change.
const MaxTopics = 1024

// Topics are subscribed or changed lists and resources.
type Topics struct {
	tools, prompts, resources bool
	uris                      map[string]bool // of resources
}

// in returns the part of a change covered by these topics. owner returns the plugin of a resource that the caller sees,
// else "". An update of a resource that the caller no longer sees is left out.
func (t *Topics) in(c catalog.Change, owner func(uri string) string) Topics {
	news := Topics{tools: t.tools && c.Tools, prompts: t.prompts && c.Prompts, resources: t.resources && c.Resources}
	if len(c.Updated) == 0 && len(c.Replaced) == 0 {
		return news
	}
	for uri := range t.uris {
		if !c.Updated[uri] && len(c.Replaced) == 0 {
			continue
		}
		if plugin := owner(uri); plugin != "" && (c.Updated[uri] || c.Replaced[plugin]) {
			news.subscribe(uri)
		}
	}
	return news
}

// add adds the topics of o.
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

// Messages returns the notifications for these topics, with meta as _meta unless it is nil.
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
