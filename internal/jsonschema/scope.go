package jsonschema

import (
	"net/url"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// scopes sets the resource of each rule. $dynamicRef and $recursiveRef depend on the resources entered during
// evaluation, which the library does not expose. It does expose the location of each subschema, and the census
// those of each $id and $dynamicAnchor.
func (t *translator) scopes(c *jsonschema.Compiler, seen *census) {
	for _, pointer := range slices.Concat(seen.IDs, seen.Anchors) {
		// Schema-like data, such as in an enum, may fail to compile. No reference leads there.
		if s, err := c.Compile(baseURL + "#" + (&url.URL{Path: pointer}).EscapedPath()); err == nil {
			t.rule(s)
		}
	}
	t.finish()
	roots := map[string]*resource{}
	t.resources(c, roots)
	for s, r := range t.rules {
		r.resource = nearest(roots, s.Location)
		if r.anchor != "" {
			r.resource.anchors[r.anchor] = r
		}
	}
}

// resources adds the root of each document and each schema with an $id.
func (t *translator) resources(c *jsonschema.Compiler, roots map[string]*resource) {
	documents := map[string]bool{}
	for s, r := range t.rules {
		document, pointer, _ := strings.Cut(s.Location, "#")
		documents[document] = true
		if s.ID != "" || pointer == "" {
			roots[s.Location] = newResource(r, s)
		}
	}
	for document := range documents {
		if roots[document+"#"] != nil {
			continue
		}
		if s, err := c.Compile(document); err == nil {
			roots[document+"#"] = newResource(t.rule(s), s)
		} else {
			roots[document+"#"] = &resource{anchors: map[string]*rule{}}
		}
	}
	t.finish()
}

func newResource(r *rule, s *jsonschema.Schema) *resource {
	return &resource{root: r, recursive: s.RecursiveAnchor, anchors: map[string]*rule{}}
}

// nearest returns the resource that contains the schema at location.
func nearest(roots map[string]*resource, location string) *resource {
	for {
		if r := roots[location]; r != nil {
			return r
		}
		i := strings.LastIndexByte(location, '/')
		if i < 0 || !strings.Contains(location[:i], "#") {
			document, _, _ := strings.Cut(location, "#")
			if r := roots[document+"#"]; r != nil {
				return r
			}
			return &resource{anchors: map[string]*rule{}}
		}
		location = location[:i]
	}
}
