// Package learn finds what a plugin needs from what its calls did: for each effect the line that would allow
// it, with the arguments of the call in the places that they fill, and for many such lines the fewest that say
// the same.
//
//	net: GET https://api.example.com/repos/me/x      in a call of {"owner": "me", "repo": "x"}
//	net: GET https://api.example.com/repos/{args.owner}/{args.repo}
//
// Values of arguments are compared, and a line holds names where a value was. This package only proposes lines;
// whoever has the effect asks the grants whether a line covers it.
//
// This package is internal to Sallyport: it is not promised to others.
package learn

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

const (
	// maxValues bounds the values of a call that are looked for in an effect.
	maxValues = 64
	// maxDepth bounds how deep they are looked for; tools with deeper arguments are unheard of.
	maxDepth = 4
)

// Places are the folders that lines have words for; empty is none.
type Places struct {
	Home      string // ~
	Workspace string // {workspace}, absolute
}

// Lines proposes lines for the effect that a literal line covers, in a call with these arguments: those that
// follow the arguments most closely first, the literal one last.
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

// value is one argument of a call that has a place in a line.
type value struct {
	name string // args.owner, args.files.*
	text string
}

// valuesOf lists texts and whole numbers. A boolean is left out: that a word "true" came from there is chance.
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
		o, err := rawjson.ParseObject(raw)
		for _, m := range o {
			if err == nil {
				gather(name+"."+m.Key, m.Value, depth-1, found)
			}
		}
	case '[':
		elements, err := rawjson.Elements(raw)
		for _, e := range elements {
			if err == nil {
				gather(name+".*", e, depth-1, found)
			}
		}
	case '"':
		if text, ok := rawjson.String(raw); ok && text != "" {
			*found = append(*found, value{name, text})
		}
	default:
		if _, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
			*found = append(*found, value{name, string(raw)})
		}
	}
}

// Names tells which argument of a call has a text as its value, as lines write it: {args.owner}.
func Names(arguments json.RawMessage) func(text string) (binding string, ok bool) {
	values := valuesOf(arguments)
	return func(text string) (string, bool) { return named(values, text, "") }
}

// named is the binding of the first value that is a text; as is its form: "", ":host".
func named(values []value, text, as string) (string, bool) {
	i := slices.IndexFunc(values, func(v value) bool { return v.text == text })
	if i < 0 {
		return "", false
	}
	return "{" + values[i].name + as + "}", true
}
