// Package apps knows MCP Apps, tools with a page that the client shows beside their results.
//
// A page is a resource ui://… that a tool names in _meta.ui.resourceUri. It passes through as the plugin wrote it,
// but for one thing: a page lives in the client, where no gate of this host stands. What it asks the client to let
// it do is taken out, and without it clients show pages that reach nothing.
//
//	meta, cut := apps.Confine(meta)  // {"ui":{"csp":{…},"prefersBorder":true}} → {"ui":{"prefersBorder":true}}, true
package apps

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// Extension is what a server declares whose tools have pages.
const Extension = "io.modelcontextprotocol/ui"

// HasPage reports whether a tool, by its definition, has a page.
func HasPage(definition json.RawMessage) bool {
	uri, _ := jsonraw.String(jsonraw.Get(definition, "_meta", "ui", "resourceUri"))
	return strings.HasPrefix(uri, "ui://")
}

// Confine takes out of a _meta what a page wants of the client: origins to reach (csp), permissions such as the
// camera, and an origin of its own (domain), also under the names that another host has for them. It reports whether there
// was anything of it.
// An object with a key twice, in whatever case, goes as a whole: which of the two counts, each client decides for itself.
func Confine(meta json.RawMessage) (json.RawMessage, bool) {
	var twice *jsonraw.DuplicateKeyError
	o, err := jsonraw.ParseObject(meta)
	if errors.As(err, &twice) {
		return json.RawMessage("{}"), true
	}
	if err != nil {
		return meta, false
	}
	all := len(o)
	o = slices.DeleteFunc(o, func(m jsonraw.Member) bool { return wishes(m) || m.Key != "ui" && strings.EqualFold(m.Key, "ui") })
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

// confined reports whether a member of ui is a wish of a page.
func confined(key string) bool {
	return strings.EqualFold(key, "csp") || strings.EqualFold(key, "permissions") || strings.EqualFold(key, "domain")
}

// wishes reports whether a member of a _meta is a wish of a page by another name: one of ui on its own, and those of
// OpenAI's clients. Their page is a resource like any other, and has to be of this host.
func wishes(m jsonraw.Member) bool {
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
