// Package hypermcp converts a configuration of hyper-mcp to one of Sallyport. Settings without an equivalent are left
// out with a remark each. A plugin that would gain permissions or publish more than before is written as disabled.
package hypermcp

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
)

// Remark is a difference between the old and the new configuration.
type Remark struct {
	Line int // line in the old configuration
	Text string
}

// Offer lists the names a plugin publishes; resources and templates have name and URI.
type Offer struct {
	Tools, Prompts       []string
	Resources, Templates [][2]string
}

// Options configure Import.
type Options struct {
	// Dir is the folder of the configuration, the base of relative paths.
	Dir string
	// Offer returns the names that a plugin file publishes; if nil, name patterns cannot be resolved.
	Offer func(file string) (Offer, error)
}

// Import converts a configuration to YAML text. It returns a *grant.ParseError with the line at fault, or if there are
// no plugins.
func Import(root grant.Node, o Options) (text string, remarks []Remark, err error) {
	t := &turned{Options: o, names: map[string]bool{}}
	for _, n := range root.Nodes {
		switch n.Key {
		case "plugins":
			err = t.plugins(n)
		case "auths":
			t.remark(n, "auths: not carried over: plugins are files here, and are not fetched")
		case "oci":
			t.remark(n, "oci: not carried over: plugins are files here; check signatures before you save one")
		case "dynamic_loading":
			t.remark(n, "dynamic_loading: not carried over: no tool that is published here loads plugins")
		default:
			t.remark(n, "%s: not known, not carried over", n.Key)
		}
		if err != nil {
			return "", nil, err
		}
	}
	if len(t.names) == 0 {
		return "", nil, &grant.ParseError{Line: 1, Message: "the configuration has no plugins"}
	}
	slices.SortStableFunc(t.remarks, func(a, b Remark) int { return a.Line - b.Line })
	return "plugins:\n" + t.text.String(), t.remarks, nil
}

// turned is the state of a conversion.
type turned struct {
	Options
	text    strings.Builder
	remarks []Remark
	names   map[string]bool
}

func (t *turned) remark(n grant.Node, format string, args ...any) {
	t.remarks = append(t.remarks, Remark{n.Line, fmt.Sprintf(format, args...)})
}

// plugins reads the map of plugins, or the list of older versions.
func (t *turned) plugins(n grant.Node) error {
	if n.Kind == grant.Scalar {
		return &grant.ParseError{Line: n.Line, Message: "plugins: want a map of names to settings"}
	}
	for _, p := range n.Nodes {
		name := p.Key
		if n.Kind == grant.List {
			name = member(p, "name").Value
		}
		if p.Kind != grant.Map || name == "" {
			return &grant.ParseError{Line: p.Line, Message: "a plugin has a name and a url"}
		}
		if err := t.plugin(name, p); err != nil {
			return err
		}
	}
	return nil
}

// member returns the value of a key in a map; its Line is 0 if there is none.
func member(n grant.Node, key string) grant.Node {
	for _, m := range n.Nodes {
		if m.Key == key {
			return m
		}
	}
	return grant.Node{}
}

// texts returns the scalars of a list; null is empty.
func (t *turned) texts(n grant.Node, where string) []grant.Node {
	if n.Kind == grant.List {
		return slices.DeleteFunc(slices.Clone(n.Nodes), func(e grant.Node) bool {
			if e.Kind != grant.Scalar {
				t.remark(e, "%s: not a text, not carried over", where)
			}
			return e.Kind != grant.Scalar
		})
	}
	if !null(n) {
		t.remark(n, "%s: not a list, not carried over", where)
	}
	return nil
}

func null(n grant.Node) bool {
	return n.Kind == grant.Scalar && (n.Null || n.Value == "")
}

// keysOf returns the keys of a map, sorted.
func keysOf(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
