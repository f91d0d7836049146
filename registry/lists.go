package registry

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
)

// changedFunc takes a plugin's notice that one of its lists, or what a resource holds, is another now.
type changedFunc func(method string, params json.RawMessage)

// resourceUpdated is the one notice that is about no list. It costs next to nothing, however often it
// comes: what it says is told together.
const resourceUpdated = "notifications/resources/updated"

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

// changed serves the notices of a plugin about itself.
func (g *generation) changed(method string, params json.RawMessage) {
	if method == resourceUpdated {
		g.updated(params)
		return
	}
	g.listChanged(method, params)
}

// updated serves notifications/resources/updated {uri}: whoever subscribed to the resource is told. A
// plugin can speak of its own resources only; of others it is not heard.
func (g *generation) updated(params json.RawMessage) {
	uri, _ := rawjson.String(rawjson.Get(params, "uri"))
	if len(uri) <= manifest.MaxURI && g.plugin.get() == g && g.offers(uri) {
		g.plugin.updated(uri)
	}
}

// offers reports whether a URI is that of a resource which g publishes.
func (g *generation) offers(uri string) bool {
	e := g.entries.Load()
	if e.published[entryKey{manifest.Resource, uri}] {
		return true
	}
	matches := func(t *Template) bool { return t.pattern.Match(uri) }
	return slices.ContainsFunc(e.templates, matches) && !slices.Contains(g.config.Hide, uri)
}

// listChanged serves notifications/{list}/list_changed. visible names what the plugin shows from now on;
// else show and hide name what it shows and hides beside what it did before. Names that its manifest
// does not have are ignored: the manifest is the whole of what it may ever offer. A notice without names
// changes nothing, since the manifest is the same.
func (g *generation) listChanged(method string, params json.RawMessage) {
	list := listName(strings.TrimSuffix(strings.TrimPrefix(method, "notifications/"), "/list_changed"))
	if raw := rawjson.Get(params, "visible"); !rawjson.IsNull(raw) {
		if set, ok := namesIn(raw); ok {
			g.choose(list, func(map[string]bool) map[string]bool { return set })
			g.plugin.relist()
		}
		return
	}
	show, shows := namesIn(rawjson.Get(params, "show"))
	hide, hides := namesIn(rawjson.Get(params, "hide"))
	if !shows && !hides {
		return
	}
	g.choose(list, func(set map[string]bool) map[string]bool {
		maps.Copy(set, show)
		g.keepKnown(list, set)
		maps.DeleteFunc(set, func(name string, _ bool) bool { return hide[name] })
		return set
	})
	g.plugin.relist()
}

// keepKnown takes out what the manifest does not have, so that a plugin cannot grow its choice for ever.
func (g *generation) keepKnown(l listName, set map[string]bool) {
	known := map[string]bool{}
	for _, k := range kindsOf(l) {
		for _, e := range g.manifest.Entries(k) {
			known[e.ID] = true
		}
	}
	maps.DeleteFunc(set, func(name string, _ bool) bool { return !known[name] })
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

// choice is what a plugin chose to show: for each list it spoke of, the names. Never changed.
type choice map[listName]map[string]bool

// choose replaces the names that are shown of one list; change gets those of before, to keep.
func (g *generation) choose(l listName, change func(before map[string]bool) map[string]bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	next := choice{}
	if g.chosen != nil {
		next = maps.Clone(*g.chosen)
	}
	before, ok := next[l]
	if !ok {
		before = g.manifestShows(l)
	}
	next[l] = change(maps.Clone(before))
	g.chosen = &next
}

// manifestShows is what is shown of a list before the plugin says anything.
func (g *generation) manifestShows(l listName) map[string]bool {
	set := map[string]bool{}
	for _, k := range kindsOf(l) {
		for _, e := range g.manifest.Entries(k) {
			if !e.Hidden {
				set[e.ID] = true
			}
		}
	}
	return set
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
