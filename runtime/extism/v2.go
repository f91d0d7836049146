package extism

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// serveV2 serves a plugin of the second kind, each of whose exports it may leave out:
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

// requestContext is what the guest knows of the request. The number is the same for each: an instance
// serves one.
func requestContext(params json.RawMessage) []byte {
	meta := rawjson.Get(params, "_meta")
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

// withoutRef writes the type of a completion's ref as the guest knows it: prompt, resource.
func withoutRef(params json.RawMessage) json.RawMessage {
	kind, ok := rawjson.String(rawjson.Get(params, "ref", "type"))
	short, prefixed := strings.CutPrefix(kind, "ref/")
	if !ok || !prefixed {
		return params
	}
	o, err := rawjson.ParseObject(params)
	if err != nil {
		return params
	}
	ref, err := rawjson.ParseObject(o.Get("ref"))
	if err != nil {
		return params
	}
	ref.Set("type", rawjson.AppendString(nil, short))
	o.Set("ref", ref.Append(nil))
	return o.Append(nil)
}

// rootsChanged tells the guest that the client's folders are others now. Old guests read meta where
// new ones read context.
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
	value  json.RawMessage // nil if there is none
}

// exportsV2 are the exports that answer requests; a plugin has some of them.
func exportsV2() []string {
	return []string{"list_tools", "list_prompts", "list_resources", "list_resource_templates", "call_tool", "read_resource", "get_prompt", "complete"}
}

// describeV2 asks for each list that the guest has.
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

// appendLists writes an object of lists; the definitions in them lose members that are null.
func appendLists(dst []byte, lists []list) json.RawMessage {
	dst = append(dst, '{')
	for i, l := range lists {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(rawjson.AppendString(dst, l.member), ':')
		elements, err := rawjson.Elements(l.value)
		switch {
		case rawjson.IsNull(l.value):
			dst = append(dst, "[]"...)
		case err != nil:
			dst = append(dst, l.value...) // whoever reads the description says what is wrong with it
		default:
			dst = appendArray(dst, elements, withoutNulls)
		}
	}
	return append(dst, '}')
}
