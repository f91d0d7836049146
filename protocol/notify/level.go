package notify

import (
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
)

// Level is the severity of a log message, lowest first.
type Level int32

const (
	Unset Level = iota // not set by the client
	Debug
	Info
	Notice
	Warning
	Error
	Critical
	Alert
	Emergency
)

// DefaultLevel applies to a legacy session without logging/setLevel; the specification leaves it to the server. A
// modern request without a level gets no log messages.
const DefaultLevel = Info

// parseLevel parses the name of a level (RFC 5424). It returns Unset for anything else.
func parseLevel(raw json.RawMessage) Level {
	switch string(raw) {
	case `"debug"`:
		return Debug
	case `"info"`:
		return Info
	case `"notice"`:
		return Notice
	case `"warning"`:
		return Warning
	case `"error"`:
		return Error
	case `"critical"`:
		return Critical
	case `"alert"`:
		return Alert
	case `"emergency"`:
		return Emergency
	}
	return Unset
}

// ReadLevel parses a client's level. Other values are an error.
func ReadLevel(raw json.RawMessage) (Level, *jsonrpc.Error) {
	l := parseLevel(raw)
	if l == Unset {
		name, _ := jsonraw.String(raw)
		return l, jsonrpc.InvalidParams("unknown log level %q", name)
	}
	return l, nil
}
