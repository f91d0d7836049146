package settings

import (
	"errors"

	"go.yaml.in/yaml/v3"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
)

// readGrants reads a list of grants, one per line.
func readGrants(n *yaml.Node) (*grant.Set, error) {
	if isNull(n) {
		return &grant.Set{}, nil
	}
	if n.Kind != yaml.SequenceNode {
		return nil, at(n.Line, "grants: want a list, a line each, such as - net: GET https://api.example.com/**")
	}
	set, err := grant.Parse(node("", n).Nodes)
	var pe *grant.ParseError
	if errors.As(err, &pe) {
		return nil, at(pe.Line, "%s", pe.Message)
	}
	return set, err
}

// Tree reads a YAML or JSON file of another program into a tree without formatting, with line numbers. The root is a
// Map; anchors, tags and duplicate keys are errors of type *FileError.
func Tree(path string) (grant.Node, error) {
	root, err := readFile(path)
	if err != nil || root == nil {
		return grant.Node{Kind: grant.Map, Line: 1}, err
	}
	return node("", root), nil
}

// readCeiling reads max_grants of the file; nil if absent.
func readCeiling(root *yaml.Node) (ceiling *grant.Set, err error) {
	if root == nil {
		return nil, nil
	}
	return ceiling, fields(root, "the file", func(key, value *yaml.Node) error {
		if key.Value == "max_grants" {
			ceiling, err = readLimits(value)
		}
		return err
	})
}

// readLimits reads the lines of a ceiling, which must not depend on the call and must not ask.
func readLimits(n *yaml.Node) (*grant.Set, error) {
	set, err := readGrants(n)
	if err != nil {
		return nil, err
	}
	for _, g := range set.Grants() {
		if grant.NewSet(g).Varies() || grant.NewSet(g).NeedsRoots() {
			return nil, at(g.Line, "max_grants holds for every call: write the value itself in place of braces")
		}
		if g.Ask {
			return nil, at(g.Line, "max_grants is a ceiling and takes no ask: write ask on a line of the plugin's grants")
		}
	}
	return set, nil
}

// node converts n to a tree without formatting. Aliases and tags were refused before.
func node(key string, n *yaml.Node) grant.Node {
	out := grant.Node{Line: n.Line, Key: key, Value: n.Value, Null: n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"}
	switch n.Kind {
	case yaml.MappingNode:
		out.Kind = grant.Map
		for i := 0; i < len(n.Content); i += 2 {
			out.Nodes = append(out.Nodes, node(n.Content[i].Value, n.Content[i+1]))
		}
	case yaml.SequenceNode:
		out.Kind = grant.List
		for _, c := range n.Content {
			out.Nodes = append(out.Nodes, node("", c))
		}
	}
	return out
}
