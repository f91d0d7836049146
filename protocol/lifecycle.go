package protocol

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/sallyport-mcp/sallyport/protocol/apps"
	"github.com/sallyport-mcp/sallyport/protocol/ask"
	"github.com/sallyport-mcp/sallyport/protocol/era"
	"github.com/sallyport-mcp/sallyport/protocol/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/listing"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/protocol/stream"
)

// initialize begins a legacy session. A client that begins again, as bridges do when they
// reconnect, gets a new session on the same Conn.
func initialize(_ context.Context, r *request) ([]byte, error) {
	requested, err := r.member("protocolVersion")
	if err != nil {
		return nil, err
	}
	for _, key := range []string{"capabilities", "clientInfo"} {
		if v := rawjson.Get(r.params, key); v != nil && !rawjson.IsObject(v) {
			return nil, jsonrpc.InvalidParams("params.%s must be an object", key)
		}
	}
	version := era.Negotiate(requested)
	r.conn.ready.Store(false)
	r.conn.level.Store(int32(stream.Unset))
	declared := ask.Declared(rawjson.Get(r.params, "capabilities"))
	r.conn.capabilities.Store(&declared)
	r.conn.subscriptions.Forget()
	r.conn.forgetTasks()
	r.conn.version.Store(&version)
	r.initialized = version
	return r.prepared(r.initializeResult(version)), nil
}

func (r *request) initializeResult(version string) json.RawMessage {
	can := legacyCapabilities(r.conn.announcesChanges())
	if version == era.V20251125 {
		can = append(append(can[:len(can)-1], `,"tasks":`...), append(r.conn.legacyTasks(), '}')...)
	}
	o := rawjson.Object{
		{Key: "protocolVersion", Value: rawjson.AppendString(nil, version)},
		{Key: "capabilities", Value: can},
		{Key: "serverInfo", Value: r.server.info},
	}
	r.server.instruct(&o)
	return o.Append(nil)
}

// instruct adds the instructions, if there are any.
func (s *Server) instruct(o *rawjson.Object) {
	if s.opts.Instructions != "" {
		o.Set("instructions", rawjson.AppendString(nil, s.opts.Instructions))
	}
}

// legacyCapabilities says what a legacy session can use. All three lists are always there, even
// when they are empty: plugins come and go while a session lasts.
func legacyCapabilities(tells bool) json.RawMessage { return capabilities(strconv.FormatBool(tells)) }

// modernCapabilities says the same of the modern era, which hears of changes by subscriptions/listen.
func modernCapabilities(skills, pages bool) json.RawMessage {
	o := rawjson.Object{{Key: tasksExtension, Value: json.RawMessage("{}")}}
	if skills {
		o.Set(skillsExtension, json.RawMessage(`{"directoryRead":true}`))
	}
	if pages {
		o.Set(apps.Extension, json.RawMessage("{}"))
	}
	all := capabilities("true")
	all = append(append(all[:len(all)-1], `,"extensions":`...), o.Append(nil)...)
	return append(all, '}')
}

// capabilities is a server that tells of changes, or not: "true" or "false".
func capabilities(tells string) json.RawMessage {
	empty := json.RawMessage("{}")
	list := json.RawMessage(`{"listChanged":` + tells + `}`)
	return rawjson.Object{
		{Key: "completions", Value: empty},
		{Key: "logging", Value: empty},
		{Key: "prompts", Value: list},
		{Key: "resources", Value: json.RawMessage(`{"listChanged":` + tells + `,"subscribe":` + tells + `}`)},
		{Key: "tools", Value: list},
	}.Append(nil)
}

func (s *Server) discoverResult(skills, pages bool) json.RawMessage {
	o := rawjson.Object{
		{Key: "resultType", Value: json.RawMessage(`"complete"`)},
		{Key: "supportedVersions", Value: rawjson.Strings(era.Versions())},
		{Key: "capabilities", Value: modernCapabilities(skills, pages)},
	}
	s.instruct(&o)
	listing.Cacheable(&o, s.opts.ListTTL)
	o.Set("_meta", s.meta)
	return o.Append(nil)
}

// discover answers a modern client that wants to know what there is.
func discover(_ context.Context, r *request) ([]byte, error) {
	return r.prepared(r.server.current().Discover), nil
}

// ping shows that the server is alive.
func ping(_ context.Context, r *request) ([]byte, error) {
	return jsonrpc.AppendResult(nil, r.id, nil), nil
}

// setLevel sets the least level of log messages in a legacy session.
func setLevel(_ context.Context, r *request) ([]byte, error) {
	l, err := stream.ReadLevel(rawjson.Get(r.params, "level"))
	if err != nil {
		return nil, err
	}
	r.conn.level.Store(int32(l))
	return jsonrpc.AppendResult(nil, r.id, nil), nil
}
