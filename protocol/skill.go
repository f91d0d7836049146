package protocol

import (
	"context"
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/protocol/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

// getSkill serves skills/get.
func getSkill(_ context.Context, r *request) ([]byte, error) {
	uri, err := r.member("uri")
	if err != nil {
		return nil, err
	}
	for _, skill := range r.current().Snapshot.Skills {
		if skill.URI == uri {
			return r.frame(rawjson.Object{{Key: "skill", Value: skill.Entry}}, true), nil
		}
	}
	return nil, jsonrpc.InvalidParams("unknown skill: %s", jsonrpc.Clip(uri))
}

// readDirectory serves resources/directory/read: the entries of a folder in a skill.
func readDirectory(_ context.Context, r *request) ([]byte, error) {
	uri, err := r.member("uri")
	if err != nil {
		return nil, err
	}
	for _, skill := range r.current().Snapshot.Skills {
		children, ok := skill.Children(uri)
		if !ok {
			continue
		}
		var list []json.RawMessage
		for _, c := range children {
			list = append(list, rawjson.Object{
				{Key: "uri", Value: rawjson.AppendString(nil, c.URI)},
				{Key: "name", Value: rawjson.AppendString(nil, c.Name)},
				{Key: "mimeType", Value: rawjson.AppendString(nil, c.MIMEType)},
			}.Append(nil))
		}
		return r.frame(rawjson.Object{{Key: "resources", Value: rawjson.Array(list)}}, true), nil
	}
	return nil, jsonrpc.InvalidParams("no directory: %s", jsonrpc.Clip(uri))
}
