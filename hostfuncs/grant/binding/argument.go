// Package binding looks up the argument values that a grant binds: {args.owner} in a line stands for the value of
// the argument "owner" in the current call.
//
//	values := binding.Values(json.RawMessage(`{"owner": "me", "files": ["a", "b"]}`))
//	values([]string{"owner"})      // ["me"]
//	values([]string{"files", "*"}) // ["a", "b"]
//
// Strings, integers and booleans have values, and so do lists of them. Everything else has none.
package binding

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

const (
	// maxValues bounds the values of one argument: each one makes a grant line.
	maxValues = 1024
	// maxInteger is the largest integer that every JSON decoder represents exactly.
	maxInteger = 1 << 53
	// each is the path step that selects every element of a list.
	each = "*"
)

// Values returns a lookup of the values in the arguments of a call, which are a JSON object or absent. Arguments with
// an ambiguous key (a name that occurs twice, ignoring case) have no values: two decoders could choose different
// ones.
func Values(arguments json.RawMessage) func(path []string) []string {
	checked, usable := false, false
	return func(path []string) []string {
		if !checked {
			_, twice := jsonraw.AmbiguousKey(arguments)
			checked, usable = true, !twice && len(arguments) > 0
		}
		if !usable {
			return nil
		}
		return find(arguments, path, nil)
	}
}

func find(raw json.RawMessage, path []string, found []string) []string {
	switch {
	case jsonraw.IsNull(raw) || len(found) >= maxValues:
		return found
	case len(path) == 0 && raw[0] == '[':
		return elements(raw, nil, found)
	case len(path) > 0 && path[0] == each:
		return elements(raw, path[1:], found)
	case len(path) > 0 && raw[0] == '{':
		return find(jsonraw.Get(raw, path[0]), path[1:], found)
	case len(path) > 0:
		return found
	}
	if text, ok := scalar(raw); ok {
		found = append(found, text)
	}
	return found
}

// elements applies the rest of the path to each element of a list. A list within a list has no values.
func elements(raw json.RawMessage, path, found []string) []string {
	if raw[0] != '[' {
		return found
	}
	all, err := jsonraw.Elements(raw)
	if err != nil {
		return found
	}
	for _, e := range all {
		if len(path) > 0 || len(e) > 0 && e[0] != '[' {
			found = find(e, path, found)
		}
	}
	return found
}

// scalar returns a value as text. A number has one only if it is an integer in its canonical spelling.
func scalar(raw json.RawMessage) (string, bool) {
	switch raw[0] {
	case '"':
		return jsonraw.String(raw)
	case 't', 'f':
		return string(raw), true
	case '{', '[', 'n':
		return "", false
	}
	text := string(raw)
	n, err := strconv.ParseInt(text, 10, 64)
	return text, err == nil && strconv.FormatInt(n, 10) == text && n <= maxInteger && n >= -maxInteger
}

// Named returns a lookup of flat values by name, such as the variables of a URI template.
func Named(values map[string]string) func(path []string) []string {
	return func(path []string) []string {
		if v, ok := values[strings.Join(path, ".")]; ok {
			return []string{v}
		}
		return nil
	}
}
