// Package greeting is what the server says of itself when a client comes: the answers to initialize and server/discover.
//
// All lists are always offered, even when they are empty: plugins come and go while a client is there.
//
// This package is internal to Sallyport: it is not promised to others.
package greeting

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/sallyport-mcp/sallyport/protocol/apps"
	"github.com/sallyport-mcp/sallyport/protocol/era"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

// The extensions of the modern era that this host has, beside that of package apps.
const (
	Tasks  = "io.modelcontextprotocol/tasks"  // calls that go on after their answer
	Skills = "io.modelcontextprotocol/skills" // texts that teach a model, with the files they speak of
)

// Info is a description of a server: its name and version.
func Info(name, version string) json.RawMessage {
	return rawjson.Object{
		{Key: "name", Value: rawjson.AppendString(nil, name)},
		{Key: "version", Value: rawjson.AppendString(nil, version)},
	}.Append(nil)
}

// Server is what a server says of itself.
type Server struct {
	Form         era.Form
	Instructions string        // guidance for the model; "" leaves it out
	TTL          time.Duration // how long modern clients may keep the answer to server/discover
}

// Initialize is the answer to initialize of a session of that version. tells is whether it can hear of changes, and
// tasks what it can do with tasks, where it knows them.
func (s *Server) Initialize(version string, tells bool, tasks json.RawMessage) json.RawMessage {
	can := capabilities(tells)
	if version == era.V20251125 {
		can.Set("tasks", tasks)
	}
	o := rawjson.Object{
		{Key: "protocolVersion", Value: rawjson.AppendString(nil, version)},
		{Key: "capabilities", Value: can.Append(nil)},
		{Key: "serverInfo", Value: s.Form.Info},
	}
	s.instruct(&o)
	return o.Append(nil)
}

// Discover is the answer to server/discover, of a server that has skills, and tools with pages, or not. The modern era
// hears of changes by subscriptions/listen.
func (s *Server) Discover(skills, pages bool) json.RawMessage {
	extensions := rawjson.Object{{Key: Tasks, Value: json.RawMessage("{}")}}
	if skills {
		extensions.Set(Skills, json.RawMessage(`{"directoryRead":true}`))
	}
	if pages {
		extensions.Set(apps.Extension, json.RawMessage("{}"))
	}
	can := capabilities(true)
	can.Set("extensions", extensions.Append(nil))
	o := rawjson.Object{
		{Key: "resultType", Value: json.RawMessage(`"complete"`)},
		{Key: "supportedVersions", Value: rawjson.Strings(era.Versions())},
		{Key: "capabilities", Value: can.Append(nil)},
	}
	s.instruct(&o)
	era.Cacheable(&o, s.TTL)
	o.Set("_meta", s.Form.Meta)
	return o.Append(nil)
}

// instruct adds the instructions, if there are any.
func (s *Server) instruct(o *rawjson.Object) {
	if s.Instructions != "" {
		o.Set("instructions", rawjson.AppendString(nil, s.Instructions))
	}
}

// capabilities are those of both eras.
func capabilities(tells bool) rawjson.Object {
	empty, told := json.RawMessage("{}"), strconv.FormatBool(tells)
	list := json.RawMessage(`{"listChanged":` + told + `}`)
	return rawjson.Object{
		{Key: "completions", Value: empty},
		{Key: "logging", Value: empty},
		{Key: "prompts", Value: list},
		{Key: "resources", Value: json.RawMessage(`{"listChanged":` + told + `,"subscribe":` + told + `}`)},
		{Key: "tools", Value: list},
	}
}
