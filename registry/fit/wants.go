package fit

import (
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
)

// maxWants is how many wants of a plugin the operator can be asked about; the others are only shown.
const maxWants = 64

// Wants are the wants that a line can say. Those that none can, or that bind what the plugin does not offer, are
// left out: they are shown as they are, and never asked about.
func Wants(all []json.RawMessage, m *manifest.Manifest) []hostfuncs.Want {
	var wants []hostfuncs.Want
	for _, raw := range all {
		o, err := rawjson.ParseObject(raw)
		if err != nil || len(wants) == maxWants {
			continue
		}
		why, _ := rawjson.String(o.Get("why"))
		o.Delete("why")
		set, err := grant.Parse([]grant.Node{node("", o.Append(nil), maxWantDepth)})
		if err != nil || set.Grants()[0].Deny {
			continue
		}
		if set, err = set.Fit(Shapes(m)); err == nil {
			wants = append(wants, hostfuncs.Want{Grants: set, Why: why})
		}
	}
	return wants
}

// maxWantDepth is how deep a want is nested, at most: a family, its map, a list in that.
const maxWantDepth = 8

// node is JSON as the grant language reads it. What is too deep is an empty text, which no family takes.
func node(key string, raw json.RawMessage, depth int) grant.Node {
	n := grant.Node{Key: key, Kind: grant.Scalar}
	switch {
	case depth == 0 || len(raw) == 0:
	case raw[0] == '{':
		n.Kind = grant.Map
		o, _ := rawjson.ParseObject(raw) // it is part of what was parsed
		for _, m := range o {
			n.Nodes = append(n.Nodes, node(m.Key, m.Value, depth-1))
		}
	case raw[0] == '[':
		n.Kind = grant.List
		for s := rawjson.ScanArray(raw); s.Next(); {
			n.Nodes = append(n.Nodes, node("", s.Value, depth-1))
		}
	case raw[0] == '"':
		n.Value, _ = rawjson.String(raw)
	default:
		n.Value = string(raw)
	}
	return n
}
