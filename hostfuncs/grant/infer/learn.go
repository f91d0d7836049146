// Package infer infers least-privilege grants from the effects of a plugin's calls. It proposes lines for each
// effect, with the call's arguments as bindings, and merges many lines into the fewest that cover them.
//
//	net: GET https://api.example.com/repos/me/x      in a call of {"owner": "me", "repo": "x"}
//	net: GET https://api.example.com/repos/{args.owner}/{args.repo}
//
// Argument values are compared with effects, and lines contain the arguments' names in place of the values. This
// package only proposes lines. The caller checks whether a line covers the effect.
package infer

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

const (
	// maxValues bounds the argument values of a call that are searched for in an effect.
	maxValues = 64
	// maxDepth bounds the nesting of those arguments. Real tools need less.
	maxDepth = 4
)

// Places are the host folders that have names in lines. Empty fields are unset.
type Places struct {
	Home      string // ~
	Workspace string // {workspace}, an absolute path
}

// Lines proposes lines for the effect of a literal line, in a call with these arguments: those with the most bindings
// first, the literal one last.
func Lines(literal string, places Places, arguments json.RawMessage) []string {
	family, rest, _ := strings.Cut(literal, ": ")
	values := valuesOf(arguments)
	var all []string
	switch family {
	case "net":
		all = netLines(rest, values)
	case "fs":
		all = fileLines(rest, places, values)
	}
	return append(all, literal)
}

// value is one argument of a call that can be bound in a line.
type value struct {
	name string // args.owner, args.files.*
	text string
}

// valuesOf lists strings and integers. Booleans are omitted: a match with "true" is a coincidence.
func valuesOf(arguments json.RawMessage) []value {
	var found []value
	gather("args", arguments, maxDepth, &found)
	return found
}

func gather(name string, raw json.RawMessage, depth int, found *[]value) {
	if depth == 0 || len(*found) >= maxValues || len(raw) == 0 {
		return
	}
	switch raw[0] {
	case '{':
		o, err := jsonraw.ParseObject(raw)
		for _, m := range o {
			if err == nil {
				gather(name+"."+m.Key, m.Value, depth-1, found)
			}
		}
	case '[':
		elements, err := jsonraw.Elements(raw)
		for _, e := range elements {
			if err == nil {
				gather(name+".*", e, depth-1, found)
			}
		}
	case '"':
		if text, ok := jsonraw.String(raw); ok && text != "" {
			*found = append(*found, value{name, text})
		}
	default:
		if _, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
			*found = append(*found, value{name, string(raw)})
		}
	}
}

// Names returns a lookup from a text to the argument of a call with that value, in the form of lines: {args.owner}.
func Names(arguments json.RawMessage) func(text string) (binding string, ok bool) {
	values := valuesOf(arguments)
	return func(text string) (string, bool) { return named(values, text, "") }
}

// named returns the binding of the first value equal to text. as is its form: "", ":host".
func named(values []value, text, as string) (string, bool) {
	i := slices.IndexFunc(values, func(v value) bool { return v.text == text })
	if i < 0 {
		return "", false
	}
	return "{" + values[i].name + as + "}", true
}
