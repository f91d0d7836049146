package registry

import (
	"encoding/json"
	"strings"

	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
)

// changedFunc takes a plugin's notice that one of its lists is another now.
type changedFunc func(method string, params json.RawMessage)

// listName is the list that a list_changed notification is about.
type listName string

const (
	listTools     listName = "tools"
	listPrompts   listName = "prompts"
	listResources listName = "resources" // templates too
)

func listOf(k manifest.Kind) listName {
	switch k {
	case manifest.Tool:
		return listTools
	case manifest.Prompt:
		return listPrompts
	}
	return listResources
}

// changed serves notifications/{list}/list_changed: visible names what the plugin shows from now on,
// of all that its manifest has. Other names are ignored: the manifest is the whole of what it may
// ever offer. Without visible nothing is another, since the manifest is not.
func (g *generation) changed(method string, params json.RawMessage) {
	name := strings.TrimSuffix(strings.TrimPrefix(method, "notifications/"), "/list_changed")
	visible, err := rawjson.Elements(rawjson.Get(params, "visible"))
	if err != nil || len(visible) > manifest.MaxEntries {
		return
	}
	set := make(map[string]bool, len(visible))
	for _, raw := range visible {
		if id, ok := rawjson.String(raw); ok {
			set[id] = true
		}
	}
	g.choose(listName(name), set)
	g.plugin.relist()
}

// choice is what a plugin chose to show: for each list it spoke of, the names. Never changed.
type choice map[listName]map[string]bool

func (g *generation) choose(l listName, set map[string]bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	next := choice{l: set}
	if g.chosen != nil {
		for other, s := range *g.chosen {
			if other != l {
				next[other] = s
			}
		}
	}
	g.chosen = &next
}

// choice is what the plugin chose last; nil if it never did.
func (g *generation) choice() *choice {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.chosen
}

// has looks an entry up; ok is false if the plugin never spoke of its list.
func (c *choice) has(k manifest.Kind, id string) (shown, ok bool) {
	if c == nil {
		return false, false
	}
	set, ok := (*c)[listOf(k)]
	return set[id], ok
}
