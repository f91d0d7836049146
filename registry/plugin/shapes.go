package plugin

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
)

// Shapes returns the entries of a plugin with the arguments that grants may bind.
func Shapes(m *manifest.Manifest) []grant.Shape {
	var all []grant.Shape
	for _, k := range []manifest.Kind{manifest.Tool, manifest.Prompt, manifest.Resource, manifest.Template} {
		for _, e := range m.Entries(k) {
			all = append(all, grant.Shape{
				Entry: grant.Entry{Kind: string(k), Name: e.ID},
				Binds: func(path []string) error { return bindable(k, e, path) },
			})
		}
	}
	return all
}

// bindable reports why a grant cannot bind an argument of an entry; nil if it can.
func bindable(k manifest.Kind, e manifest.Entry, path []string) error {
	name := strings.Join(path, ".")
	switch {
	case k == manifest.Tool:
		return grant.CheckArgument(e.Members.Get("inputSchema"), path)
	case k == manifest.Prompt && hasArgument(e.Members.Get("arguments"), name),
		k == manifest.Template && slices.Contains(e.Pattern.Names(), name):
		return nil
	}
	return fmt.Errorf("there is no argument %q", name)
}

func hasArgument(raw json.RawMessage, name string) bool {
	all, err := jsonraw.Elements(raw)
	return err == nil && slices.ContainsFunc(all, func(a json.RawMessage) bool {
		n, ok := jsonraw.String(jsonraw.Get(a, "name"))
		return ok && n == name
	})
}
