package plugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
	"github.com/sallyport-mcp/sallyport/runtime/abi/command"
)

// maxWants limits the wants of a plugin that the operator can be asked about; the others are only displayed.
const maxWants = 64

// Wants returns the wants that can be granted. Wants without a valid grant line, or with arguments that the plugin does
// not have, are left out: they are displayed, but the operator is never asked to grant them.
func Wants(all []json.RawMessage, m *manifest.Manifest) []hostfuncs.Want {
	var wants []hostfuncs.Want
	for _, raw := range all {
		if len(wants) == maxWants {
			break
		}
		if w, err := want(raw, m); err == nil {
			wants = append(wants, w)
		}
	}
	return wants
}

// Problems describes the wants of a plugin that cannot be granted, with the reason.
func Problems(all []json.RawMessage, m *manifest.Manifest) []string {
	var problems []string
	for _, raw := range all {
		if _, err := want(raw, m); err != nil {
			text := string(raw)
			if len(text) > maxShown {
				text = strings.ToValidUTF8(text[:maxShown], "") + "…"
			}
			problems = append(problems, fmt.Sprintf("the want %s cannot be granted: %s", text, strings.TrimPrefix(err.Error(), "line 0: ")))
		}
		if len(problems) == maxWants {
			break
		}
	}
	return problems
}

// SecretVariables returns the secrets that a program or a server reads from its environment, by the names of the
// variables in its tool file.
func SecretVariables(m *manifest.Manifest) map[string]string {
	all := command.SecretVariables(jsonraw.Get(m.Server, "env"))
	for _, e := range m.Entries(manifest.Tool) {
		line := jsonraw.Get(jsonraw.Get(e.Written, "_meta"), command.Meta)
		maps.Copy(all, command.SecretVariables(jsonraw.Get(line, "env")))
	}
	return all
}

// want parses one want as a grant line.
func want(raw json.RawMessage, m *manifest.Manifest) (hostfuncs.Want, error) {
	o, err := jsonraw.ParseObject(raw)
	if err != nil {
		return hostfuncs.Want{}, errors.New(`it is not an object such as {"net": "GET https://api.example.com/**"}`)
	}
	why, _ := jsonraw.String(o.Get("why"))
	o.Delete("why")
	line, err := grant.ParseNode(node("", o.Append(nil), maxWantDepth))
	if err != nil {
		return hostfuncs.Want{}, err
	}
	if line.Deny {
		return hostfuncs.Want{}, errors.New("a plugin asks for grants, and denies nothing")
	}
	if len(line.Who) > 0 {
		return hostfuncs.Want{}, errors.New("a plugin does not choose its callers: leave who out")
	}
	set, err := grant.NewSet(line).Fit(Shapes(m))
	return hostfuncs.Want{Grants: set, Why: why}, err
}

// maxShown limits the bytes of a want in a message.
const maxShown = 200

// maxWantDepth limits the nesting of a want: a family, its map, a list in that.
const maxWantDepth = 8

// node converts JSON for the grant parser. Values that are too deep become empty strings, which no family accepts.
func node(key string, raw json.RawMessage, depth int) grant.Node {
	n := grant.Node{Key: key, Kind: grant.Scalar}
	switch {
	case depth == 0 || len(raw) == 0:
	case raw[0] == '{':
		n.Kind = grant.Map
		o, _ := jsonraw.ParseObject(raw) // valid: raw was parsed before
		for _, m := range o {
			n.Nodes = append(n.Nodes, node(m.Key, m.Value, depth-1))
		}
	case raw[0] == '[':
		n.Kind = grant.List
		for s := jsonraw.ScanArray(raw); s.Next(); {
			n.Nodes = append(n.Nodes, node("", s.Value, depth-1))
		}
	case raw[0] == '"':
		n.Value, _ = jsonraw.String(raw)
	default:
		n.Value = string(raw)
	}
	return n
}
