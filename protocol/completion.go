package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/sallyport-mcp/sallyport/protocol/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/registry/catalogue"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// maxCompletions is how many values one completion may have, by the specification.
const maxCompletions = 100

// completer is what completion/complete can refer to.
type completer func(ctx context.Context, c catalogue.Call) (json.RawMessage, error)

// complete serves completion/complete.
func complete(ctx context.Context, r *request) ([]byte, error) {
	if err := r.unambiguous(); err != nil {
		return nil, err
	}
	for _, key := range []string{"name", "value"} {
		if !rawjson.IsString(rawjson.Get(r.params, "argument", key)) {
			return nil, jsonrpc.InvalidParams("params.argument.%s must be a string", key)
		}
	}
	ask, name, err := r.completer(ctx)
	if err != nil {
		return nil, err
	}
	if ask == nil {
		return r.reply(noCompletion(), false), nil
	}
	call, err := r.forward(name)
	if err != nil {
		return nil, err
	}
	raw, err := ask(ctx, call)
	if cannotComplete(err) {
		return r.reply(noCompletion(), false), nil
	}
	if err != nil {
		return nil, err
	}
	o, err := checkCompletion(raw)
	if err != nil {
		return nil, err
	}
	return r.reply(o, false), nil
}

// completer finds what params.ref names. It is nil for a resource without variables.
func (r *request) completer(ctx context.Context) (ask completer, name string, err error) {
	ref := rawjson.Get(r.params, "ref")
	switch kind, _ := rawjson.String(rawjson.Get(ref, "type")); kind {
	case "ref/prompt":
		name, _ = rawjson.String(rawjson.Get(ref, "name"))
		p, _, ok := find(ctx, r.server, func(s *catalogue.Snapshot) (*catalogue.Prompt, bool) { return s.Prompt(name) })
		if !ok {
			return nil, name, jsonrpc.InvalidParams("unknown prompt: %s", jsonrpc.Clip(name))
		}
		return p.Complete, name, nil
	case "ref/resource":
		name, _ = rawjson.String(rawjson.Get(ref, "uri"))
		ask, _, ok := find(ctx, r.server, func(s *catalogue.Snapshot) (completer, bool) { return resourceCompleter(s, name) })
		if !ok {
			return nil, name, jsonrpc.InvalidParams("unknown resource: %s", jsonrpc.Clip(name))
		}
		return ask, name, nil
	}
	return nil, "", jsonrpc.InvalidParams("params.ref.type must be ref/prompt or ref/resource")
}

// resourceCompleter completes a template's variables; a resource that is none has nothing to complete.
func resourceCompleter(s *catalogue.Snapshot, uri string) (completer, bool) {
	if t, ok := s.Template(uri); ok {
		return t.Complete, true
	}
	_, ok := s.Resource(uri)
	return nil, ok
}

// cannotComplete reports whether an error only says that the plugin offers no completions.
func cannotComplete(err error) bool {
	var guest *runtime.GuestError
	if errors.As(err, &guest) {
		return guest.Code == jsonrpc.CodeMethodNotFound
	}
	var end *runtime.EndError
	return errors.As(err, &end) && end.Kind == runtime.KindUnsupported
}

func noCompletion() rawjson.Object {
	return rawjson.Object{{Key: "completion", Value: json.RawMessage(`{"values":[]}`)}}
}

// checkCompletion checks the values and keeps the first hundred of them, without what nobody sees.
func checkCompletion(raw json.RawMessage) (rawjson.Object, error) {
	o, err := parseResult(raw)
	if err != nil {
		return nil, err
	}
	completion := o.Get("completion")
	if !rawjson.IsObject(completion) {
		return nil, misshapen("completion must be an object")
	}
	values, err := rawjson.Elements(rawjson.Get(completion, "values"))
	if err != nil {
		return nil, misshapen("completion.values must be an array")
	}
	for i, v := range values {
		if !rawjson.IsString(v) {
			return nil, misshapen("completion.values[%d] must be a string", i)
		}
	}
	c, err := rawjson.ParseObject(completion)
	if err != nil {
		return nil, misshapen("completion: %v", err)
	}
	if total := c.Get("total"); !rawjson.IsInteger(total) {
		c.Delete("total")
	}
	if more := string(c.Get("hasMore")); more != "true" && more != "false" {
		c.Delete("hasMore")
	}
	if len(values) > maxCompletions {
		cutCompletion(&c, values)
	}
	cleanText(&c, "values")
	o.Set("completion", c.Append(nil))
	return o, nil
}

func cutCompletion(c *rawjson.Object, values []json.RawMessage) {
	c.Set("values", rawjson.Array(values[:maxCompletions]))
	c.Set("hasMore", json.RawMessage("true"))
	if c.Get("total") == nil {
		c.Set("total", strconv.AppendInt(nil, int64(len(values)), 10))
	}
}
