package catalog

import (
	"encoding/json"
	"slices"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// A plugin receives the members that its method defines, each once, by their exact names. Other members are not checked
// here, and a guest's parser that ignores case, or ends a key at a NUL, could take one of them for a defined member.

// known keeps the members of an object with one of these names.
func known(raw json.RawMessage, names ...string) (jsonraw.Object, error) {
	if jsonraw.IsNull(raw) {
		return nil, nil
	}
	o, err := jsonraw.ParseObject(raw)
	if err != nil {
		return nil, invalidParams(err)
	}
	return slices.DeleteFunc(o, func(m jsonraw.Member) bool { return !slices.Contains(names, m.Key) }), nil
}

// namedParams returns the params of tools/call or prompts/get with the plugin's local name, given as JSON.
func namedParams(params, name json.RawMessage) (json.RawMessage, error) {
	o, err := known(params, "name", "arguments", "_meta")
	if err != nil {
		return nil, err
	}
	o.Set("name", name)
	return o.Append(make([]byte, 0, len(params)+len(name)+len(`{"name":,}`))), nil
}

// readParams returns the params of resources/read.
func readParams(params json.RawMessage) (json.RawMessage, error) {
	o, err := known(params, "uri", "_meta")
	return o.Append(nil), err
}

// completionParams returns the params of completion/complete. name is the local name of the prompt in ref, as JSON; nil
// if ref is a template.
func completionParams(params, name json.RawMessage) (json.RawMessage, error) {
	o, err := known(params, "ref", "argument", "context", "_meta")
	if err != nil {
		return nil, err
	}
	id := "uri"
	if name != nil {
		id = "name"
	}
	for part, names := range map[string][]string{"ref": {"type", id}, "argument": {"name", "value"}, "context": {"arguments"}} {
		inner, err := known(o.Get(part), names...)
		if err != nil {
			return nil, err
		}
		if name != nil && part == "ref" {
			inner.Set("name", name)
		}
		if inner != nil {
			o.Set(part, inner.Append(nil))
		}
	}
	return o.Append(nil), nil
}

// arguments returns a lookup of the argument values that grants may bind.
func arguments(params json.RawMessage) func([]string) []string {
	return grant.ArgumentValues(jsonraw.Get(params, "arguments"))
}

func invalidParams(err error) error {
	return &runtime.GuestError{Code: jsonrpc.CodeInvalidParams, Message: "invalid params: " + err.Error()}
}
