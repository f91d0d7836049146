package catalogue

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"

	"github.com/sallyport-mcp/sallyport/hostfuncs/argument"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/protocol/schema"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
	"github.com/sallyport-mcp/sallyport/registry/uritemplate"
)

// Tool is one published tool.
type Tool struct {
	Name       string          // public: unique in a Snapshot
	Local      string          // what the plugin calls it
	Plugin     string          // the plugin's name
	Definition json.RawMessage // as the plugin wrote it, with the public name
	AsksFirst  bool            // it asks its client before it begins what takes long

	readOnly      bool            // it says that it changes nothing, and is held to that
	local         json.RawMessage // Local as JSON
	server        Server
	audience      *audience
	input, output func() (*schema.Schema, error)
}

func newTool(name, local string, definition json.RawMessage, p *Plugin) *Tool {
	t := &Tool{Name: name, Local: local, Plugin: p.Name, Definition: definition, server: p.Server}
	t.readOnly = string(rawjson.Get(definition, "annotations", "readOnlyHint")) == "true"
	t.local = rawjson.AppendString(nil, local)
	log := p.Logger
	t.input = sync.OnceValues(func() (*schema.Schema, error) { return t.compile("inputSchema", log) })
	t.output = sync.OnceValues(func() (*schema.Schema, error) { return t.compile("outputSchema", log) })
	return t
}

// Input returns the schema of the tool's arguments, compiled at the first use.
func (t *Tool) Input() (*schema.Schema, error) { return t.input() }

// Output returns the schema of the tool's structured content, compiled at the first use; nil if the
// tool has none.
func (t *Tool) Output() (*schema.Schema, error) { return t.output() }

// Limit is how many bytes of an answer go to the caller at once; 0 is no bound.
func (t *Tool) Limit() int { return t.server.Limit() }

// Keeps reports whether a call of a session finds what earlier ones left in the plugin, so that it cannot be run again
// as if it were new.
func (t *Tool) Keeps(session string) bool { return t.server.Keeps(session) }

// Digest is that of the plugin's bytes; empty for a plugin of this process.
func (t *Tool) Digest() string { return t.server.Digest() }

// Terms tell the tool's plugin under its grants and its configuration from every other.
func (t *Tool) Terms() []byte { return t.server.Terms() }

func (t *Tool) compile(key string, log *slog.Logger) (*schema.Schema, error) {
	raw := rawjson.Get(t.Definition, key)
	if rawjson.IsNull(raw) {
		return nil, nil
	}
	return schema.Compile(raw, &schema.Options{Exact: key == "inputSchema", Warn: func(msg string) {
		log.Warn("schema is not enforced in full", "plugin", t.Plugin, "tool", t.Local, "schema", key, "reason", msg)
	}})
}

// Call asks the plugin to run the tool and returns its result as the plugin wrote it. It is safe
// for concurrent use. The error is a *Failure around *runtime.EndError or *runtime.GuestError.
func (t *Tool) Call(ctx context.Context, c Call) (json.RawMessage, error) {
	params, err := namedParams(c.Params, t.local)
	if err != nil {
		return nil, err
	}
	return t.server.Serve(ctx, c, Request{Method: "tools/call", Kind: manifest.Tool, Entry: t.Local, Params: params, Values: arguments(params), ReadOnly: t.readOnly})
}

// Prompt is one published prompt.
type Prompt struct {
	Name       string          // public: unique in a Snapshot
	Local      string          // what the plugin calls it
	Plugin     string          // the plugin's name
	Definition json.RawMessage // as the plugin wrote it, with the public name

	local    json.RawMessage // Local as JSON
	server   Server
	audience *audience
}

// Keeps is that of Tool.
func (p *Prompt) Keeps(session string) bool { return p.server.Keeps(session) }

// Get asks the plugin for the prompt's messages. It is safe for concurrent use; errors are those of
// Tool.Call.
func (p *Prompt) Get(ctx context.Context, c Call) (json.RawMessage, error) {
	params, err := namedParams(c.Params, p.local)
	if err != nil {
		return nil, err
	}
	return p.server.Serve(ctx, c, Request{Method: "prompts/get", Kind: manifest.Prompt, Entry: p.Local, Params: params, Values: arguments(params)})
}

// Complete asks the plugin to complete one of the prompt's arguments: completion/complete with a
// ref/prompt. Errors are those of Tool.Call.
func (p *Prompt) Complete(ctx context.Context, c Call) (json.RawMessage, error) {
	params, err := completionParams(c.Params, p.local)
	if err != nil {
		return nil, err
	}
	return p.server.Serve(ctx, c, Request{Method: "completion/complete", Kind: manifest.Prompt, Entry: p.Local, Params: params})
}

// Resource is one published resource.
type Resource struct {
	URI        string
	Plugin     string          // the plugin's name
	Definition json.RawMessage // as the plugin wrote it

	server   Server
	audience *audience
}

// Keeps is that of Tool.
func (r *Resource) Keeps(session string) bool { return r.server.Keeps(session) }

// Read asks the plugin for the resource's contents. It is safe for concurrent use; errors are those
// of Tool.Call.
func (r *Resource) Read(ctx context.Context, c Call) (json.RawMessage, error) {
	params, err := readParams(c.Params)
	if err != nil {
		return nil, err
	}
	return r.server.Serve(ctx, c, Request{Method: "resources/read", Kind: manifest.Resource, Entry: r.URI, Params: params})
}

// Template is a published family of resources.
type Template struct {
	URITemplate string          // RFC 6570
	Plugin      string          // the plugin's name
	Definition  json.RawMessage // as the plugin wrote it

	pattern  *uritemplate.Template
	server   Server
	audience *audience
}

// Keeps is that of Tool.
func (t *Template) Keeps(session string) bool { return t.server.Keeps(session) }

// Read asks the plugin for the contents of params.uri, which the template matches. It is safe for
// concurrent use; errors are those of Tool.Call.
func (t *Template) Read(ctx context.Context, c Call) (json.RawMessage, error) {
	params, err := readParams(c.Params)
	if err != nil {
		return nil, err
	}
	uri, _ := rawjson.String(rawjson.Get(params, "uri"))
	return t.server.Serve(ctx, c, Request{
		Method: "resources/read", Kind: manifest.Template, Entry: t.URITemplate, URI: uri, Params: params,
		Values: argument.Named(t.pattern.Values(uri)),
	})
}

// Complete asks the plugin to complete one of the template's variables: completion/complete with a
// ref/resource. Errors are those of Tool.Call.
func (t *Template) Complete(ctx context.Context, c Call) (json.RawMessage, error) {
	params, err := completionParams(c.Params, nil)
	if err != nil {
		return nil, err
	}
	return t.server.Serve(ctx, c, Request{Method: "completion/complete", Kind: manifest.Template, Entry: t.URITemplate, Params: params})
}
