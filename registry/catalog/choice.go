package catalog

import (
	"encoding/json"
	"maps"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
)

// Choice records the entries of its manifest that a plugin shows, for each list it changed. It is immutable; nil holds
// no choice.
type Choice struct {
	lists map[listName]map[string]bool
}

// listName is the list that a list_changed notification is about.
type listName string

const (
	listTools     listName = "tools"
	listPrompts   listName = "prompts"
	listResources listName = "resources" // and templates
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

// ListChanged is a plugin's notifications/{list}/list_changed about itself. visible replaces the visible entries;
// otherwise show and hide change the entries that were visible before.
type ListChanged struct {
	list                listName
	visible, show, hide map[string]bool // visible is nil if absent
}

// ParseListChanged parses the notification. It returns false if there are no names in it: it then changes nothing,
// since a plugin can never offer more than its manifest.
func ParseListChanged(method string, params json.RawMessage) (ListChanged, bool) {
	n := ListChanged{list: listName(strings.TrimSuffix(strings.TrimPrefix(method, "notifications/"), "/list_changed"))}
	if raw := jsonraw.Get(params, "visible"); !jsonraw.IsNull(raw) {
		var ok bool
		n.visible, ok = namesIn(raw)
		return n, ok
	}
	var shows, hides bool
	n.show, shows = namesIn(jsonraw.Get(params, "show"))
	n.hide, hides = namesIn(jsonraw.Get(params, "hide"))
	return n, shows || hides
}

// namesIn parses an array of names; false if raw is not an array, or too long.
func namesIn(raw json.RawMessage) (map[string]bool, bool) {
	list, err := jsonraw.Elements(raw)
	if err != nil || len(list) > manifest.MaxEntries {
		return nil, false
	}
	set := make(map[string]bool, len(list))
	for _, raw := range list {
		if id, ok := jsonraw.String(raw); ok {
			set[id] = true
		}
	}
	return set, true
}

// After returns the choice of a plugin with this manifest after the notification. Names not in the manifest are
// ignored.
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

// keepKnown drops names not in the manifest, so that a plugin cannot grow its choice without limit.
func keepKnown(m *manifest.Manifest, l listName, set map[string]bool) {
	known := map[string]bool{}
	for _, k := range kindsOf(l) {
		for _, e := range m.Entries(k) {
			known[e.ID] = true
		}
	}
	maps.DeleteFunc(set, func(name string, _ bool) bool { return !known[name] })
}

// shownBy returns the entries of a list that the manifest itself shows.
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

// has looks an entry up; ok is false if the plugin made no choice for its list.
func (c *Choice) has(k manifest.Kind, id string) (shown, ok bool) {
	if c == nil {
		return false, false
	}
	set, ok := c.lists[listOf(k)]
	return set[id], ok
}
