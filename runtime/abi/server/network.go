package server

import (
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/runtime/abi/command"
)

// dials is set once standard error reports a connection that the server could not open.
type dials bool

// Write implements io.Writer for a host function.
func (d *dials) Write(p []byte) (int, error) {
	*d = *d || dials(command.Dials(p))
	return len(p), nil
}

// explained returns the result of a tool that failed for lack of a network with the reason behind it; any other result
// as it is.
func explained(result json.RawMessage) json.RawMessage {
	if string(jsonraw.Get(result, "isError")) != "true" || !command.Dials(result) {
		return result
	}
	o, err := jsonraw.ParseObject(result)
	if err != nil {
		return result
	}
	blocks, err := jsonraw.Elements(o.Get("content"))
	if err != nil {
		return result
	}
	text := jsonraw.Object{
		{Key: "type", Value: json.RawMessage(`"text"`)},
		{Key: "text", Value: jsonraw.AppendString(nil, command.NoNetwork)},
	}.Append(nil)
	o.Set("content", jsonraw.Array(append(blocks, text)))
	return o.Append(nil)
}

// explainedError is explained for an error of the server.
func explainedError(e *jsonrpc.Error) *jsonrpc.Error {
	if !command.Dials([]byte(e.Message)) {
		return e
	}
	told := *e
	told.Message += "; " + command.NoNetwork
	return &told
}
