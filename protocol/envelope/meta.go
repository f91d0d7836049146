package envelope

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/internal/trace"
)

// Keys in _meta defined by MCP: of a request, and the last one of a result.
const (
	MetaVersion      = "io.modelcontextprotocol/protocolVersion"
	MetaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaClientInfo   = "io.modelcontextprotocol/clientInfo"
	metaLogLevel     = "io.modelcontextprotocol/logLevel"
	metaProgress     = "progressToken"
	MetaServerInfo   = "io.modelcontextprotocol/serverInfo"
)

// Keys in _meta defined by this host: of a request, and the first one also of a result.
const (
	MetaSession = "dev.sallyport/session"        // the session of a modern client
	MaxBytes    = "dev.sallyport/maxBytes"       // lowers the answer limit, in bytes
	Once        = "dev.sallyport/idempotencyKey" // the same key and arguments are one call
	dryRun      = "dev.sallyport/dryRun"         // true: no effect is committed
	timeout     = "dev.sallyport/timeoutMs"      // lowers the time limit of the plugin
)

// Meta holds the members of a request's _meta that the host reads, as raw bytes; nil means absent. It is the only
// reader of the object.
type Meta struct {
	Raw          json.RawMessage // the whole object
	Modern       bool            // it has a protocol version
	Capabilities json.RawMessage // ClientCapabilities, of a modern request
	LogLevel     json.RawMessage // lowest requested log level, of a modern request
	Token        json.RawMessage // progressToken
	Session      json.RawMessage // a session handle or a request for one, of a modern request

	version    json.RawMessage
	clientInfo json.RawMessage
	options    *options // nil if it has none
	traced     bool     // it has a member of trace context
}

// options are the members defined by this host for one call.
type options struct{ maxBytes, dryRun, once, timeout json.RawMessage }

// ReadMeta scans a _meta object once. It validates nothing. Another value, or none, has no members.
func ReadMeta(raw json.RawMessage) Meta {
	m := Meta{Raw: raw}
	for s := jsonraw.ScanObject(raw); s.Next(); {
		if member := m.member(&s); member != nil && *member == nil { // of duplicate keys the first counts
			*member = s.Value
		}
	}
	m.Modern = m.version != nil
	return m
}

// member returns the field for the current member of a scan, or nil.
func (m *Meta) member(s *jsonraw.Scanner) *json.RawMessage {
	switch {
	case s.KeyIs(MetaVersion):
		return &m.version
	case s.KeyIs(MetaCapabilities):
		return &m.Capabilities
	case s.KeyIs(metaClientInfo):
		return &m.clientInfo
	case s.KeyIs(metaLogLevel):
		return &m.LogLevel
	case s.KeyIs(metaProgress):
		return &m.Token
	case s.KeyIs(MetaSession):
		return &m.Session
	case s.KeyIs(MaxBytes):
		return &m.own().maxBytes
	case s.KeyIs(dryRun):
		return &m.own().dryRun
	case s.KeyIs(Once):
		return &m.own().once
	case s.KeyIs(timeout):
		return &m.own().timeout
	case s.KeyIs(trace.KeyParent), s.KeyIs(trace.KeyBaggage):
		m.traced = true
	}
	return nil
}

// own returns the options, to set them.
func (m *Meta) own() *options {
	if m.options == nil {
		m.options = &options{}
	}
	return m.options
}

// Version returns the protocol version, or nil.
func (m *Meta) Version() json.RawMessage { return m.version }

// Client returns the client's self-description, or nil.
func (m *Meta) Client() json.RawMessage { return m.clientInfo }

// Declares reports whether the client declares an extension.
func (m *Meta) Declares(extension string) bool {
	return jsonraw.IsObject(jsonraw.Get(m.Capabilities, "extensions", extension))
}

// Timeout returns the client's time limit for the plugin, or 0 if there is none. A limit of 0 ms is the shortest one.
func (m *Meta) Timeout() time.Duration {
	if m.options == nil {
		return 0
	}
	ms, err := strconv.ParseUint(string(m.options.timeout), 10, 31)
	if err != nil {
		return 0
	}
	return max(1, time.Duration(ms)*time.Millisecond)
}

// Trace returns the client's trace context.
func (m *Meta) Trace() trace.Context {
	if !m.traced {
		return trace.Context{}
	}
	return trace.Read(m.Raw)
}

// CheckModern validates the members that each modern request has.
func (m *Meta) CheckModern() *jsonrpc.Error {
	if string(m.version) != `"`+V20260728+`"` { // fast path for the usual spelling
		if s, ok := jsonraw.String(m.version); !ok {
			return jsonrpc.InvalidParams("params._meta[%q] must be a string", MetaVersion)
		} else if s != V20260728 {
			return unsupported(s)
		}
	}
	if !jsonraw.IsObject(m.Capabilities) {
		return jsonrpc.InvalidParams("params._meta needs %q, an object", MetaCapabilities)
	}
	if m.clientInfo != nil && !jsonraw.IsObject(m.clientInfo) {
		return jsonrpc.InvalidParams("params._meta[%q] must be an object", metaClientInfo)
	}
	return nil
}

// CheckToken validates the progress token.
func (m *Meta) CheckToken() *jsonrpc.Error {
	if m.Token != nil && !jsonraw.IsString(m.Token) && !jsonraw.IsInteger(m.Token) {
		return jsonrpc.InvalidParams("params._meta.progressToken must be a string or an integer")
	}
	return nil
}
