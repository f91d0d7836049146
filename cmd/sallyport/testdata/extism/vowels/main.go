// A plugin of hyper-mcp's first kind, built with Extism's own PDK for Go: one tool that counts vowels.
package main

import (
	"fmt"
	"strings"

	"github.com/extism/go-pdk"
)

func main() {}

//go:wasmexport describe
func describe() int32 {
	pdk.OutputString(`{"tools":[{"name":"count","description":"Counts the vowels of a text.",` +
		`"inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}]}`)
	return 0
}

//go:wasmexport call
func call() int32 {
	var in struct {
		Params struct {
			Name      string `json:"name"`
			Arguments struct {
				Text string `json:"text"`
			} `json:"arguments"`
		} `json:"params"`
	}
	if err := pdk.InputJSON(&in); err != nil {
		pdk.SetError(err)
		return 1
	}
	vowels, ok := pdk.GetConfig("vowels")
	if !ok {
		vowels = "aeiouAEIOU"
	}
	n := 0
	for _, r := range in.Params.Arguments.Text {
		if strings.ContainsRune(vowels, r) {
			n++
		}
	}
	text := fmt.Sprintf("%d vowels", n)
	if err := pdk.OutputJSON(map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}}); err != nil {
		pdk.SetError(err)
		return 1
	}
	return 0
}
