// Tools is a plugin of hyper-mcp's first kind with the three tools of the comparison, built with Extism's own PDK for Go
// as its authors write them. Its package workload is cmd/bench/internal/workload, by an overlay of the build.
package main

import (
	"encoding/json"
	"fmt"

	"github.com/extism/go-pdk"

	"example.com/tools/workload"
)

func main() {}

//go:wasmexport describe
func describe() int32 {
	pdk.OutputString(`{"tools":[
{"name":"echo","description":"answers with its text","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}},
{"name":"report","description":"totals sales by region","inputSchema":{"type":"object","properties":{"title":{"type":"string"},
"sales":{"type":"array","items":{"type":"object","properties":{"region":{"type":"string"},"product":{"type":"string"},"quantity":{"type":"integer"},
"price":{"type":"number"},"note":{"type":"string"}},"required":["region","product","quantity","price"]}}},"required":["title","sales"]}},
{"name":"sha","description":"digests 64 KiB","inputSchema":{"type":"object","properties":{"seed":{"type":"integer"}}}}]}`)
	return 0
}

type request struct {
	Params struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"params"`
}

type content struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type result struct {
	Content           []content `json:"content"`
	StructuredContent any       `json:"structuredContent,omitempty"`
}

//go:wasmexport call
func call() int32 {
	var r request
	err := json.Unmarshal(pdk.Input(), &r)
	var out result
	if err == nil {
		out, err = serve(r.Params.Name, r.Params.Arguments)
	}
	if err == nil {
		err = pdk.OutputJSON(out)
	}
	if err != nil {
		pdk.SetError(err)
		return 1
	}
	return 0
}

func serve(tool string, arguments json.RawMessage) (result, error) {
	switch tool {
	case "echo":
		var a workload.EchoArgs
		err := json.Unmarshal(arguments, &a)
		return text(a.Text), err
	case "sha":
		var a workload.SHAArgs
		err := json.Unmarshal(arguments, &a)
		return text(workload.Digest(a)), err
	case "report":
		var a workload.ReportArgs
		if err := json.Unmarshal(arguments, &a); err != nil {
			return result{}, err
		}
		r, err := workload.Total(a)
		if err != nil {
			return result{}, err
		}
		raw, err := json.Marshal(r)
		out := text(string(raw))
		out.StructuredContent = r
		return out, err
	}
	return result{}, fmt.Errorf("no tool %q", tool)
}

func text(s string) result { return result{Content: []content{{"text", s}}} }
