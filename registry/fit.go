package registry

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/argument"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
)

// shapes are the entries of a plugin as grants want to know them: what each can be called with.
func shapes(m *manifest.Manifest) []grant.Shape {
	var all []grant.Shape
	for _, k := range []manifest.Kind{manifest.Tool, manifest.Prompt, manifest.Resource, manifest.Template} {
		for _, e := range m.Entries(k) {
			all = append(all, grant.Shape{
				Entry: grant.Entry{Kind: string(k), Name: e.ID},
				Binds: func(path []string) error { return binds(k, e, path) },
			})
		}
	}
	return all
}

// binds says why an entry has no value for an argument, nil if it may have one.
func binds(k manifest.Kind, e manifest.Entry, path []string) error {
	name := strings.Join(path, ".")
	switch {
	case k == manifest.Tool:
		return argument.InSchema(e.Members.Get("inputSchema"), path)
	case k == manifest.Prompt && hasArgument(e.Members.Get("arguments"), name),
		k == manifest.Template && slices.Contains(e.Pattern.Names(), name):
		return nil
	}
	return fmt.Errorf("there is no argument %q", name)
}

func hasArgument(raw json.RawMessage, name string) bool {
	all, err := rawjson.Elements(raw)
	return err == nil && slices.ContainsFunc(all, func(a json.RawMessage) bool {
		n, ok := rawjson.String(rawjson.Get(a, "name"))
		return ok && n == name
	})
}

// fitting binds the grants of a plan to what the plugin offers. The error names the line.
func (p *plan) fitting() (*grant.Set, error) {
	m := p.manifest()
	if m == nil || !p.config.Grants.Varies() {
		return p.config.Grants, nil
	}
	return p.config.Grants.Fit(shapes(m))
}

// manifest is what the plugin says about itself; nil if nobody knows yet.
func (p *plan) manifest() *manifest.Manifest {
	switch {
	case p.code != nil:
		return p.code.Manifest
	case p.module != nil:
		return p.module.Manifest
	}
	return nil
}

// checkFit finds lines of new configurations that do not fit the plugins that are loaded. r.mu must be held.
func (r *Registry) checkFit(configs map[string]Config) error {
	before := r.configs
	r.configs = configs
	defer func() { r.configs = before }()
	for _, p := range r.plans() {
		if p.err != nil || p.held != nil || p.config.Disabled {
			continue
		}
		if _, err := p.fitting(); err != nil {
			return fmt.Errorf("plugin %q: %w", p.name, err)
		}
	}
	return nil
}
