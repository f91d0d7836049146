package protocol

import (
	"context"
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/result"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
)

// getPrompt serves prompts/get.
func getPrompt(ctx context.Context, r *request) ([]byte, error) {
	if err := r.call.CheckKeys(); err != nil {
		return nil, err
	}
	name, err := r.call.Text("name")
	if err != nil {
		return nil, err
	}
	p, _, ok := find(ctx, r, func(s *catalog.Snapshot) (*catalog.Prompt, bool) { return s.Prompt(name) })
	if !ok {
		return nil, jsonrpc.InvalidParams("unknown prompt: %s%s", jsonrpc.Clip(name), r.soFar())
	}
	if err := checkPromptArguments(p.Definition, jsonraw.Get(r.call.Params, "arguments")); err != nil {
		return nil, err
	}
	call, err := r.forward(name)
	if err != nil {
		return nil, err
	}
	o, err := runResumable(ctx, r, p, call, parsed(p.Get, result.Prompt))
	if err != nil {
		return nil, err
	}
	return r.reply(o, false), nil
}

// checkPromptArguments requires string values and all required arguments of the definition.
func checkPromptArguments(definition, args json.RawMessage) error {
	if !jsonraw.IsNull(args) && !jsonraw.IsObject(args) {
		return jsonrpc.InvalidParams("params.arguments must be an object")
	}
	names := map[string]string{} // declared arguments, by folded name
	declared := jsonraw.ScanArray(jsonraw.Get(definition, "arguments"))
	for declared.Next() {
		name, _ := jsonraw.String(jsonraw.Get(declared.Value, "name"))
		names[jsonraw.Fold(name)] = name
		required := string(jsonraw.Get(declared.Value, "required")) == "true"
		if required && jsonraw.Get(args, name) == nil {
			return jsonrpc.InvalidParams("argument %q is required", name)
		}
	}
	return checkGiven(args, names)
}

// checkGiven requires string values and the exact spelling of declared names.
func checkGiven(args json.RawMessage, names map[string]string) error {
	given := jsonraw.ScanObject(args)
	for given.Next() {
		key := given.KeyString()
		if !jsonraw.IsString(given.Value) {
			return jsonrpc.InvalidParams("argument %q must be a string", jsonrpc.Clip(key))
		}
		if name, ok := names[jsonraw.Fold(key)]; ok && name != key {
			return jsonrpc.InvalidParams("argument %q is the argument %q in another case", jsonrpc.Clip(key), name)
		}
	}
	return nil
}
