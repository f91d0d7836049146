package protocol

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/untrusted"
	"github.com/sallyport-mcp/sallyport/protocol/envelope"
)

// Extensions of the modern era supported by this host, in addition to package apps.
const (
	extensionTasks  = "io.modelcontextprotocol/tasks"  // calls that outlive their response
	extensionSkills = "io.modelcontextprotocol/skills" // instructions for a model, with their files
)

// serverInfo returns the description of a server: its name and version.
func serverInfo(name, version string) json.RawMessage {
	return jsonraw.Object{
		{Key: "name", Value: jsonraw.AppendString(nil, name)},
		{Key: "version", Value: jsonraw.AppendString(nil, version)},
	}.Append(nil)
}

// greeter is the self-description of a server.
type greeter struct{ Form envelope.Form }

// Discover returns the answer to server/discover. skills and pages report whether the server has skills and tools
// with pages. Changes are sent by subscriptions/listen.
func (s *greeter) Discover(skills, pages bool) json.RawMessage {
	extensions := jsonraw.Object{{Key: extensionTasks, Value: json.RawMessage("{}")}}
	if skills {
		extensions.Set(extensionSkills, json.RawMessage(`{"directoryRead":true}`))
	}
	if pages {
		extensions.Set(untrusted.UIExtension, json.RawMessage("{}"))
	}
	can := capabilities(true)
	can.Set("extensions", extensions.Append(nil))
	o := jsonraw.Object{
		{Key: "resultType", Value: json.RawMessage(`"complete"`)},
		{Key: "supportedVersions", Value: jsonraw.Strings(envelope.Versions())},
		{Key: "capabilities", Value: can.Append(nil)},
	}
	envelope.Uncached(&o)
	o.Set("_meta", s.Form.Meta)
	return o.Append(nil)
}

// discover serves server/discover of the modern era.
func discover(_ context.Context, r *request) ([]byte, error) {
	return r.prepared(r.view().Discover), nil
}

// capabilities returns the capabilities common to both eras.
func capabilities(tells bool) jsonraw.Object {
	empty, told := json.RawMessage("{}"), strconv.FormatBool(tells)
	list := json.RawMessage(`{"listChanged":` + told + `}`)
	return jsonraw.Object{
		{Key: "completions", Value: empty},
		{Key: "logging", Value: empty},
		{Key: "prompts", Value: list},
		{Key: "resources", Value: json.RawMessage(`{"listChanged":` + told + `,"subscribe":` + told + `}`)},
		{Key: "tools", Value: list},
	}
}
