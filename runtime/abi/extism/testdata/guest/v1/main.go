// A plugin of the first kind, built with Extism's own PDK for Go.
package main

import (
	"encoding/json"
	"errors"

	"github.com/extism/go-pdk"
)

func main() {}

//go:wasmexport describe
func describe() int32 {
	pdk.OutputString(`{"tools":[{"name":"echo","title":null,"description":"says it again","inputSchema":{"type":"object"}}]}`)
	return 0
}

//go:wasmexport call
func call() int32 {
	var in struct {
		Params struct {
			Name      string         `json:"name"`
			Arguments map[string]any `json:"arguments"`
		} `json:"params"`
	}
	if err := pdk.InputJSON(&in); err != nil {
		pdk.SetError(err)
		return 1
	}
	switch in.Params.Name {
	case "echo":
		args, _ := json.Marshal(in.Params.Arguments)
		_ = pdk.OutputJSON(map[string]any{"isError": nil, "content": []any{map[string]any{"text": string(args), "data": nil}}})
	case "fail":
		pdk.SetError(errors.New("no such luck"))
		return 1
	case "code":
		return 7
	case "both":
		pdk.OutputString(`{"content":[]}`)
		pdk.SetErrorString("an error, and 0")
	case "text":
		pdk.OutputString("no JSON")
	case "large":
		pdk.Output(make([]byte, 1<<20))
	case "panic":
		panic("at the guest's")
	}
	return 0
}
