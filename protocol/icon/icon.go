// Package icon knows which icons a client may be told to load: a picture that comes along, or, in a definition, which does
// not change from call to call, one from the web that nobody can read or change on its way.
//
//	kept, removed := icon.Keep([]byte(`[{"src":"https://example.com/i.png"},{"src":"file:///etc/passwd"}]`), icon.Safe)
//	// → [{"src":"https://example.com/i.png"}], 1
//
// This package is internal to Sallyport: it is not promised to others.
package icon

import (
	"encoding/json"
	"strings"

	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

// Most bounds the icons of one entry; sizes and themes make a handful.
const Most = 16

// Keep returns the icons of a list that a client may load, and how many others there were. It is nil if none is left,
// or what there was is no list, or too long a one.
func Keep(raw json.RawMessage, may func(src string) bool) (kept json.RawMessage, removed int) {
	all, err := rawjson.Elements(raw)
	if err != nil {
		return nil, 1
	}
	if len(all) > Most {
		return nil, len(all)
	}
	out := []byte{'['}
	for _, i := range all {
		src, _ := rawjson.String(rawjson.Get(i, "src"))
		if !may(src) {
			removed++
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, i...)
	}
	switch {
	case removed == 0:
		return raw, 0
	case removed == len(all):
		return nil, removed
	}
	return append(out, ']'), removed
}

// Inside reports whether an icon comes along, as an image in data: a client that shows it tells nobody.
func Inside(src string) bool {
	scheme, _, _ := strings.Cut(src, ":")
	return Safe(src) && strings.EqualFold(scheme, "data")
}

// Safe reports whether a client may load an icon of a definition from there.
func Safe(src string) bool {
	scheme, rest, ok := strings.Cut(src, ":")
	if !ok {
		return false
	}
	switch strings.ToLower(scheme) {
	case "https":
		return strings.HasPrefix(rest, "//")
	case "data":
		return len(rest) > len("image/") && strings.EqualFold(rest[:len("image/")], "image/")
	}
	return false
}
