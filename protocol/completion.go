package protocol

import (
	"context"
	"errors"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/result"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// complete serves completion/complete.
func complete(ctx context.Context, r *request) ([]byte, error) {
	if err := r.call.CheckKeys(); err != nil {
		return nil, err
	}
	for _, key := range []string{"name", "value"} {
		if !jsonraw.IsString(jsonraw.Get(r.call.Params, "argument", key)) {
			return nil, jsonrpc.InvalidParams("params.argument.%s must be a string", key)
		}
	}
	ask, name, err := findCompleter(ctx, r)
	if err != nil {
		return nil, err
	}
	if ask == nil {
		return r.reply(result.NoCompletion(), false), nil
	}
	call, err := r.forward(name)
	if err != nil {
		return nil, err
	}
	o, err := parsed(ask, result.Completion)(ctx, call)
	if cannotComplete(err) {
		return r.reply(result.NoCompletion(), false), nil
	}
	if err != nil {
		return nil, err
	}
	return r.reply(o, false), nil
}

// findCompleter finds the target of params.ref. It is nil for a resource without variables.
func findCompleter(ctx context.Context, r *request) (ask starter, name string, err error) {
	ref := jsonraw.Get(r.call.Params, "ref")
	switch kind, _ := jsonraw.String(jsonraw.Get(ref, "type")); kind {
	case "ref/prompt":
		name, _ = jsonraw.String(jsonraw.Get(ref, "name"))
		p, _, ok := find(ctx, r, func(s *catalog.Snapshot) (*catalog.Prompt, bool) { return s.Prompt(name) })
		if !ok {
			return nil, name, jsonrpc.InvalidParams("unknown prompt: %s%s", jsonrpc.Clip(name), r.soFar())
		}
		return p.Complete, name, nil
	case "ref/resource":
		name, _ = jsonraw.String(jsonraw.Get(ref, "uri"))
		ask, _, ok := find(ctx, r, func(s *catalog.Snapshot) (starter, bool) { return resourceCompleter(s, name) })
		if !ok {
			return nil, name, jsonrpc.InvalidParams("unknown resource: %s", jsonrpc.Clip(name))
		}
		return ask, name, nil
	}
	return nil, "", jsonrpc.InvalidParams("params.ref.type must be ref/prompt or ref/resource")
}

// resourceCompleter completes the variables of a template. Plain resources have no completions.
func resourceCompleter(s *catalog.Snapshot, uri string) (starter, bool) {
	if t, ok := s.Template(uri); ok {
		return t.Complete, true
	}
	_, ok := s.Resource(uri)
	return nil, ok
}

// cannotComplete reports whether an error only means that the plugin has no completions.
func cannotComplete(err error) bool {
	var guest *runtime.GuestError
	if errors.As(err, &guest) {
		return guest.Code == jsonrpc.CodeMethodNotFound
	}
	var end *runtime.EndError
	return errors.As(err, &end) && end.Kind == runtime.KindUnsupported
}
