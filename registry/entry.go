package registry

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/sallyport-mcp/sallyport/hostfuncs/argument"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/protocol/schema"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
	"github.com/sallyport-mcp/sallyport/registry/uritemplate"
)

// entryKey is an entry within its plugin: a tool and a prompt may have the same name.
type entryKey struct {
	kind manifest.Kind
	id   string // local name, URI or template
}

// Tool is one published tool.
type Tool struct {
	Name       string          // public: unique in a Snapshot
	Local      string          // what the plugin calls it
	Plugin     string          // the plugin's name
	Definition json.RawMessage // as the plugin wrote it, with the public name
	AsksFirst  bool            // it asks its client before it begins what takes long

	readOnly      bool            // it says that it changes nothing, and is held to that
	local         json.RawMessage // Local as JSON
	from          *generation
	input, output func() (*schema.Schema, error)
}

func newTool(name, local string, definition json.RawMessage, from *generation) *Tool {
	t := &Tool{Name: name, Local: local, Plugin: from.plugin.name, Definition: definition, from: from}
	t.readOnly = string(rawjson.Get(definition, "annotations", "readOnlyHint")) == "true"
	t.local = rawjson.AppendString(nil, local)
	t.input = sync.OnceValues(func() (*schema.Schema, error) { return t.compile("inputSchema") })
	t.output = sync.OnceValues(func() (*schema.Schema, error) { return t.compile("outputSchema") })
	return t
}

// Input returns the schema of the tool's arguments, compiled at the first use.
func (t *Tool) Input() (*schema.Schema, error) { return t.input() }

// Output returns the schema of the tool's structured content, compiled at the first use; nil if the
// tool has none.
func (t *Tool) Output() (*schema.Schema, error) { return t.output() }

// Limit is how many bytes of an answer go to the caller at once; 0 is no bound.
func (t *Tool) Limit() int { return t.from.output }

// Keeps reports whether a call of a session finds what earlier ones left in the plugin, so that it cannot be run again
// as if it were new.
func (t *Tool) Keeps(session string) bool { return t.from.keeps(session) }

// Digest is that of the plugin's bytes; empty for a plugin of this process.
func (t *Tool) Digest() string {
	if t.from.module == nil {
		return ""
	}
	return t.from.module.Digest
}

func (t *Tool) compile(key string) (*schema.Schema, error) {
	raw := rawjson.Get(t.Definition, key)
	if rawjson.IsNull(raw) {
		return nil, nil
	}
	return schema.Compile(raw, &schema.Options{Warn: func(msg string) {
		t.from.log.Warn("schema is not enforced in full", "plugin", t.Plugin, "tool", t.Local, "schema", key, "reason", msg)
	}})
}

// Call asks the plugin to run the tool and returns its result as the plugin wrote it. It is safe
// for concurrent use. The error is a *Failure around *runtime.EndError or *runtime.GuestError.
func (t *Tool) Call(ctx context.Context, c Call) (json.RawMessage, error) {
	params, err := withName(c.Params, t.local)
	if err != nil {
		return nil, err
	}
	return t.from.call(ctx, c, request{method: "tools/call", kind: manifest.Tool, entry: t.Local, params: params, values: arguments(params), readOnly: t.readOnly})
}

// arguments is the look-up of values that grants may bind.
func arguments(params json.RawMessage) func([]string) []string {
	return argument.Values(rawjson.Get(params, "arguments"))
}

// Prompt is one published prompt.
type Prompt struct {
	Name       string          // public: unique in a Snapshot
	Local      string          // what the plugin calls it
	Plugin     string          // the plugin's name
	Definition json.RawMessage // as the plugin wrote it, with the public name

	local json.RawMessage // Local as JSON
	from  *generation
}

// Keeps is that of Tool.
func (p *Prompt) Keeps(session string) bool { return p.from.keeps(session) }

// Get asks the plugin for the prompt's messages. It is safe for concurrent use; errors are those of
// Tool.Call.
func (p *Prompt) Get(ctx context.Context, c Call) (json.RawMessage, error) {
	params, err := withName(c.Params, p.local)
	if err != nil {
		return nil, err
	}
	return p.from.call(ctx, c, request{method: "prompts/get", kind: manifest.Prompt, entry: p.Local, params: params, values: arguments(params)})
}

// Complete asks the plugin to complete one of the prompt's arguments: completion/complete with a
// ref/prompt. Errors are those of Tool.Call.
func (p *Prompt) Complete(ctx context.Context, c Call) (json.RawMessage, error) {
	params, err := withRefName(c.Params, p.local)
	if err != nil {
		return nil, err
	}
	return p.from.call(ctx, c, request{method: "completion/complete", kind: manifest.Prompt, entry: p.Local, params: params})
}

// Resource is one published resource.
type Resource struct {
	URI        string
	Plugin     string          // the plugin's name
	Definition json.RawMessage // as the plugin wrote it

	from *generation
}

// Keeps is that of Tool.
func (r *Resource) Keeps(session string) bool { return r.from.keeps(session) }

// Read asks the plugin for the resource's contents. It is safe for concurrent use; errors are those
// of Tool.Call.
func (r *Resource) Read(ctx context.Context, c Call) (json.RawMessage, error) {
	return r.from.call(ctx, c, request{method: "resources/read", kind: manifest.Resource, entry: r.URI, params: c.Params})
}

// Template is a published family of resources.
type Template struct {
	URITemplate string          // RFC 6570
	Plugin      string          // the plugin's name
	Definition  json.RawMessage // as the plugin wrote it

	pattern *uritemplate.Template
	from    *generation
}

// Keeps is that of Tool.
func (t *Template) Keeps(session string) bool { return t.from.keeps(session) }

// Read asks the plugin for the contents of params.uri, which the template matches. It is safe for
// concurrent use; errors are those of Tool.Call.
func (t *Template) Read(ctx context.Context, c Call) (json.RawMessage, error) {
	uri, _ := rawjson.String(rawjson.Get(c.Params, "uri"))
	return t.from.call(ctx, c, request{
		method: "resources/read", kind: manifest.Template, entry: t.URITemplate, uri: uri, params: c.Params,
		values: argument.Named(t.pattern.Values(uri)),
	})
}

// Complete asks the plugin to complete one of the template's variables: completion/complete with a
// ref/resource. Errors are those of Tool.Call.
func (t *Template) Complete(ctx context.Context, c Call) (json.RawMessage, error) {
	return t.from.call(ctx, c, request{method: "completion/complete", kind: manifest.Template, entry: t.URITemplate, params: c.Params})
}
