package envelope

import (
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
)

// Call is one request as parsed: its method, its params and its Meta.
type Call struct {
	ID     json.RawMessage // JSON-RPC id
	Method string
	Params json.RawMessage
	Meta
}

// Parse reads a request or notification. It validates nothing.
func Parse(m *jsonrpc.Message) Call {
	return Call{ID: m.ID, Method: m.Method, Params: m.Params, Meta: ReadMeta(jsonraw.Get(m.Params, "_meta"))}
}

// Text returns a required string of the params.
func (c *Call) Text(key string) (string, error) {
	s, ok := jsonraw.String(jsonraw.Get(c.Params, key))
	if !ok {
		return "", jsonrpc.InvalidParams("params.%s must be a string", key)
	}
	return s, nil
}

// CheckKeys refuses params with duplicate keys, or keys that some parser treats as equal. Otherwise the plugin's
// parser could see another value than the one validated here.
func (c *Call) CheckKeys() error {
	path, found := jsonraw.AmbiguousKey(c.Params)
	if !found {
		return nil
	}
	if _, same := jsonraw.DuplicateKey(c.Params); same {
		return jsonrpc.InvalidParams("params hold a key twice: %s", jsonrpc.Clip(path))
	}
	return jsonrpc.InvalidParams("params hold a key that readers can take for another one: %s", jsonrpc.Clip(path))
}
