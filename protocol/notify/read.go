package notify

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
)

// ReadTopics parses the lists and resources in params.notifications. there reports whether a resource exists. honoured is
// the accepted part.
func ReadTopics(asked json.RawMessage, there func(uri string) bool) (wants Topics, honoured jsonraw.Object, err error) {
	if !jsonraw.IsObject(asked) {
		return wants, nil, jsonrpc.InvalidParams("params.notifications must be an object")
	}
	for _, list := range []struct {
		key  string
		want *bool
	}{
		{"toolsListChanged", &wants.tools}, {"promptsListChanged", &wants.prompts}, {"resourcesListChanged", &wants.resources},
	} {
		switch string(jsonraw.Get(asked, list.key)) {
		case "", "null", "false":
		case "true":
			*list.want = true
			honoured.Set(list.key, json.RawMessage("true"))
		default:
			return wants, nil, jsonrpc.InvalidParams("params.notifications.%s must be a boolean", list.key)
		}
	}
	uris := jsonraw.Get(asked, "resourceSubscriptions")
	if jsonraw.IsNull(uris) {
		return wants, honoured, nil
	}
	if err := wants.read(uris, there); err != nil {
		return wants, nil, err
	}
	honoured.Set("resourceSubscriptions", jsonraw.Strings(slices.Sorted(maps.Keys(wants.uris))))
	return wants, honoured, nil
}

// read adds the URIs of a list.
func (t *Topics) read(list json.RawMessage, there func(uri string) bool) error {
	uris, err := jsonraw.Elements(list)
	if err != nil || len(uris) > MaxTopics {
		return jsonrpc.InvalidParams("params.notifications.resourceSubscriptions must be an array of at most %d URIs", MaxTopics)
	}
	for _, raw := range uris {
		uri, ok := jsonraw.String(raw)
		if !ok {
			return jsonrpc.InvalidParams("params.notifications.resourceSubscriptions must hold strings")
		}
		if there(uri) {
			t.subscribe(uri)
		}
	}
	return nil
}
