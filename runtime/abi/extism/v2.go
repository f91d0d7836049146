package extism

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// serveV2 serves a plugin of the second version, whose exports are all optional:
//
//	plugin/describe      list_tools, list_prompts, list_resources, list_resource_templates: {context}
//	tools/call           call_tool      {request, context}   request: the params
//	resources/read       read_resource
//	prompts/get          get_prompt
//	completion/complete  complete       with the type of its ref without "ref/"
//
// A context is {id, _meta}: _meta is the request's own, with its progress token.
func serveV2(ctx context.Context, s *session, req runtime.Request) (json.RawMessage, error) {
	switch req.Method {
	case "plugin/describe":
		return s.describeV2(ctx)
	case "tools/call":
		return s.request(ctx, "call_tool", req, req.Params)
	case "resources/read":
		return s.request(ctx, "read_resource", req, req.Params)
	case "prompts/get":
		return s.request(ctx, "get_prompt", req, req.Params)
	case "completion/complete":
		return s.request(ctx, "complete", req, withoutRef(req.Params))
	case "notifications/roots/list_changed":
		return s.rootsChanged(ctx)
	}
	return nil, noMethod(req.Method)
}

// requestContext returns the context of a request. Its ID is constant, since an instance serves one request at a time.
func requestContext(params json.RawMessage) []byte {
	meta := jsonraw.Get(params, "_meta")
	return append(append([]byte(`{"id":1,"_meta":`), orEmpty(meta)...), '}')
}

// request calls an export with the params of a request.
func (s *session) request(ctx context.Context, export string, req runtime.Request, params json.RawMessage) (json.RawMessage, error) {
	if !s.in.HasExport(export) {
		return nil, noMethod(req.Method)
	}
	out, o, err := s.object(ctx, export, []byte(`{"request":`), orEmpty(params), []byte(`,"context":`), requestContext(req.Params), []byte("}"))
	if err != nil {
		return nil, err
	}
	return tidyResult(out, o), nil
}

// withoutRef converts the type of a completion's ref to the guest's form: prompt, resource.
func withoutRef(params json.RawMessage) json.RawMessage {
	kind, ok := jsonraw.String(jsonraw.Get(params, "ref", "type"))
	short, prefixed := strings.CutPrefix(kind, "ref/")
	if !ok || !prefixed {
		return params
	}
	o, err := jsonraw.ParseObject(params)
	if err != nil {
		return params
	}
	ref, err := jsonraw.ParseObject(o.Get("ref"))
	if err != nil {
		return params
	}
	ref.Set("type", jsonraw.AppendString(nil, short))
	o.Set("ref", ref.Append(nil))
	return o.Append(nil)
}

// rootsChanged notifies the guest that the client's roots changed. Older guests read meta instead of context.
func (s *session) rootsChanged(ctx context.Context) (json.RawMessage, error) {
	const export = "on_roots_list_changed"
	if !s.in.HasExport(export) {
		return nil, noMethod("notifications/roots/list_changed")
	}
	if _, err := s.invoke(ctx, export, []byte(`{"_meta":{},"meta":{},"context":{"_meta":{}}}`)); err != nil {
		return nil, err
	}
	return json.RawMessage("{}"), nil
}

// list is one list of a plugin's description.
type list struct {
	member string
	value  json.RawMessage // nil if absent
}

// exportsV2 returns the exports that serve requests; a plugin has some of them.
func exportsV2() []string {
	return []string{"list_tools", "list_prompts", "list_resources", "list_resource_templates", "call_tool", "read_resource", "get_prompt", "complete"}
}

// describeV2 calls each list export of the guest.
func (s *session) describeV2(ctx context.Context) (json.RawMessage, error) {
	if !slices.ContainsFunc(exportsV2(), s.in.HasExport) {
		return nil, guestFault("this Extism plugin is not made for MCP: it exports neither describe and call nor list_tools, list_prompts, list_resources or list_resource_templates")
	}
	input := append(append([]byte(`{"context":`), requestContext(nil)...), '}')
	lists := []list{{member: "tools"}, {member: "prompts"}, {member: "resources"}, {member: "resourceTemplates"}}
	for i, export := range []string{"list_tools", "list_prompts", "list_resources", "list_resource_templates"} {
		if !s.in.HasExport(export) {
			continue
		}
		_, o, err := s.object(ctx, export, input)
		if err != nil {
			return nil, err
		}
		lists[i].value = o.Get(lists[i].member)
	}
	return appendLists(nil, lists), nil
}

// appendLists appends an object of lists, and drops null members from their definitions.
func appendLists(dst []byte, lists []list) json.RawMessage {
	dst = append(dst, '{')
	for i, l := range lists {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(jsonraw.AppendString(dst, l.member), ':')
		elements, err := jsonraw.Elements(l.value)
		switch {
		case jsonraw.IsNull(l.value):
			dst = append(dst, "[]"...)
		case err != nil:
			dst = append(dst, l.value...) // the reader of the description reports the error
		default:
			dst = appendArray(dst, elements, withoutNulls)
		}
	}
	return append(dst, '}')
}
