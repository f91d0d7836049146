package protocol

import (
	"encoding/json"
	"slices"

	"github.com/sallyport-mcp/sallyport/protocol/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

// Keys of a request's params._meta that the modern era defines.
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaClientInfo   = "io.modelcontextprotocol/clientInfo"
	metaLogLevel     = "io.modelcontextprotocol/logLevel"
	metaServerInfo   = "io.modelcontextprotocol/serverInfo"
	metaProgress     = "progressToken"
)

// The protocol versions, newest first.
const (
	version20260728 = "2026-07-28"
	version20251125 = "2025-11-25"
	version20250618 = "2025-06-18"
	version20250326 = "2025-03-26"
	version20241105 = "2024-11-05"
)

// SupportedVersions returns every protocol version that is served, newest first.
func SupportedVersions() []string {
	return append([]string{version20260728}, legacyVersions()...)
}

func legacyVersions() []string {
	return []string{version20251125, version20250618, version20250326, version20241105}
}

// negotiate answers the version that a legacy client asked for in initialize: the same if we speak
// it, else the newest of that era.
func negotiate(requested string) string {
	if slices.Contains(legacyVersions(), requested) {
		return requested
	}
	return version20251125
}

// IsModern reports whether a request is of the modern era: its params._meta names a protocol
// version, whichever that is.
func IsModern(m *jsonrpc.Message) bool {
	return rawjson.Get(m.Params, "_meta", metaVersion) != nil
}

// ModernVersion returns the protocol version that the request's params._meta names; "" if there is
// none or it is no string.
func ModernVersion(m *jsonrpc.Message) string {
	v, _ := rawjson.String(rawjson.Get(m.Params, "_meta", metaVersion))
	return v
}

// envelope is what a request's params._meta says about the request itself.
type envelope struct {
	modern       bool
	version      json.RawMessage
	capabilities json.RawMessage
	clientInfo   json.RawMessage
	logLevel     json.RawMessage
	token        json.RawMessage // progressToken
}

// readEnvelope goes over params._meta once. It checks nothing.
func readEnvelope(params json.RawMessage) (e envelope) {
	s := rawjson.ScanObject(rawjson.Get(params, "_meta"))
	for s.Next() {
		switch {
		case s.KeyIs(metaVersion):
			e.version = first(e.version, s.Value)
		case s.KeyIs(metaCapabilities):
			e.capabilities = first(e.capabilities, s.Value)
		case s.KeyIs(metaClientInfo):
			e.clientInfo = first(e.clientInfo, s.Value)
		case s.KeyIs(metaLogLevel):
			e.logLevel = first(e.logLevel, s.Value)
		case s.KeyIs(metaProgress):
			e.token = first(e.token, s.Value)
		}
	}
	e.modern = e.version != nil
	return e
}

// first keeps the first of equal keys, as every other reader here does.
func first(old, v json.RawMessage) json.RawMessage {
	if old != nil {
		return old
	}
	return v
}

// check holds a modern request to what the era requires of its _meta.
func (e *envelope) check() *jsonrpc.Error {
	if string(e.version) != `"`+version20260728+`"` { // which is how all clients write it
		if s, ok := rawjson.String(e.version); !ok {
			return jsonrpc.InvalidParams("params._meta[%q] must be a string", metaVersion)
		} else if s != version20260728 {
			return unsupportedVersion(s)
		}
	}
	if !rawjson.IsObject(e.capabilities) {
		return jsonrpc.InvalidParams("params._meta needs %q, an object", metaCapabilities)
	}
	if e.clientInfo != nil && !rawjson.IsObject(e.clientInfo) {
		return jsonrpc.InvalidParams("params._meta[%q] must be an object", metaClientInfo)
	}
	return nil
}

func unsupportedVersion(requested string) *jsonrpc.Error {
	data := append([]byte(`{"supported":`), rawjson.Strings(SupportedVersions())...)
	data = append(data, `,"requested":`...)
	data = append(rawjson.AppendString(data, requested), '}')
	return &jsonrpc.Error{
		Code:    jsonrpc.CodeUnsupportedVersion,
		Message: "unsupported protocol version",
		Data:    data,
	}
}
