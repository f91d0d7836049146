package protocol

import (
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/protocol/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

// level is the severity of a log message, least first.
type level int32

const (
	levelUnset level = iota // the client said nothing
	levelDebug
	levelInfo
	levelNotice
	levelWarning
	levelError
	levelCritical
	levelAlert
	levelEmergency
)

// defaultLevel holds in a legacy session that never called logging/setLevel; the specification
// leaves the choice to us. A modern request without a level gets no messages at all.
const defaultLevel = levelInfo

// parseLevel reads the name of a level (RFC 5424). It returns levelUnset for anything else.
func parseLevel(raw json.RawMessage) level {
	switch string(raw) {
	case `"debug"`:
		return levelDebug
	case `"info"`:
		return levelInfo
	case `"notice"`:
		return levelNotice
	case `"warning"`:
		return levelWarning
	case `"error"`:
		return levelError
	case `"critical"`:
		return levelCritical
	case `"alert"`:
		return levelAlert
	case `"emergency"`:
		return levelEmergency
	}
	return levelUnset
}

// requireLevel is parseLevel for a client's word, which must be a level.
func requireLevel(raw json.RawMessage) (level, *jsonrpc.Error) {
	l := parseLevel(raw)
	if l == levelUnset {
		name, _ := rawjson.String(raw)
		return l, jsonrpc.InvalidParams("unknown log level %q", name)
	}
	return l, nil
}
