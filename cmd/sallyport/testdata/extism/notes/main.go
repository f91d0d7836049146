// A plugin of hyper-mcp's second kind, built with Extism's own PDK for Go: it has some of everything.
package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/extism/go-pdk"
)

func main() {}

// request is what each export is given.
type request struct {
	Request struct {
		Name      string            `json:"name"`
		URI       string            `json:"uri"`
		Arguments map[string]string `json:"arguments"`
		Ref       struct {
			Type string `json:"type"`
		} `json:"ref"`
		Argument struct {
			Name  string `json:"name"`
			Value string `json:"value"`
		} `json:"argument"`
	} `json:"request"`
	Context struct {
		ID   json.RawMessage `json:"id"`
		Meta map[string]any  `json:"_meta"`
	} `json:"context"`
}

type object = map[string]any

// notes are all that there is.
func notes() []string { return []string{"milk", "tea", "coffee"} }

// serve reads the request and writes what f makes of it.
func serve(f func(r *request) (any, error)) int32 {
	var r request
	err := pdk.InputJSON(&r)
	var result any
	if err == nil {
		result, err = f(&r)
	}
	if err == nil {
		err = pdk.OutputJSON(result)
	}
	if err != nil {
		pdk.SetError(err)
		return 1
	}
	return 0
}

// is gives the same answer to every request.
func is(result any) int32 { return serve(func(*request) (any, error) { return result, nil }) }

//go:wasmexport list_tools
func listTools() int32 {
	return is(object{"tools": []any{object{
		"name": "find", "title": nil, "description": "Finds notes that hold a text.",
		"inputSchema":  object{"type": "object", "properties": object{"text": object{"type": "string"}}, "required": []string{"text"}},
		"outputSchema": object{"type": "object", "properties": object{"found": object{"type": "array", "items": object{"type": "string"}}}, "required": []string{"found"}},
	}}})
}

//go:wasmexport call_tool
func callTool() int32 {
	return serve(func(r *request) (any, error) {
		if r.Request.Name != "find" || len(r.Context.ID) == 0 || r.Context.Meta == nil {
			return nil, fmt.Errorf("not a call of find: %+v", r)
		}
		if r.Request.Arguments["text"] == "" {
			return object{"content": []any{object{"text": "an empty text is everywhere"}}, "isError": true}, nil
		}
		found := []string{}
		for _, n := range notes() {
			if strings.Contains(n, r.Request.Arguments["text"]) {
				found = append(found, n)
			}
		}
		return object{"content": []any{object{"type": "text", "text": strings.Join(found, ", ")}}, "structuredContent": object{"found": found}}, nil
	})
}

//go:wasmexport list_prompts
func listPrompts() int32 {
	return is(object{"prompts": []any{object{"name": "describe", "description": "Asks about a note.",
		"arguments": []any{object{"name": "note", "required": true}}}}})
}

//go:wasmexport get_prompt
func getPrompt() int32 {
	return serve(func(r *request) (any, error) {
		return object{"description": nil, "messages": []any{object{"role": "user",
			"content": object{"type": "text", "text": "What is " + r.Request.Arguments["note"] + "?"}}}}, nil
	})
}

//go:wasmexport list_resources
func listResources() int32 {
	return is(object{"resources": []any{object{"uri": "notes://all", "name": "all", "mimeType": "text/plain"}}})
}

//go:wasmexport list_resource_templates
func listResourceTemplates() int32 {
	return is(object{"resourceTemplates": []any{object{"uriTemplate": "notes://note/{name}", "name": "note"}}})
}

//go:wasmexport read_resource
func readResource() int32 {
	return serve(func(r *request) (any, error) {
		text := strings.Join(notes(), "\n")
		if name, one := strings.CutPrefix(r.Request.URI, "notes://note/"); one {
			text = "the note " + name
		}
		return object{"contents": []any{object{"uri": r.Request.URI, "mimeType": "text/plain", "text": text}}}, nil
	})
}

//go:wasmexport complete
func complete() int32 {
	return serve(func(r *request) (any, error) {
		if t := r.Request.Ref.Type; t != "prompt" && t != "resource" {
			return nil, fmt.Errorf("a ref of type %q", t)
		}
		values := []string{}
		for _, n := range notes() {
			if strings.HasPrefix(n, r.Request.Argument.Value) {
				values = append(values, n)
			}
		}
		return object{"completion": object{"values": values, "total": len(values), "hasMore": false}}, nil
	})
}
