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

// toolCaller calls tools of the published catalog.
type toolCaller struct{ public *publisher }

var _ hostfuncs.Caller = toolCaller{}

// CallTool calls a tool on behalf of a running call. The callee has its own grants, bound to these arguments; the
// caller's grants do not extend them.
func (c toolCaller) CallTool(ctx context.Context, n hostfuncs.Nested) (json.RawMessage, error) {
	tool, ok := c.public.snapshot().For(identity.Of(n.Principal, n.Roles)).Tool(n.Tool)
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
	if meta := n.Trace.Meta(); len(meta) > 0 {
		params.Set("_meta", meta.Append(nil))
	}
	return tool.Call(ctx, catalog.Call{
		Principal: n.Principal, Roles: n.Roles, Params: params.Append(nil), Trace: n.Trace, Client: n.Client, DryRun: n.DryRun, ReadOnly: n.ReadOnly, Chain: n.Chain,
	})
}
