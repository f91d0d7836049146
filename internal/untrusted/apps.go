package untrusted

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// UIExtension is declared by a server with tools that have pages.
const UIExtension = "io.modelcontextprotocol/ui"

// HasUIPage reports whether a tool has a page, by its definition.
func HasUIPage(definition json.RawMessage) bool {
	uri, _ := jsonraw.String(jsonraw.Get(definition, "_meta", "ui", "resourceUri"))
	return strings.HasPrefix(uri, "ui://")
}

// ConfineUI removes the requests of a page from a _meta: network origins (csp), permissions such as the camera, and
// an origin of its own (domain), also under their names in other hosts. It reports whether it removed any. An
// object with duplicate keys, ignoring case, is removed as a whole, as clients resolve them differently.
func ConfineUI(meta json.RawMessage) (json.RawMessage, bool) {
	var twice *jsonraw.DuplicateKeyError
	o, err := jsonraw.ParseObject(meta)
	if errors.As(err, &twice) {
		return json.RawMessage("{}"), true
	}
	if err != nil {
		return meta, false
	}
	all := len(o)
	o = slices.DeleteFunc(o, func(m jsonraw.Member) bool { return asksForUI(m) || m.Key != "ui" && strings.EqualFold(m.Key, "ui") })
	cut := len(o) < all
	ui, err := jsonraw.ParseObject(o.Get("ui"))
	if errors.As(err, &twice) {
		o.Delete("ui")
		return o.Append(nil), true
	}
	all = len(ui)
	ui = slices.DeleteFunc(ui, func(m jsonraw.Member) bool { return confined(m.Key) })
	if err == nil && len(ui) < all {
		o.Set("ui", ui.Append(nil))
		cut = true
	}
	if !cut {
		return meta, false
	}
	return o.Append(nil), true
}

// confined reports whether a member of ui is a request of a page.
func confined(key string) bool {
	return strings.EqualFold(key, "csp") || strings.EqualFold(key, "permissions") || strings.EqualFold(key, "domain")
}

// asksForUI reports whether a member of _meta is a request of a page under another name: the ui members at top level,
// and those of OpenAI clients. Their outputTemplate is kept only if it is a ui:// resource of this host.
func asksForUI(m jsonraw.Member) bool {
	prefix, name, _ := strings.Cut(m.Key, "/")
	switch strings.ToLower(prefix) {
	case "ui":
		return confined(name)
	case "openai":
		uri, _ := jsonraw.String(m.Value)
		switch strings.ToLower(name) {
		case "widgetcsp", "widgetdomain", "widgetaccessible", "widgetpermissions":
			return true
		case "outputtemplate":
			return !strings.HasPrefix(uri, "ui://")
		}
	}
	return false
}
