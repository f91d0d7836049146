package untrusted

import (
	"encoding/json"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// MaxIcons is the maximum number of icons per entry. Sizes and themes need only a handful.
const MaxIcons = 16

// KeepIcons returns the icons that may allows, and the number of removed icons. kept is nil if none is left, or if raw
// is not a list or exceeds MaxIcons.
func KeepIcons(raw json.RawMessage, may func(src string) bool) (kept json.RawMessage, removed int) {
	all, err := jsonraw.Elements(raw)
	if err != nil {
		return nil, 1
	}
	if len(all) > MaxIcons {
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

// InlineIcon reports whether an icon is an inline image (data:), so that displaying it contacts no server.
func InlineIcon(src string) bool {
	scheme, _, _ := strings.Cut(src, ":")
	return SafeIcon(src) && strings.EqualFold(scheme, "data")
}

// SafeIcon reports whether a client may load an icon of a definition from src.
func SafeIcon(src string) bool {
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
