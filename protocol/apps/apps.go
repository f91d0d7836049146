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

	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

// Extension is what a server declares whose tools have pages.
const Extension = "io.modelcontextprotocol/ui"

// HasPage reports whether a tool, by its definition, has a page.
func HasPage(definition json.RawMessage) bool {
	uri, _ := rawjson.String(rawjson.Get(definition, "_meta", "ui", "resourceUri"))
	return strings.HasPrefix(uri, "ui://")
}

// Confine takes out of a _meta what a page wants of the client: origins to reach (csp), permissions such as the
// camera, and an origin of its own (domain). It reports whether there was anything of it.
// An object with a key twice goes as a whole: which of the two counts, each client decides for itself.
func Confine(meta json.RawMessage) (json.RawMessage, bool) {
	var twice *rawjson.DuplicateKeyError
	o, err := rawjson.ParseObject(meta)
	if errors.As(err, &twice) {
		return json.RawMessage("{}"), true
	}
	ui, err := rawjson.ParseObject(o.Get("ui"))
	if errors.As(err, &twice) {
		o.Delete("ui")
		return o.Append(nil), true
	}
	all := len(ui)
	ui = slices.DeleteFunc(ui, func(m rawjson.Member) bool {
		return m.Key == "csp" || m.Key == "permissions" || m.Key == "domain"
	})
	if err != nil || len(ui) == all {
		return meta, false
	}
	o.Set("ui", ui.Append(nil))
	return o.Append(nil), true
}
