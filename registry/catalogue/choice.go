package catalogue

import (
	"encoding/json"
	"maps"
	"strings"

	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
)

// Choice is what a plugin chose to show of its manifest, for each list it spoke of. It never changes; nil chose nothing.
type Choice struct {
	lists map[listName]map[string]bool
}

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

func kindsOf(l listName) []manifest.Kind {
	switch l {
	case listTools:
		return []manifest.Kind{manifest.Tool}
	case listPrompts:
		return []manifest.Kind{manifest.Prompt}
	}
	return []manifest.Kind{manifest.Resource, manifest.Template}
}

// ListChanged is a plugin's notice notifications/{list}/list_changed about itself: visible names what it shows from
// now on; else show and hide name what it shows and hides beside what it did before.
type ListChanged struct {
	list                listName
	visible, show, hide map[string]bool // visible is nil if it is not said
}

// ParseListChanged reads the notice; false if it names nothing: then it changes nothing, since the manifest is the
// whole of what a plugin may ever offer.
func ParseListChanged(method string, params json.RawMessage) (ListChanged, bool) {
	n := ListChanged{list: listName(strings.TrimSuffix(strings.TrimPrefix(method, "notifications/"), "/list_changed"))}
	if raw := rawjson.Get(params, "visible"); !rawjson.IsNull(raw) {
		var ok bool
		n.visible, ok = namesIn(raw)
		return n, ok
	}
	var shows, hides bool
	n.show, shows = namesIn(rawjson.Get(params, "show"))
	n.hide, hides = namesIn(rawjson.Get(params, "hide"))
	return n, shows || hides
}

// namesIn reads an array of names; false if it is none.
func namesIn(raw json.RawMessage) (map[string]bool, bool) {
	list, err := rawjson.Elements(raw)
	if err != nil || len(list) > manifest.MaxEntries {
		return nil, false
	}
	set := make(map[string]bool, len(list))
	for _, raw := range list {
		if id, ok := rawjson.String(raw); ok {
			set[id] = true
		}
	}
	return set, true
}

// After is the choice of a plugin with this manifest once it has given notice. Names that the manifest does not have
// show nothing.
func (c *Choice) After(n ListChanged, m *manifest.Manifest) *Choice {
	next := &Choice{lists: map[listName]map[string]bool{}}
	if c != nil {
		next.lists = maps.Clone(c.lists)
	}
	if n.visible != nil {
		next.lists[n.list] = n.visible
		return next
	}
	set, ok := next.lists[n.list]
	if set = maps.Clone(set); !ok {
		set = shownBy(m, n.list)
	}
	maps.Copy(set, n.show)
	keepKnown(m, n.list, set)
	maps.DeleteFunc(set, func(name string, _ bool) bool { return n.hide[name] })
	next.lists[n.list] = set
	return next
}

// keepKnown takes out what the manifest does not have, so that a plugin cannot grow its choice for ever.
func keepKnown(m *manifest.Manifest, l listName, set map[string]bool) {
	known := map[string]bool{}
	for _, k := range kindsOf(l) {
		for _, e := range m.Entries(k) {
			known[e.ID] = true
		}
	}
	maps.DeleteFunc(set, func(name string, _ bool) bool { return !known[name] })
}

// shownBy is what is shown of a list before the plugin says anything.
func shownBy(m *manifest.Manifest, l listName) map[string]bool {
	set := map[string]bool{}
	for _, k := range kindsOf(l) {
		for _, e := range m.Entries(k) {
			if !e.Hidden {
				set[e.ID] = true
			}
		}
	}
	return set
}

// has looks an entry up; ok is false if the plugin never spoke of its list.
func (c *Choice) has(k manifest.Kind, id string) (shown, ok bool) {
	if c == nil {
		return false, false
	}
	set, ok := c.lists[listOf(k)]
	return set[id], ok
}
