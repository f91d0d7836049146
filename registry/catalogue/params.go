package catalogue

import (
	"bytes"
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/hostfuncs/argument"
	"github.com/sallyport-mcp/sallyport/protocol/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// withName returns params with another name; the rest stays as it was. name is JSON.
func withName(params, name json.RawMessage) (json.RawMessage, error) {
	if rawjson.IsNull(params) {
		params = json.RawMessage("{}")
	}
	o, err := rawjson.ParseObject(params)
	if err != nil {
		return nil, invalidParams(err)
	}
	if bytes.Equal(o.Get("name"), name) {
		return params, nil
	}
	o.Set("name", name)
	return o.Append(make([]byte, 0, len(params)+len(name)+len(`{"name":,}`))), nil
}

// withRefName returns completion params whose ref names the plugin's own prompt.
func withRefName(params, name json.RawMessage) (json.RawMessage, error) {
	o, err := rawjson.ParseObject(params)
	if err != nil {
		return nil, invalidParams(err)
	}
	ref, err := withName(o.Get("ref"), name)
	if err != nil {
		return nil, err
	}
	o.Set("ref", ref)
	return o.Append(nil), nil
}

// arguments is the look-up of values that grants may bind.
func arguments(params json.RawMessage) func([]string) []string {
	return argument.Values(rawjson.Get(params, "arguments"))
}

func invalidParams(err error) error {
	return &runtime.GuestError{Code: jsonrpc.CodeInvalidParams, Message: "invalid params: " + err.Error()}
}
