package settings

import (
	"errors"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/internal/strictyaml"
)

// readGrants reads a list of grants, one per line, with the groups of the file in their callers.
func readGrants(n *strictyaml.Node, known groups) (*grant.Set, error) {
	if n.Kind == strictyaml.Null {
		return &grant.Set{}, nil
	}
	if n.Kind != strictyaml.Sequence {
		return nil, n.Errorf("grants: want a list, a line each, such as - net: GET https://api.example.com/**")
	}
	set, err := grant.Parse(node("", n).Nodes)
	if err == nil {
		set, err = set.Resolve(known.who)
	}
	var pe *grant.ParseError
	if errors.As(err, &pe) {
		return nil, strictyaml.Errorf(pe.Line, "%s", pe.Message)
	}
	return set, err
}

// Tree reads a YAML or JSON file of another program into a tree without formatting, with line numbers. The root is a
// Map. Errors are of type *FileError.
func Tree(path string) (grant.Node, error) {
	root, err := readFile(path)
	if err != nil || root == nil {
		return grant.Node{Kind: grant.Map, Line: 1}, err
	}
	return node("", root), nil
}

// readCeiling reads max_grants of the file; nil if absent.
func readCeiling(root *strictyaml.Node) (ceiling *grant.Set, err error) {
	return ceiling, root.Each("the file", func(key, value *strictyaml.Node) error {
		if key.Text == "max_grants" {
			ceiling, err = readLimits(value)
		}
		return err
	})
}

// readLimits reads the lines of a ceiling, which must not depend on the call and must not ask.
func readLimits(n *strictyaml.Node) (*grant.Set, error) {
	set, err := readGrants(n, nil)
	if err != nil {
		return nil, err
	}
	for _, g := range set.Lines() {
		if len(g.Who) > 0 {
			return nil, strictyaml.Errorf(g.Line, "max_grants holds for every caller: leave who out, and write it on the lines of grants")
		}
		if line := (grant.Lines{g}); line.Varies() || line.NeedsRoots() {
			return nil, strictyaml.Errorf(g.Line, "max_grants holds for every call: write the value itself in place of braces")
		}
		if g.Ask {
			return nil, strictyaml.Errorf(g.Line, "max_grants is a ceiling and takes no ask: write ask on a line of the plugin's grants")
		}
	}
	return set, nil
}

// node converts n to a tree without formatting. Aliases and tags were refused before.
func node(key string, n *strictyaml.Node) grant.Node {
	out := grant.Node{Line: n.Line, Key: key, Value: n.Text, Null: n.Kind == strictyaml.Null}
	switch n.Kind {
	case strictyaml.Mapping:
		out.Kind = grant.Map
		for _, m := range n.Members {
			out.Nodes = append(out.Nodes, node(m.Key.Text, m.Value))
		}
	case strictyaml.Sequence:
		out.Kind = grant.List
		for _, item := range n.Items {
			out.Nodes = append(out.Nodes, node("", item))
		}
	}
	return out
}
