package protocol

import (
	"context"
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
)

// getSkill serves skills/get.
func getSkill(_ context.Context, r *request) ([]byte, error) {
	uri, err := r.call.Text("uri")
	if err != nil {
		return nil, err
	}
	for _, skill := range r.view().Snapshot.Skills {
		if skill.URI == uri {
			return r.frame(jsonraw.Object{{Key: "skill", Value: skill.Entry}}, true), nil
		}
	}
	return nil, jsonrpc.InvalidParams("unknown skill: %s", jsonrpc.Clip(uri))
}

// readDirectory serves resources/directory/read: the entries of a folder in a skill.
func readDirectory(_ context.Context, r *request) ([]byte, error) {
	uri, err := r.call.Text("uri")
	if err != nil {
		return nil, err
	}
	for _, skill := range r.view().Snapshot.Skills {
		children, ok := skill.Children(uri)
		if !ok {
			continue
		}
		var list []json.RawMessage
		for _, c := range children {
			list = append(list, jsonraw.Object{
				{Key: "uri", Value: jsonraw.AppendString(nil, c.URI)},
				{Key: "name", Value: jsonraw.AppendString(nil, c.Name)},
				{Key: "mimeType", Value: jsonraw.AppendString(nil, c.MIMEType)},
			}.Append(nil))
		}
		return r.frame(jsonraw.Object{{Key: "resources", Value: jsonraw.Array(list)}}, true), nil
	}
	return nil, jsonrpc.InvalidParams("no directory: %s", jsonrpc.Clip(uri))
}
