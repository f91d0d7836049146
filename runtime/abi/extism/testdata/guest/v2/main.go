// A plugin of the second kind, built with Extism's own PDK for Go: it has everything.
package main

import (
	"encoding/json"

	"github.com/extism/go-pdk"
)

//go:wasmimport extism:host/user create_elicitation
func createElicitation(uint64) uint64

//go:wasmimport extism:host/user create_message
func createMessage(uint64) uint64

//go:wasmimport extism:host/usr list_roots
func listRoots() uint64

//go:wasmimport extism:host/user get_keyring_secret
func getKeyringSecret(uint64) uint64

//go:wasmimport extism:host/user get_access_token
func getAccessToken(uint64) uint64

//go:wasmimport extism:host/user notify_progress
func notifyProgress(uint64)

//go:wasmimport extism:host/user notify_logging_message
func notifyLoggingMessage(uint64)

//go:wasmimport extism:host/usr notify_resource_updated
func notifyResourceUpdated(uint64)

//go:wasmimport extism:host/user notify_tool_list_changed
func notifyToolListChanged()

func main() {}

type object = map[string]any

func text(offset uint64) string {
	m := pdk.FindMemory(offset)
	return string(m.ReadBytes())
}

func block(s string) uint64 {
	m := pdk.AllocateString(s)
	return m.Offset()
}

// grown says that the instance has a second tool.
var grown bool

//go:wasmexport list_tools
func listTools() int32 {
	if grown {
		notifyToolListChanged() // a notice from within list_tools has no effect
		pdk.OutputString(`{"tools":[{"name":"echo","inputSchema":{"type":"object"}},{"name":"more","inputSchema":{"type":"object"}}]}`)
		return 0
	}
	pdk.OutputString(`{"tools":[{"name":"echo","description":null,"inputSchema":{"type":"object"}}]}`)
	return 0
}

//go:wasmexport list_prompts
func listPrompts() int32 {
	pdk.OutputString(`{"prompts":[{"name":"greet","arguments":[{"name":"who"}]}]}`)
	return 0
}

//go:wasmexport list_resources
func listResources() int32 {
	pdk.OutputString(`{"resources":[{"uri":"demo:a","name":"a"}],"nextCursor":null}`)
	return 0
}

//go:wasmexport list_resource_templates
func listResourceTemplates() int32 {
	pdk.OutputString(`{"resourceTemplates":[{"uriTemplate":"demo:{x}","name":"x"}]}`)
	return 0
}

// echo answers with the whole input.
func echo() string { return pdk.InputString() }

//go:wasmexport call_tool
func callTool() int32 {
	var in struct {
		Request struct{ Name string }
	}
	if err := pdk.InputJSON(&in); err != nil {
		pdk.SetError(err)
		return 1
	}
	out := echo()
	switch in.Request.Name {
	case "ask":
		notifyProgress(block(`{"progressToken":"t","progress":1}`))
		notifyLoggingMessage(block(`{"level":"info","data":"hello"}`))
		notifyResourceUpdated(block(`{"uri":"demo:a"}`))
		notifyToolListChanged()
		pdk.Log(pdk.LogWarn, "a warning")
		all, _ := json.Marshal([]string{
			text(createElicitation(block(`{"message":"?","requestedSchema":{},"timeout":5}`))), text(listRoots()),
			text(getKeyringSecret(block(`{"service":"a","user":"b"}`))), text(getAccessToken(block(`{}`))),
		})
		out = string(all)
	case "grow":
		grown = true
		notifyToolListChanged()
		notifyToolListChanged()
		out = "grown"
	case "sample":
		out = text(createMessage(block(`{"messages":[{"text":"hi"},{"role":"assistant","content":{"type":"text","text":"ho"}}],"maxTokens":5}`)))
	case "config":
		value, ok := pdk.GetConfig("key")
		_, none := pdk.GetConfig("none")
		both, _ := json.Marshal([]any{value, ok, none})
		out = string(both)
	case "vars":
		before := pdk.GetVar("v")
		pdk.SetVar("v", []byte("kept"))
		pair, _ := json.Marshal([]string{string(before), string(pdk.GetVar("v"))})
		out = string(pair)
		pdk.RemoveVar("v")
		if pdk.GetVar("v") != nil {
			out = "it is still there"
		}
	case "fetch":
		req := pdk.NewHTTPRequest(pdk.MethodPost, "https://a.example/x").SetHeader("A", "b").SetBody([]byte{0, 1, 255})
		res := req.Send()
		all, _ := json.Marshal([]any{res.Status(), string(res.Body()), res.Headers()})
		out = string(all)
	}
	_ = pdk.OutputJSON(object{"content": []object{{"text": out}}, "structuredContent": nil})
	return 0
}

//go:wasmexport read_resource
func readResource() int32 {
	_ = pdk.OutputJSON(object{"contents": []object{{"uri": "demo:a", "text": echo(), "mimeType": nil}}})
	return 0
}

//go:wasmexport get_prompt
func getPrompt() int32 {
	_ = pdk.OutputJSON(object{"messages": []object{{"role": "user", "content": object{"text": echo()}}}})
	return 0
}

//go:wasmexport complete
func complete() int32 {
	_ = pdk.OutputJSON(object{"completion": object{"values": []string{echo()}}})
	return 0
}

//go:wasmexport on_roots_list_changed
func onRootsListChanged() int32 {
	pdk.Log(pdk.LogInfo, echo())
	return 0
}
