package extism

import (
	"context"
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// userModules returns the import module names of hyper-mcp's host functions: the second is an old spelling that some
// tools write.
func userModules() []string { return []string{"extism:host/user", "extism:host/usr"} }

// userFuncs returns the host functions of hyper-mcp: MCP requests and notifications. Params and results are JSON in
// blocks. A denial is answered as hyper-mcp's contract provides.
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
		request("get_access_token", getAccessToken)
		request("get_keyring_secret", getKeyringSecret)
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

// notification forwards a notification to the gate; the guest gets no error. Functions without a parameter send no
// params. A change of a list is told when the list was read again.
func notification(method string) callFunc {
	return func(ctx context.Context, c *call, _ runtime.Memory, stack []uint64) {
		if changeable()[method] != nil && c.noteChange(method) {
			return
		}
		var params json.RawMessage
		if len(stack) > 0 {
			raw := c.text("a notification", stack[0], maxAsk)
			o, err := jsonraw.ParseObject(raw)
			if err != nil {
				return
			}
			params = o.Append(nil)
		}
		_, _ = ask(ctx, method, params, nil)
	}
}

// paramsOf parses a request's params, and ends the guest if they are not an object.
func (c *call) paramsOf(what string, offset uint64) jsonraw.Object {
	o, err := jsonraw.ParseObject(c.text(what, offset, maxAsk))
	if err != nil {
		fault("%s is not a JSON object: %v", what, err)
	}
	return o
}

// answerOr asks the gate and returns a block with its result, or with otherwise if the gate refuses. An empty
// otherwise ends the guest instead.
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

// createElicitation implements create_elicitation(request i64) -> i64, which asks the person. The mode defaults to
// form; a refused request counts as declined. The timeout member, in seconds, is removed: the call's limits apply
// instead.
func createElicitation(ctx context.Context, c *call, _ runtime.Memory, stack []uint64) {
	o := c.paramsOf("an elicitation", stack[0])
	if jsonraw.IsNull(o.Get("mode")) {
		o.Set("mode", json.RawMessage(`"form"`))
	}
	o.Delete("timeout")
	stack[0] = c.answerOr(ctx, "elicitation/create", o.Append(nil), `{"action":"decline"}`)
}

// createMessage implements create_message(request i64) -> i64, which asks the client's model. The ABI has no result
// for a denial, so a denial ends the guest.
func createMessage(ctx context.Context, c *call, _ runtime.Memory, stack []uint64) {
	o := c.paramsOf("a sampling request", stack[0])
	if messages, err := jsonraw.Elements(o.Get("messages")); err == nil {
		o.Set("messages", appendArray(nil, messages, samplingMessage))
	}
	stack[0] = c.answerOr(ctx, "sampling/createMessage", o.Append(nil), "")
}

// samplingMessage wraps a bare content block as {role, content}.
func samplingMessage(raw json.RawMessage) json.RawMessage {
	o, err := jsonraw.ParseObject(raw)
	if err != nil {
		return raw
	}
	if content := o.Get("content"); content != nil && o.Get("role") != nil {
		o.Set("content", contentOf(content))
		return o.Append(nil)
	}
	return append(append([]byte(`{"role":"user","content":`), contentBlock(raw)...), '}')
}

// listRoots implements list_roots() -> i64, which asks for the client's roots; an empty list if the gate refuses.
func listRoots(ctx context.Context, c *call, _ runtime.Memory, stack []uint64) {
	stack[0] = c.answerOr(ctx, "roots/list", nil, `{"roots":[]}`)
}
