// Package learn finds what a plugin needs from what its calls did: for each effect the line that would allow
// it, with the arguments of the call in the places that they fill, and for many such lines the fewest that say
// the same.
//
//	net: GET https://api.example.com/repos/me/x      in a call of {"owner": "me", "repo": "x"}
//	net: GET https://api.example.com/repos/{args.owner}/{args.repo}
//
// Values of arguments are compared, and none is kept: a line holds names where a value was. This package only
// proposes lines; whoever has the effect asks the grants whether a line covers it.
//
// This package is internal to Sallyport: it is not promised to others.
package learn

import (
	"encoding/json"
	"net/url"
	"path"
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

// Lines proposes lines for the effect that a literal line covers, in a call with these arguments: those that
// follow the arguments most closely first, the literal one last. home is the folder that ~ stands for.
func Lines(literal, home string, arguments json.RawMessage) []string {
	family, rest, _ := strings.Cut(literal, ": ")
	values := valuesOf(arguments)
	var all []string
	switch family {
	case "net":
		all = netLines(rest, values)
	case "fs":
		all = fileLines(rest, home, values)
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

// netLines proposes lines for "GET https://host/path?query".
func netLines(rest string, values []value) (all []string) {
	method, address, _ := strings.Cut(rest, " ")
	for _, v := range values {
		if strings.Contains(v.text, "://") {
			all = append(all, "net: "+method+" {"+v.name+":url}")
		}
	}
	address, query, limited := strings.Cut(address, "?")
	scheme, place, _ := strings.Cut(address, "://")
	host, where, _ := strings.Cut(place, "/")
	segments := strings.Split(where, "/")
	for i, s := range segments {
		if plain, err := url.PathUnescape(s); err == nil {
			if b, ok := named(values, plain, ""); ok {
				segments[i] = b
			}
		}
	}
	where = "/" + strings.Join(segments, "/")
	if limited {
		where += "?" + queryOf(query, values)
	}
	if b, ok := named(values, host, ":host"); ok {
		all = append(all, "net: "+method+" "+scheme+"://"+b+where)
	}
	return append(all, "net: "+method+" "+scheme+"://"+host+where)
}

// queryOf allows the same keys, with an argument's value or any.
func queryOf(query string, values []value) string {
	var pairs []string
	for pair := range strings.SplitSeq(query, "&") {
		key, text, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(text); err == nil {
			if b, ok := named(values, plain, ""); ok {
				key += "=" + b
			}
		}
		pairs = append(pairs, key)
	}
	return strings.Join(pairs, "&")
}

// fileLines proposes lines for "read ~/work/a/b".
func fileLines(rest, home string, values []value) (all []string) {
	op, name, _ := strings.Cut(rest, " ")
	segments := strings.Split(name, "/")
	plain := make([]string, len(segments))
	for i, s := range segments {
		plain[i] = strings.NewReplacer("{*}", "*", "{{}", "{", "{}}", "}", "{ }", " ").Replace(s)
	}
	for _, v := range values {
		want := strings.Split(tilde(path.Clean(v.text), home), "/")
		at := indexOf(plain, want)
		if at < 0 || v.text == "." {
			continue
		}
		binding := "{" + v.name + ":path}"
		if path.IsAbs(v.text) || want[0] == "~" { // whole paths bind behind the folder they lie in
			at += len(want) - 1
		} else if len(want) == 1 {
			binding = "{" + v.name + "}"
		}
		line := "fs: " + op + " " + strings.Join(segments[:at], "/") + "/" + binding
		end := at + len(want)
		if path.IsAbs(v.text) || want[0] == "~" {
			end = at + 1
		}
		if end < len(segments) {
			line += "/**"
		}
		all = append(all, line)
	}
	return all
}

// tilde writes a path below the home as lines do.
func tilde(name, home string) string {
	if rest, ok := strings.CutPrefix(name, strings.TrimSuffix(home, "/")+"/"); ok && home != "" {
		return "~/" + rest
	}
	return name
}

// indexOf finds segments in a path: whole paths at its beginning, others behind the first segment.
func indexOf(segments, want []string) int {
	if want[0] == "" || want[0] == "~" {
		if len(want) > 1 && len(want) <= len(segments) && slices.Equal(segments[:len(want)], want) {
			return 0
		}
		return -1
	}
	for i := 1; i+len(want) <= len(segments); i++ {
		if slices.Equal(segments[i:i+len(want)], want) {
			return i
		}
	}
	return -1
}
