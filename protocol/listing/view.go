package listing

import (
	"encoding/json"
	"log/slog"
	"slices"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/untrusted"
	"github.com/sallyport-mcp/sallyport/protocol/search"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
)

// View is the cached data of one catalog snapshot. It is immutable.
type View struct {
	Snapshot *catalog.Snapshot

	Tools, Resources, Templates, Prompts, Skills List

	// Discover is the answer to server/discover.
	Discover json.RawMessage
	// Index searches tools by words, with Options.Search.
	Index *search.Index

	free    map[*catalog.Tool]bool
	headers map[string][]untrusted.HeaderParam
}

// Free reports whether a tool accepts any arguments object, so that validation can be skipped.
func (v *View) Free(t *catalog.Tool) bool { return v.free[t] }

// Headers returns the arguments of the tool with that public name that are repeated in HTTP headers, in schema
// order, or nil if there are none or no such tool. The caller must not modify the slice.
func (v *View) Headers(tool string) []untrusted.HeaderParam { return v.headers[tool] }

func (o *Options) view(snap *catalog.Snapshot) *View {
	v := &View{Snapshot: snap, free: map[*catalog.Tool]bool{}, headers: map[string][]untrusted.HeaderParam{}}
	var tools, resources, templates, prompts, skills entries
	for _, t := range snap.Tools {
		if !o.Search {
			tools.add(o.Logger, t.Name, t.Definition, legacyTool)
		}
		v.learn(t)
	}
	if o.Search {
		v.Index = search.NewIndex(snap.Tools)
		for _, definition := range search.Definitions() {
			tools.add(o.Logger, "", definition, unchanged)
		}
	}
	for _, r := range snap.Resources {
		resources.add(o.Logger, r.URI, r.Definition, unchanged)
	}
	for _, t := range snap.Templates {
		templates.add(o.Logger, t.URITemplate, t.Definition, unchanged)
	}
	for _, p := range snap.Prompts {
		prompts.add(o.Logger, p.Name, p.Definition, unchanged)
	}
	for _, s := range snap.Skills {
		skills.add(o.Logger, s.Name, s.Entry, unchanged)
	}
	v.Tools = o.list("tools", tools)
	v.Resources = o.list("resources", resources)
	v.Templates = o.list("resourceTemplates", templates)
	v.Prompts = o.list("prompts", prompts)
	v.Skills = o.list("skills", skills)
	if o.Discover != nil {
		v.Discover = o.Discover(len(snap.Skills) > 0, slices.ContainsFunc(snap.Tools, hasPage))
	}
	return v
}

func hasPage(t *catalog.Tool) bool { return untrusted.HasUIPage(t.Definition) }

// learn caches the metadata that calls of a tool need.
func (v *View) learn(t *catalog.Tool) {
	input := jsonraw.Get(t.Definition, "inputSchema")
	if anyObject(input) {
		v.free[t] = true
	}
	if h, err := untrusted.FindHeaderParams(input); err == nil && len(h) > 0 { // the catalog has only valid ones
		v.headers[t.Name] = h
	}
}

// anyObject reports whether a schema obviously accepts every object.
func anyObject(schema json.RawMessage) bool {
	s := jsonraw.ScanObject(schema)
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

// entries are the definitions of one list in the forms of both eras.
type entries struct{ modern, legacy []json.RawMessage }

// add adds one definition. Definitions that are no objects are skipped; the catalog refuses them anyway.
func (e *entries) add(log *slog.Logger, name string, definition json.RawMessage, older func(jsonraw.Object) jsonraw.Object) {
	o, err := jsonraw.ParseObject(definition)
	if err != nil {
		log.Error("definition left out of its list", "name", name, "error", err)
		return
	}
	untrusted.StripMeta(&o)
	e.modern = append(e.modern, jsonraw.OneLine(o.Append(nil)))
	e.legacy = append(e.legacy, jsonraw.OneLine(older(o).Append(nil)))
}

func unchanged(o jsonraw.Object) jsonraw.Object { return o }

// legacyTool removes an output schema that is not for objects, as older clients reject the whole list for it. See
// answer.Readable for the result.
func legacyTool(o jsonraw.Object) jsonraw.Object {
	if output := o.Get("outputSchema"); output != nil && string(jsonraw.Get(output, "type")) != `"object"` {
		o.Delete("outputSchema")
	}
	return o
}
