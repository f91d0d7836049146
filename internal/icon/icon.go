// Package icon decides which icons a client may be told to load: inline images, and in definitions also https URLs.
// Definitions are the same for each call, so their URLs cannot leak call data.
//
//	kept, removed := icon.Keep([]byte(`[{"src":"https://example.com/i.png"},{"src":"file:///etc/passwd"}]`), icon.Safe)
//	// → [{"src":"https://example.com/i.png"}], 1
//
// This package is internal to Sallyport and may change.
package icon

import (
	"encoding/json"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// Most is the maximum number of icons per entry. Sizes and themes need only a handful.
const Most = 16

// Keep returns the icons that may allows, and the number of removed icons. kept is nil if none is left, or if raw
// is not a list or exceeds Most.
func Keep(raw json.RawMessage, may func(src string) bool) (kept json.RawMessage, removed int) {
	all, err := jsonraw.Elements(raw)
	if err != nil {
		return nil, 1
	}
	if len(all) > Most {
		return nil, len(all)
	}
	out := []byte{'['}
	for _, i := range all {
		src, _ := jsonraw.String(jsonraw.Get(i, "src"))
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

// Inside reports whether an icon is an inline image (data:), so that displaying it contacts no server.
func Inside(src string) bool {
	scheme, _, _ := strings.Cut(src, ":")
	return Safe(src) && strings.EqualFold(scheme, "data")
}

// Safe reports whether a client may load an icon of a definition from src.
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
