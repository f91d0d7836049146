package protocol

import (
	"context"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/envelope"
)

// eras is a set of eras.
type eras uint8

const (
	legacy eras = 1 << iota
	modern
	both = legacy | modern
)

// handler answers one request with the complete response message. Errors are converted by request.fail, the only
// place that defines their wire format.
type handler func(ctx context.Context, r *request) ([]byte, error)

// method is one row of the method table.
type method struct {
	eras eras
	// handle is nil for a known method that is not implemented. Clients see it as unknown.
	handle handler
	// quick marks methods answered without a plugin. They are immediate, so they are neither counted nor cancelled.
	quick bool
	// lists marks methods that wait for the complete catalog at startup.
	lists bool
	// early marks methods that a legacy client may call before initialize.
	early bool
}

// lookup is the method table.
func lookup(name string) (m method, known bool) {
	switch name {
	case "tools/call":
		return method{eras: both, handle: callTool}, true
	case "resources/read":
		return method{eras: both, handle: readResource}, true
	case "prompts/get":
		return method{eras: both, handle: getPrompt}, true
	case "completion/complete":
		return method{eras: both, handle: complete}, true

	case "tools/list":
		return method{eras: both, handle: listTools, quick: true, lists: true}, true
	case "resources/list":
		return method{eras: both, handle: listResources, quick: true, lists: true}, true
	case "resources/templates/list":
		return method{eras: both, handle: listTemplates, quick: true, lists: true}, true
	case "prompts/list":
		return method{eras: both, handle: listPrompts, quick: true, lists: true}, true

	case "server/discover":
		return method{eras: modern, handle: discover, quick: true}, true
	case "skills/list":
		return method{eras: modern, handle: listSkills, quick: true, lists: true}, true
	case "skills/get":
		return method{eras: modern, handle: getSkill, quick: true}, true
	case "resources/directory/read":
		return method{eras: modern, handle: readDirectory, quick: true}, true
	case "initialize":
		return method{eras: legacy, handle: initialize, quick: true, early: true}, true
	case "ping":
		return method{eras: legacy, handle: ping, quick: true, early: true}, true
	case "logging/setLevel":
		return method{eras: legacy, handle: setLevel, quick: true}, true

	case "resources/subscribe":
		return method{eras: legacy, handle: subscribe}, true
	case "resources/unsubscribe":
		return method{eras: legacy, handle: unsubscribe, quick: true}, true
	case listenMethod:
		return method{eras: modern, handle: listen}, true
	case "tasks/get":
		return method{eras: both, handle: getTask}, true
	case "tasks/result":
		return method{eras: legacy, handle: taskResult}, true
	case "tasks/list":
		return method{eras: legacy, handle: listTasks}, true
	case "tasks/update":
		return method{eras: modern, handle: updateTask}, true
	case "tasks/cancel":
		return method{eras: both, handle: cancelTask}, true
	}
	return method{}, false
}

// route finds the method of a request. session is the version of the legacy session, or "" before initialize.
func route(c *envelope.Call, session string) (method, *jsonrpc.Error) {
	m, known := lookup(c.Method)
	switch {
	case c.Modern && m.eras&modern != 0 && m.handle != nil:
		return m, nil
	case c.Modern:
		return m, notFound(c.Method)
	case strings.HasPrefix(c.Method, "notifications/"):
		return m, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "a notification has no id"}
	case !known || m.handle == nil:
		return m, notFound(c.Method)
	case session == "" && !m.early:
		return m, jsonrpc.InvalidParams("params._meta needs %q; a client of an older version begins with initialize", envelope.MetaVersion)
	case m.eras&legacy == 0:
		return m, notFound(c.Method)
	}
	return m, nil
}

func notFound(method string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "method not found: " + jsonrpc.Clip(method)}
}
