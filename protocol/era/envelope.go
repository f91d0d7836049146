package era

import (
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/protocol/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

// Keys of a _meta that the modern era defines: of a request, and the last of a result.
const (
	MetaVersion      = "io.modelcontextprotocol/protocolVersion"
	MetaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaClientInfo   = "io.modelcontextprotocol/clientInfo"
	metaLogLevel     = "io.modelcontextprotocol/logLevel"
	metaProgress     = "progressToken"
	MetaServerInfo   = "io.modelcontextprotocol/serverInfo"
)

// Envelope is what a request's params._meta says about the request itself, in the client's own bytes; nil is what it
// does not say. All but Token are of the modern era.
type Envelope struct {
	Modern       bool
	Capabilities json.RawMessage // what the client can be asked
	LogLevel     json.RawMessage // the least level of messages that it wants
	Token        json.RawMessage // progressToken

	version    json.RawMessage
	clientInfo json.RawMessage
}

// Read goes over params._meta once. It checks nothing.
func Read(params json.RawMessage) (e Envelope) {
	s := rawjson.ScanObject(rawjson.Get(params, "_meta"))
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

// Client is what the client says about itself; nil if it says nothing.
func (e *Envelope) Client() json.RawMessage { return e.clientInfo }

// first keeps the first of equal keys, as every other reader here does.
func first(old, v json.RawMessage) json.RawMessage {
	if old != nil {
		return old
	}
	return v
}

// CheckModern holds a modern request to what the era requires of its _meta.
func (e *Envelope) CheckModern() *jsonrpc.Error {
	if string(e.version) != `"`+V20260728+`"` { // which is how all clients write it
		if s, ok := rawjson.String(e.version); !ok {
			return jsonrpc.InvalidParams("params._meta[%q] must be a string", MetaVersion)
		} else if s != V20260728 {
			return unsupported(s)
		}
	}
	if !rawjson.IsObject(e.Capabilities) {
		return jsonrpc.InvalidParams("params._meta needs %q, an object", MetaCapabilities)
	}
	if e.clientInfo != nil && !rawjson.IsObject(e.clientInfo) {
		return jsonrpc.InvalidParams("params._meta[%q] must be an object", metaClientInfo)
	}
	return nil
}
