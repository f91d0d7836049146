package registry

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// toolCaller calls tools and reads resources of the published catalog.
type toolCaller struct{ public *publisher }

var _ hostfuncs.Caller = toolCaller{}

// CallTool calls a tool on behalf of a running call. The callee has its own grants, bound to these arguments; the
// caller's grants do not extend them.
func (c toolCaller) CallTool(ctx context.Context, n hostfuncs.Nested) (json.RawMessage, error) {
	tool, ok := c.seen(n).Tool(n.Tool)
	if !ok {
		return nil, &runtime.AskError{Kind: runtime.KindInvalid, Message: fmt.Sprintf("there is no tool %q", n.Tool)}
	}
	input, err := tool.Input()
	if err != nil {
		return nil, &runtime.AskError{Kind: runtime.KindUnavailable, Message: fmt.Sprintf("the schema of %s cannot be used", n.Tool)}
	}
	if input != nil {
		if err := input.Validate(n.Arguments); err != nil {
			return nil, &runtime.AskError{Kind: runtime.KindInvalid, Message: fmt.Sprintf("the arguments of %s do not fit: %v", n.Tool, err)}
		}
	}
	params := jsonraw.Object{{Key: "name", Value: jsonraw.AppendString(nil, n.Tool)}, {Key: "arguments", Value: n.Arguments}}
	return tool.Call(ctx, nestedCall(n, params))
}

// Publisher returns the plugin of a resource that the caller of the running call may read.
func (c toolCaller) Publisher(n hostfuncs.Nested) string { return c.seen(n).Owner(n.URI) }

// ReadResource reads a resource on behalf of a running call. The callee has its own grants. A resource that n.Plugin no
// longer publishes is as one that is not there.
func (c toolCaller) ReadResource(ctx context.Context, n hostfuncs.Nested) (json.RawMessage, error) {
	all := c.seen(n)
	r, ok := all.Resource(n.URI)
	if !ok || all.Owner(n.URI) != n.Plugin {
		return nil, &runtime.AskError{Kind: runtime.KindInvalid, Message: fmt.Sprintf("there is no resource %q", n.URI)}
	}
	return catalog.ReadFor(ctx, r, nestedCall(n, jsonraw.Object{{Key: "uri", Value: jsonraw.AppendString(nil, n.URI)}}))
}

// seen returns the catalog that the caller of a running call sees.
func (c toolCaller) seen(n hostfuncs.Nested) *catalog.Snapshot {
	return c.public.snapshot().For(identity.Of(n.Principal, n.Roles))
}

// nestedCall returns the call of a callee.
func nestedCall(n hostfuncs.Nested, params jsonraw.Object) catalog.Call {
	if meta := n.Trace.Meta(); len(meta) > 0 {
		params.Set("_meta", meta.Append(nil))
	}
	return catalog.Call{
		Principal: n.Principal, Roles: n.Roles, Params: params.Append(nil), Trace: n.Trace, Client: n.Client, DryRun: n.DryRun, ReadOnly: n.ReadOnly, Chain: n.Chain,
	}
}
