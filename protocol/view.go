package protocol

import (
	"encoding/json"
	"slices"

	"github.com/sallyport-mcp/sallyport/protocol/apps"
	"github.com/sallyport-mcp/sallyport/protocol/meta"
	"github.com/sallyport-mcp/sallyport/protocol/paramheader"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/protocol/search"
	"github.com/sallyport-mcp/sallyport/registry/catalogue"
)

// view is what this package makes of one snapshot of the catalogue: everything that need not be
// done again for each request. It never changes.
type view struct {
	snapshot   *catalogue.Snapshot
	tools      list
	resources  list
	templates  list
	prompts    list
	skills     list
	discover   json.RawMessage
	searchable []search.Tool // with Options.Search; as snapshot.Tools
	// free holds the tools whose arguments need no check beyond being an object.
	free map[*catalogue.Tool]bool
	// headers holds the tools that have header params, by public name.
	headers map[string][]HeaderParam
}

// current returns the view of the present catalogue. Only the first request after a change waits
// for one to be made.
func (s *Server) current() *view {
	snapshot := s.catalog.Snapshot()
	if v := s.view.Load(); v != nil && v.snapshot == snapshot {
		return v
	}
	s.buildView.Lock()
	defer s.buildView.Unlock()
	snapshot = s.catalog.Snapshot()
	if v := s.view.Load(); v != nil && v.snapshot == snapshot {
		return v
	}
	v := s.newView(snapshot)
	s.view.Store(v)
	return v
}

func (s *Server) newView(snap *catalogue.Snapshot) *view {
	v := &view{snapshot: snap, free: map[*catalogue.Tool]bool{}, headers: map[string][]HeaderParam{}}
	var tools, resources, templates, prompts entries
	for _, t := range snap.Tools {
		if !s.opts.Search {
			tools.add(s, t.Name, t.Definition, legacyTool)
		}
		v.learn(t)
	}
	if s.opts.Search {
		v.searchable = searchable(snap.Tools)
		for _, definition := range searchDefinitions() {
			tools.add(s, "", definition, unchanged)
		}
	}
	for _, r := range snap.Resources {
		resources.add(s, r.URI, r.Definition, unchanged)
	}
	for _, t := range snap.Templates {
		templates.add(s, t.URITemplate, t.Definition, unchanged)
	}
	for _, p := range snap.Prompts {
		prompts.add(s, p.Name, p.Definition, unchanged)
	}
	v.tools = s.newList("tools", tools)
	v.resources = s.newList("resources", resources)
	v.templates = s.newList("resourceTemplates", templates)
	v.prompts = s.newList("prompts", prompts)
	v.skills = s.skills(snap.Skills)
	v.discover = s.discoverResult(len(snap.Skills) > 0, slices.ContainsFunc(snap.Tools, func(t *catalogue.Tool) bool { return apps.HasPage(t.Definition) }))
	return v
}

// learn notes what calls to a tool will want to know.
func (v *view) learn(t *catalogue.Tool) {
	input := rawjson.Get(t.Definition, "inputSchema")
	if anyObject(input) {
		v.free[t] = true
	}
	if h, err := paramheader.Find(input); err == nil && len(h) > 0 { // the catalogue has no wrong ones
		v.headers[t.Name] = h
	}
}

// anyObject reports whether a schema accepts every object, as far as that is plain to see.
func anyObject(schema json.RawMessage) bool {
	s := rawjson.ScanObject(schema)
	for s.Next() {
		switch string(s.Key) {
		case "type":
			if string(s.Value) != `"object"` {
				return false
			}
		case "title", "description", "$schema", "$comment":
		case "properties":
			if string(s.Value) != "{}" {
				return false
			}
		case "additionalProperties":
			if string(s.Value) != "true" {
				return false
			}
		default:
			return false
		}
	}
	return s.Err() == nil
}

// entries are the definitions of one list, in both eras' forms.
type entries struct{ modern, legacy []json.RawMessage }

// add takes in one definition. One that is no object is left out: the catalogue has refused those.
func (e *entries) add(s *Server, name string, definition json.RawMessage, older func(rawjson.Object) rawjson.Object) {
	o, err := rawjson.ParseObject(definition)
	if err != nil {
		s.log.Error("definition left out of its list", "name", name, "error", err)
		return
	}
	meta.Strip(&o)
	e.modern = append(e.modern, rawjson.OneLine(o.Append(nil)))
	e.legacy = append(e.legacy, rawjson.OneLine(older(o).Append(nil)))
}

func unchanged(o rawjson.Object) rawjson.Object { return o }

// legacyTool leaves out an output schema that older clients take for a broken list: theirs are
// objects only. See request.older, which leaves out the result's part of it.
func legacyTool(o rawjson.Object) rawjson.Object {
	o.Delete("execution") // tasks are for modern clients
	if output := o.Get("outputSchema"); output != nil && string(rawjson.Get(output, "type")) != `"object"` {
		o.Delete("outputSchema")
	}
	return o
}
