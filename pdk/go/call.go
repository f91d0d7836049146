package sallyport

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/sallyport-mcp/sallyport/pdk/go/internal/jsontext"
)

// Call is one request to the plugin, and has a method for each request that the plugin may make of the host meanwhile.
// It is valid only until its handler returns.
type Call struct {
	host    Host
	method  string
	params  params
	meta    map[string]json.RawMessage
	hasMeta bool
	done    chan struct{} // of Context; nil until it is called
	over    bool          // the host accepts no more requests of the call
}

// params are the members of a request that this package reads, each by its exact name: encoding/json would accept
// "Name" for "name", which the host has not checked.
type params struct {
	Name      string
	URI       string
	Arguments json.RawMessage
	Meta      json.RawMessage
	Ref       struct{ Type, Name, URI string }
	Argument  struct{ Name, Value string }
	Context   struct{ Arguments map[string]string }
}

func (p *params) read(raw []byte) error {
	return jsontext.Members(raw, func(key string, value []byte) error {
		switch key {
		case "name":
			return readText(key, value, &p.Name)
		case "uri":
			return readText(key, value, &p.URI)
		case "arguments":
			p.Arguments = bytes.Clone(value)
		case "_meta":
			p.Meta = bytes.Clone(value)
		case "ref":
			return readTexts(value, map[string]*string{"type": &p.Ref.Type, "name": &p.Ref.Name, "uri": &p.Ref.URI})
		case "argument":
			return readTexts(value, map[string]*string{"name": &p.Argument.Name, "value": &p.Argument.Value})
		case "context":
			return members(value, func(key string, value []byte) error {
				if key != "arguments" {
					return nil
				}
				return json.Unmarshal(value, &p.Context.Arguments)
			})
		}
		return nil
	})
}

// members is jsontext.Members for an object or null.
func members(raw []byte, f func(key string, value []byte) error) error {
	if string(raw) == "null" {
		return nil
	}
	return jsontext.Members(raw, f)
}

// readText decodes the text value of the member key.
func readText(key string, raw []byte, into *string) error {
	s, ok := jsontext.Unquote(raw)
	if !ok && string(raw) != "null" {
		return errors.New(key + " must be a string")
	}
	*into = s
	return nil
}

// readTexts decodes the members of an object with these names.
func readTexts(raw []byte, into map[string]*string) error {
	return members(raw, func(key string, value []byte) error {
		if text := into[key]; text != nil {
			return readText(key, value, text)
		}
		return nil
	})
}

// Method returns the MCP method: tools/call, resources/read, prompts/get or completion/complete.
func (c *Call) Method() string { return c.method }

// Name returns the name of the tool or prompt, as registered by this plugin; in a completion, of the prompt it is for.
func (c *Call) Name() string { return c.params.Name }

// URI returns the URI of the requested resource; in a completion, of the template it is for.
func (c *Call) URI() string { return c.params.URI }

// Arguments returns the arguments as sent by the client, or nil if there are none.
func (c *Call) Arguments() json.RawMessage { return c.params.Arguments }

// Meta returns one member of the request's _meta, or nil if it is absent.
func (c *Call) Meta(key string) json.RawMessage {
	if !c.hasMeta {
		c.hasMeta = true
		_ = json.Unmarshal(c.params.Meta, &c.meta) // an invalid _meta has no members
	}
	return c.meta[key]
}

// Progress reports the progress of the call to the caller: done of total, with an optional short message. A total of
// 0 is unknown. done must increase from one report to the next. Nothing is sent if the caller did not request
// progress.
func (c *Call) Progress(done, total float64, message string) {
	token := c.Meta("progressToken")
	if token == nil || string(token) == "null" {
		return
	}
	p := struct {
		Token    json.RawMessage `json:"progressToken"`
		Progress float64         `json:"progress"`
		Total    float64         `json:"total,omitempty"`
		Message  string          `json:"message,omitempty"`
	}{token, done, total, message}
	_ = c.Ask("notifications/progress", p, nil) // not fatal: the notification is best effort
}

// Level is the severity of a log message.
type Level string

// Levels of MCP, in order of increasing severity.
const (
	LevelDebug     Level = "debug"
	LevelInfo      Level = "info"
	LevelNotice    Level = "notice"
	LevelWarning   Level = "warning"
	LevelError     Level = "error"
	LevelCritical  Level = "critical"
	LevelAlert     Level = "alert"
	LevelEmergency Level = "emergency"
)

// Log sends data, any JSON value, to the client's log. The host drops messages that the client did not request. The
// operator's log is os.Stderr.
func (c *Call) Log(level Level, logger string, data any) {
	p := struct {
		Level  Level  `json:"level"`
		Logger string `json:"logger,omitempty"`
		Data   any    `json:"data"`
	}{level, logger, data}
	_ = c.Ask("notifications/message", p, nil) // not fatal: the notification is best effort
}

// Debug logs a message at [LevelDebug], with optional key, value pairs.
func (c *Call) Debug(message string, pairs ...any) { c.Log(LevelDebug, "", record(message, pairs)) }

// Info logs a message at [LevelInfo], with optional key, value pairs.
func (c *Call) Info(message string, pairs ...any) { c.Log(LevelInfo, "", record(message, pairs)) }

// Warn logs a message at [LevelWarning], with optional key, value pairs.
func (c *Call) Warn(message string, pairs ...any) { c.Log(LevelWarning, "", record(message, pairs)) }

// Error logs a message at [LevelError], with optional key, value pairs.
func (c *Call) Error(message string, pairs ...any) { c.Log(LevelError, "", record(message, pairs)) }

// record returns the message alone, or an object with the message and its pairs.
func record(message string, pairs []any) any {
	if len(pairs) == 0 {
		return message
	}
	m := map[string]any{"message": message}
	for i := 0; i+1 < len(pairs); i += 2 {
		key, ok := pairs[i].(string)
		if !ok {
			key = "!key" + itoa(int64(i/2))
		}
		m[key] = pairs[i+1]
	}
	return m
}

// ToolsChanged sets the visible tools of this plugin, by the names under which they are registered. All others are
// hidden. [Call.ShowTools] and [Call.HideTools] change only the given tools.
func (c *Call) ToolsChanged(visible ...string) error { return c.changed("tools", "visible", visible) }

// ShowTools adds [Hidden] tools to the list.
func (c *Call) ShowTools(names ...string) error { return c.changed("tools", "show", names) }

// HideTools removes tools from the list. Clients can no longer call them.
func (c *Call) HideTools(names ...string) error { return c.changed("tools", "hide", names) }

// PromptsChanged is [Call.ToolsChanged] for prompts.
func (c *Call) PromptsChanged(visible ...string) error {
	return c.changed("prompts", "visible", visible)
}

// ShowPrompts is [Call.ShowTools] for prompts.
func (c *Call) ShowPrompts(names ...string) error { return c.changed("prompts", "show", names) }

// HidePrompts is [Call.HideTools] for prompts.
func (c *Call) HidePrompts(names ...string) error { return c.changed("prompts", "hide", names) }

// ResourcesChanged is [Call.ToolsChanged] for resources and templates, which are identified by their URIs.
func (c *Call) ResourcesChanged(visible ...string) error {
	return c.changed("resources", "visible", visible)
}

// ShowResources is [Call.ShowTools] for resources and templates.
func (c *Call) ShowResources(uris ...string) error { return c.changed("resources", "show", uris) }

// HideResources is [Call.HideTools] for resources and templates.
func (c *Call) HideResources(uris ...string) error { return c.changed("resources", "hide", uris) }

// Caller is the identity of a caller, as far as the plugin's grants show it: parts that no line grants, and those of
// callers without a name, are empty.
type Caller struct {
	Pseudonym string   // a name for this plugin alone, the same in each call
	Principal string   // the name in the host's audit log
	Groups    []string // of the caller's sign-in
}

// Caller returns the identity of the caller. It needs a caller grant.
func (c *Call) Caller() (Caller, error) {
	var answer struct {
		Pseudonym string   `json:"pseudonym"`
		Principal string   `json:"principal"`
		Groups    []string `json:"groups"`
	}
	err := c.Ask("caller/get", nil, &answer)
	return Caller(answer), err
}

// Release ends the caller's connection while the call continues, to free resources before minutes of work. The caller
// fetches the result later. It has no effect if the client does not support that.
func (c *Call) Release() { _ = c.Ask("client/release", nil, nil) }

// ResourceUpdated notifies clients that the content of a resource has changed.
func (c *Call) ResourceUpdated(uri string) error {
	return c.Ask("notifications/resources/updated", map[string]string{"uri": uri}, nil)
}

func (c *Call) changed(list, verb string, names []string) error {
	if names == nil {
		names = []string{}
	}
	return c.Ask("notifications/"+list+"/list_changed", map[string][]string{verb: names}, nil)
}
