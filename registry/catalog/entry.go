package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonschema"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
	"github.com/sallyport-mcp/sallyport/registry/uritemplate"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Tool is one published tool.
type Tool struct {
	Name       string          // public: unique in a Snapshot
	Local      string          // the plugin's own name of it
	Plugin     string          // the plugin's name
	Definition json.RawMessage // as in the manifest, with the public name
	AsksFirst  bool            // asks its first questions before its task begins

	readOnly      bool            // declares readOnlyHint, which is enforced
	local         json.RawMessage // Local as JSON
	server        Server
	audience      *audience
	input, output func() (*jsonschema.Schema, error)
}

func newTool(name, local string, definition json.RawMessage, p *Plugin) *Tool {
	t := &Tool{Name: name, Local: local, Plugin: p.Name, Definition: definition, server: p.Server}
	t.readOnly = string(jsonraw.Get(definition, "annotations", "readOnlyHint")) == "true"
	t.local = jsonraw.AppendString(nil, local)
	log := p.Logger
	t.input = sync.OnceValues(func() (*jsonschema.Schema, error) { return t.compile("inputSchema", log) })
	t.output = sync.OnceValues(func() (*jsonschema.Schema, error) { return t.compile("outputSchema", log) })
	return t
}

// Input returns the schema of the tool's arguments, compiled on first use.
func (t *Tool) Input() (*jsonschema.Schema, error) { return t.input() }

// Output returns the schema of the tool's structured content, compiled on first use; nil if the tool has none.
func (t *Tool) Output() (*jsonschema.Schema, error) { return t.output() }

// Limit returns the largest answer sent to a caller at once, in bytes, and the setting that sets it; 0 is no limit.
func (t *Tool) Limit(caller identity.Identity) (bytes int, setting string) {
	return t.server.Limit(caller)
}

// Keeps reports whether a call of a session sees plugin state from earlier calls, so that it cannot be rerun as if it
// were the first.
func (t *Tool) Keeps(session string) bool { return t.server.Keeps(session) }

// Digest returns the digest of the plugin file; empty for a plugin built into this process.
func (t *Tool) Digest() string { return t.server.Digest() }

// Terms returns a value that is unique to the tool's plugin, its grants and its configuration.
func (t *Tool) Terms() []byte { return t.server.Terms() }

func (t *Tool) compile(key string, log *slog.Logger) (*jsonschema.Schema, error) {
	raw := jsonraw.Get(t.Definition, key)
	if jsonraw.IsNull(raw) {
		return nil, nil
	}
	return jsonschema.Compile(raw, &jsonschema.Options{Exact: key == "inputSchema", Warn: func(msg string) {
		log.Warn("schema is not enforced in full", "plugin", t.Plugin, "tool", t.Local, "schema", key, "reason", msg)
	}})
}

// Run runs the tool. The caller ends the Run by Commit or Abort. It is safe for concurrent use. The error is a *Failure
// that wraps a *runtime.EndError or *runtime.GuestError.
func (t *Tool) Run(ctx context.Context, c Call) (Run, error) {
	r, err := t.request(c.Params)
	if err != nil {
		return nil, err
	}
	return t.server.Run(ctx, c, r)
}

// Call runs the tool for a plugin, commits its writes unless the answer has isError, and returns the answer unchanged.
// An answer over runtime.MaxReply is refused, and its writes are dropped. Errors are those of Run.
func (t *Tool) Call(ctx context.Context, c Call) (json.RawMessage, error) {
	return handOver(t.Run(ctx, c))
}

// handOver commits a run for a plugin, and returns its answer.
func handOver(run Run, err error) (json.RawMessage, error) {
	if err != nil {
		return nil, err
	}
	defer run.Abort(nil)
	answer := run.Answer()
	if len(answer) > runtime.MaxReply {
		return nil, run.Abort(&runtime.EndError{Kind: runtime.KindLimit,
			Message: fmt.Sprintf("the answer has %d bytes, and a plugin can be given %d", len(answer), runtime.MaxReply)})
	}
	if err := run.Commit(Verdict{Failed: string(jsonraw.Get(answer, "isError")) == "true"}); err != nil {
		return nil, err
	}
	return answer, nil
}

func (t *Tool) request(params json.RawMessage) (Request, error) {
	params, err := namedParams(params, t.local)
	if err != nil {
		return Request{}, err
	}
	return Request{Method: "tools/call", Kind: manifest.Tool, Entry: t.Local, Params: params, Values: arguments(params), ReadOnly: t.readOnly}, nil
}

// Prompt is one published prompt.
type Prompt struct {
	Name       string          // public: unique in a Snapshot
	Local      string          // the plugin's own name of it
	Plugin     string          // the plugin's name
	Definition json.RawMessage // as in the manifest, with the public name

	local    json.RawMessage // Local as JSON
	server   Server
	audience *audience
}

// Keeps reports whether a call of a session sees plugin state from earlier calls, as Tool.Keeps does.
func (p *Prompt) Keeps(session string) bool { return p.server.Keeps(session) }

// Get requests the prompt's messages from the plugin. It is used as Tool.Run.
func (p *Prompt) Get(ctx context.Context, c Call) (Run, error) {
	params, err := namedParams(c.Params, p.local)
	if err != nil {
		return nil, err
	}
	return p.server.Run(ctx, c, Request{Method: "prompts/get", Kind: manifest.Prompt, Entry: p.Local, Params: params, Values: arguments(params)})
}

// Complete requests completions for one of the prompt's arguments: completion/complete with a ref/prompt. It is used as
// Tool.Run.
func (p *Prompt) Complete(ctx context.Context, c Call) (Run, error) {
	params, err := completionParams(c.Params, p.local)
	if err != nil {
		return nil, err
	}
	return p.server.Run(ctx, c, Request{Method: "completion/complete", Kind: manifest.Prompt, Entry: p.Local, Params: params})
}

// Resource is one published resource.
type Resource struct {
	URI        string
	Plugin     string          // the plugin's name
	Definition json.RawMessage // as in the manifest

	server   Server
	audience *audience
}

// Keeps reports whether a call of a session sees plugin state from earlier calls, as Tool.Keeps does.
func (r *Resource) Keeps(session string) bool { return r.server.Keeps(session) }

// Read requests the resource's contents from the plugin. It is used as Tool.Run.
func (r *Resource) Read(ctx context.Context, c Call) (Run, error) {
	params, err := readParams(c.Params)
	if err != nil {
		return nil, err
	}
	return r.server.Run(ctx, c, Request{Method: "resources/read", Kind: manifest.Resource, Entry: r.URI, Params: params})
}

// Template is a published family of resources.
type Template struct {
	URITemplate string          // RFC 6570
	Plugin      string          // the plugin's name
	Definition  json.RawMessage // as in the manifest

	pattern  *uritemplate.Template
	server   Server
	audience *audience
}

// Keeps reports whether a call of a session sees plugin state from earlier calls, as Tool.Keeps does.
func (t *Template) Keeps(session string) bool { return t.server.Keeps(session) }

// Read requests the contents of params.uri, which matches the template. It is used as Tool.Run.
func (t *Template) Read(ctx context.Context, c Call) (Run, error) {
	params, err := readParams(c.Params)
	if err != nil {
		return nil, err
	}
	uri, _ := jsonraw.String(jsonraw.Get(params, "uri"))
	return t.server.Run(ctx, c, Request{
		Method: "resources/read", Kind: manifest.Template, Entry: t.URITemplate, URI: uri, Params: params,
		Values: grant.NamedValues(t.pattern.Values(uri)),
	})
}

// Complete requests completions for one of the template's variables: completion/complete with a ref/resource. It is
// used as Tool.Run.
func (t *Template) Complete(ctx context.Context, c Call) (Run, error) {
	params, err := completionParams(c.Params, nil)
	if err != nil {
		return nil, err
	}
	return t.server.Run(ctx, c, Request{Method: "completion/complete", Kind: manifest.Template, Entry: t.URITemplate, Params: params})
}
