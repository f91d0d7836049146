// Package argument finds the values of a call that a grant may bind: {args.owner} in a line is the value
// of the argument "owner" in this call.
//
//	values := argument.Values(json.RawMessage(`{"owner": "me", "files": ["a", "b"]}`))
//	values([]string{"owner"})      // ["me"]
//	values([]string{"files", "*"}) // ["a", "b"]
//
// Texts, whole numbers and booleans have values, and lists of them; whatever else is there has none.
package argument

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

const (
	// maxValues bounds the values of one argument: a line is made for each.
	maxValues = 1024
	// maxInteger is the largest number that every reader of JSON reads alike.
	maxInteger = 1 << 53
	// each is the step of a path that stands for every element of a list.
	each = "*"
)

// Values returns the look-up of values in the arguments of a call, which are a JSON object or absent.
// Arguments in which a name comes twice, in whatever case, have no values: two readers could take different ones.
func Values(arguments json.RawMessage) func(path []string) []string {
	checked, usable := false, false
	return func(path []string) []string {
		if !checked {
			_, twice := rawjson.AmbiguousKey(arguments)
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
	case rawjson.IsNull(raw) || len(found) >= maxValues:
		return found
	case len(path) == 0 && raw[0] == '[':
		return elements(raw, nil, found)
	case len(path) > 0 && path[0] == each:
		return elements(raw, path[1:], found)
	case len(path) > 0 && raw[0] == '{':
		return find(rawjson.Get(raw, path[0]), path[1:], found)
	case len(path) > 0:
		return found
	}
	if text, ok := scalar(raw); ok {
		found = append(found, text)
	}
	return found
}

// elements goes on with each element of a list; a list in a list has no values.
func elements(raw json.RawMessage, path, found []string) []string {
	if raw[0] != '[' {
		return found
	}
	all, err := rawjson.Elements(raw)
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

// scalar is a value as text: numbers as they are written if that is the only way to write them.
func scalar(raw json.RawMessage) (string, bool) {
	switch raw[0] {
	case '"':
		return rawjson.String(raw)
	case 't', 'f':
		return string(raw), true
	case '{', '[', 'n':
		return "", false
	}
	text := string(raw)
	n, err := strconv.ParseInt(text, 10, 64)
	return text, err == nil && strconv.FormatInt(n, 10) == text && n <= maxInteger && n >= -maxInteger
}

// Named returns the look-up of values that have a name and no structure, as in a URI template.
func Named(values map[string]string) func(path []string) []string {
	return func(path []string) []string {
		if v, ok := values[strings.Join(path, ".")]; ok {
			return []string{v}
		}
		return nil
	}
}
