package extism

import (
	"context"
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// userModules are the names that a guest may import the functions of a plugin host from: the second
// is an old spelling that some tools write.
func userModules() []string { return []string{"extism:host/user", "extism:host/usr"} }

// userFuncs are what plugins of hyper-mcp ask their host for: MCP's own requests and notifications.
// Params and results are JSON in blocks; what the gate refuses is answered as the plugin's makers
// foresaw.
func userFuncs() []runtime.HostFunc {
	const i64 = runtime.I64
	var funcs []runtime.HostFunc
	for _, module := range userModules() {
		request := func(name string, f callFunc) { funcs = append(funcs, hostFunc(module, name, []byte{i64}, i64, f)) }
		notify := func(name, method string) {
			funcs = append(funcs, hostFunc(module, name, []byte{i64}, 0, notification(method)))
		}
		changed := func(name, method string) {
			funcs = append(funcs, hostFunc(module, name, nil, 0, notification(method)))
		}
		request("create_elicitation", createElicitation)
		request("create_message", createMessage)
		request("get_access_token", func(_ context.Context, c *call, _ runtime.Memory, stack []uint64) { stack[0] = c.give([]byte("null")) })
		request("get_keyring_secret", func(_ context.Context, _ *call, _ runtime.Memory, stack []uint64) { stack[0] = 0 })
		funcs = append(funcs, hostFunc(module, "list_roots", nil, i64, listRoots))
		notify("notify_logging_message", "notifications/message")
		notify("notify_progress", "notifications/progress")
		notify("notify_resource_updated", "notifications/resources/updated")
		notify("notify_url_elicitation_completed", "notifications/elicitation/complete")
		changed("notify_tool_list_changed", "notifications/tools/list_changed")
		changed("notify_prompt_list_changed", "notifications/prompts/list_changed")
		changed("notify_resource_list_changed", "notifications/resources/list_changed")
	}
	return funcs
}

// notification passes on what nobody answers; that it is not taken is no fault of the guest. Without
// a parameter it has no params.
func notification(method string) callFunc {
	return func(ctx context.Context, c *call, _ runtime.Memory, stack []uint64) {
		var params json.RawMessage
		if len(stack) > 0 {
			raw := c.text("a notification", stack[0], maxAsk)
			o, err := rawjson.ParseObject(raw)
			if err != nil {
				return
			}
			params = o.Append(nil)
		}
		_, _ = ask(ctx, method, params, nil)
	}
}

// paramsOf reads a request's params, which ends the guest if they are no object.
func (c *call) paramsOf(what string, offset uint64) rawjson.Object {
	o, err := rawjson.ParseObject(c.text(what, offset, maxAsk))
	if err != nil {
		fault("%s is not a JSON object: %v", what, err)
	}
	return o
}

// answerOr asks and gives the guest the answer, or another one if the gate refuses.
func (c *call) answerOr(ctx context.Context, method string, params json.RawMessage, otherwise string) uint64 {
	result, err := ask(ctx, method, params, nil)
	switch {
	case err == nil:
		return c.give(result)
	case !refused(ctx, err) || otherwise == "":
		runtime.Abort(err)
	}
	return c.give([]byte(otherwise))
}

// create_elicitation(request i64) -> i64 asks the person. Without a mode it is a form; what cannot be
// asked counts as declined. The member timeout, in seconds, is the plugin's own patience: the call's
// limits hold instead.
func createElicitation(ctx context.Context, c *call, _ runtime.Memory, stack []uint64) {
	o := c.paramsOf("an elicitation", stack[0])
	if rawjson.IsNull(o.Get("mode")) {
		o.Set("mode", json.RawMessage(`"form"`))
	}
	o.Delete("timeout")
	stack[0] = c.answerOr(ctx, "elicitation/create", o.Append(nil), `{"action":"decline"}`)
}

// create_message(request i64) -> i64 asks the client's model. There is no answer that means no, so a
// refusal ends the guest.
func createMessage(ctx context.Context, c *call, _ runtime.Memory, stack []uint64) {
	o := c.paramsOf("a sampling request", stack[0])
	if messages, err := rawjson.Elements(o.Get("messages")); err == nil {
		o.Set("messages", appendArray(nil, messages, samplingMessage))
	}
	stack[0] = c.answerOr(ctx, "sampling/createMessage", o.Append(nil), "")
}

// samplingMessage makes {role, content} of a bare content block.
func samplingMessage(raw json.RawMessage) json.RawMessage {
	o, err := rawjson.ParseObject(raw)
	if err != nil {
		return raw
	}
	if content := o.Get("content"); content != nil && o.Get("role") != nil {
		o.Set("content", contentOf(content))
		return o.Append(nil)
	}
	return append(append([]byte(`{"role":"user","content":`), contentBlock(raw)...), '}')
}

// list_roots() -> i64 asks for the client's folders; what cannot be asked has none.
func listRoots(ctx context.Context, c *call, _ runtime.Memory, stack []uint64) {
	stack[0] = c.answerOr(ctx, "roots/list", nil, `{"roots":[]}`)
}
