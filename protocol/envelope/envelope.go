package envelope

import (
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
)

// Keys in _meta defined by the modern era: of a request, and the last one of a result.
const (
	MetaVersion      = "io.modelcontextprotocol/protocolVersion"
	MetaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaClientInfo   = "io.modelcontextprotocol/clientInfo"
	metaLogLevel     = "io.modelcontextprotocol/logLevel"
	metaProgress     = "progressToken"
	MetaServerInfo   = "io.modelcontextprotocol/serverInfo"
)

// Envelope holds the members of params._meta about the request itself, as raw bytes; nil means absent. All except
// Token are of the modern era.
type Envelope struct {
	Modern       bool
	Capabilities json.RawMessage // ClientCapabilities
	LogLevel     json.RawMessage // lowest requested log level
	Token        json.RawMessage // progressToken

	version    json.RawMessage
	clientInfo json.RawMessage
}

// ReadEnvelope scans params._meta once. It validates nothing.
func ReadEnvelope(params json.RawMessage) (e Envelope) {
	s := jsonraw.ScanObject(jsonraw.Get(params, "_meta"))
	for s.Next() {
		switch {
		case s.KeyIs(MetaVersion):
			e.version = first(e.version, s.Value)
		case s.KeyIs(MetaCapabilities):
			e.Capabilities = first(e.Capabilities, s.Value)
		case s.KeyIs(metaClientInfo):
			e.clientInfo = first(e.clientInfo, s.Value)
		case s.KeyIs(metaLogLevel):
			e.LogLevel = first(e.LogLevel, s.Value)
		case s.KeyIs(metaProgress):
			e.Token = first(e.Token, s.Value)
		}
	}
	e.Modern = e.version != nil
	return e
}

// Client returns the client's self-description, or nil.
func (e *Envelope) Client() json.RawMessage { return e.clientInfo }

// first keeps the first of duplicate keys, like all other readers of this program.
func first(old, v json.RawMessage) json.RawMessage {
	if old != nil {
		return old
	}
	return v
}

// CheckModern validates the _meta of a modern request.
func (e *Envelope) CheckModern() *jsonrpc.Error {
	if string(e.version) != `"`+V20260728+`"` { // fast path for the usual spelling
		if s, ok := jsonraw.String(e.version); !ok {
			return jsonrpc.InvalidParams("params._meta[%q] must be a string", MetaVersion)
		} else if s != V20260728 {
			return unsupported(s)
		}
	}
	if !jsonraw.IsObject(e.Capabilities) {
		return jsonrpc.InvalidParams("params._meta needs %q, an object", MetaCapabilities)
	}
	if e.clientInfo != nil && !jsonraw.IsObject(e.clientInfo) {
		return jsonrpc.InvalidParams("params._meta[%q] must be an object", metaClientInfo)
	}
	return nil
}
