package grant

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

const (
	// maxArgumentValues bounds the values of one argument: each one makes a grant line.
	maxArgumentValues = 1024
	// maxInteger is the largest integer that every JSON decoder represents exactly.
	maxInteger = 1 << 53
	// everyElement is the path step that selects every element of a list.
	everyElement = "*"
)

// ArgumentValues returns a lookup of the values in the arguments of a call, which are a JSON object or absent:
//
//	values := grant.ArgumentValues(json.RawMessage(`{"owner": "me", "files": ["a", "b"]}`))
//	values([]string{"owner"})      // ["me"]
//	values([]string{"files", "*"}) // ["a", "b"]
//
// Strings, integers and booleans have values, and so do lists of them. Everything else has none. Arguments with
// an ambiguous key (a name that occurs twice, ignoring case) have no values: two decoders could choose different
// ones.
func ArgumentValues(arguments json.RawMessage) func(path []string) []string {
	checked, usable := false, false
	return func(path []string) []string {
		if !checked {
			_, twice := jsonraw.AmbiguousKey(arguments)
			checked, usable = true, !twice && len(arguments) > 0
		}
		if !usable {
			return nil
		}
		return findValues(arguments, path, nil)
	}
}

func findValues(raw json.RawMessage, path []string, found []string) []string {
	switch {
	case jsonraw.IsNull(raw) || len(found) >= maxArgumentValues:
		return found
	case len(path) == 0 && raw[0] == '[':
		return elementValues(raw, nil, found)
	case len(path) > 0 && path[0] == everyElement:
		return elementValues(raw, path[1:], found)
	case len(path) > 0 && raw[0] == '{':
		return findValues(jsonraw.Get(raw, path[0]), path[1:], found)
	case len(path) > 0:
		return found
	}
	if text, ok := argumentText(raw); ok {
		found = append(found, text)
	}
	return found
}

// elementValues applies the rest of the path to each element of a list. A list within a list has no values.
func elementValues(raw json.RawMessage, path, found []string) []string {
	if raw[0] != '[' {
		return found
	}
	all, err := jsonraw.Elements(raw)
	if err != nil {
		return found
	}
	for _, e := range all {
		if len(path) > 0 || len(e) > 0 && e[0] != '[' {
			found = findValues(e, path, found)
		}
	}
	return found
}

// argumentText returns a value as text. A number has one only if it is an integer in its canonical spelling.
func argumentText(raw json.RawMessage) (string, bool) {
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

// NamedValues returns a lookup of flat values by name, such as the variables of a URI template.
func NamedValues(values map[string]string) func(path []string) []string {
	return func(path []string) []string {
		if v, ok := values[strings.Join(path, ".")]; ok {
			return []string{v}
		}
		return nil
	}
}
