package sallyporttest

import (
	"encoding/json"
	"strings"

	sallyport "github.com/sallyport-mcp/sallyport/pdk/go"
)

// Result is the result of a tool.
type Result struct {
	sallyport.Result
	Raw json.RawMessage // the JSON on the wire
	h   *Host
}

// Text returns the text of all text blocks, joined by line ends.
func (r *Result) Text() string {
	var all []string
	for _, c := range r.Content {
		if c.Type == "text" {
			all = append(all, c.Text)
		}
	}
	return strings.Join(all, "\n")
}

// Into decodes the structured content into v, a pointer. The test fails if that is not possible.
func (r *Result) Into(v any) {
	r.h.t.Helper()
	var raw struct {
		Structured json.RawMessage `json:"structuredContent"`
	}
	if err := json.Unmarshal(r.Raw, &raw); err != nil || raw.Structured == nil {
		r.h.t.Fatalf("no structured content in %s", r.Raw)
	}
	if err := json.Unmarshal(raw.Structured, v); err != nil {
		r.h.t.Fatalf("structured content: %v", err)
	}
}

// Call calls a tool, with a request for progress. args is encoded as JSON. Nil means no arguments, and a string is
// sent as JSON. An MCP error fails the test.
func (h *Host) Call(tool string, args any) *Result {
	h.t.Helper()
	params := map[string]any{"name": tool, "_meta": map[string]any{"progressToken": 1}}
	if text, ok := args.(string); ok {
		args = json.RawMessage(text)
	}
	if args != nil {
		params["arguments"] = args
	}
	raw, err := h.Request("tools/call", params)
	if err != nil {
		h.t.Fatalf("tool %s: %v", tool, err)
	}
	r := &Result{Raw: raw, h: h}
	h.decode(raw, &r.Result)
	return r
}

// Describe returns the plugin's manifest.
func (h *Host) Describe() Manifest {
	h.t.Helper()
	raw, err := h.Request("plugin/describe", nil)
	if err != nil {
		h.t.Fatalf("plugin/describe: %v", err)
	}
	m := Manifest{Raw: raw}
	h.decode(raw, &m)
	return m
}

// Manifest is a plugin's description of itself.
type Manifest struct {
	Name        string           `json:"name"`
	Version     string           `json:"version"`
	Description string           `json:"description"`
	Tools       []Entry          `json:"tools"`
	Resources   []Entry          `json:"resources"`
	Templates   []Entry          `json:"resourceTemplates"`
	Prompts     []Entry          `json:"prompts"`
	Wants       []map[string]any `json:"wants"`
	State       string           `json:"state"`
	Raw         json.RawMessage  `json:"-"`
}

// Entry is a tool, resource, template or prompt in a manifest.
type Entry struct {
	Name         string          `json:"name"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	URI          string          `json:"uri"`
	URITemplate  string          `json:"uriTemplate"`
	MIMEType     string          `json:"mimeType"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  map[string]any  `json:"annotations"`
	Arguments    json.RawMessage `json:"arguments"`
	Hidden       bool            `json:"hidden"`
}

// Read reads a resource. The error is an [*sallyport.Error], also for a missing resource.
func (h *Host) Read(uri string) ([]sallyport.Contents, error) {
	h.t.Helper()
	var r struct {
		Contents []sallyport.Contents `json:"contents"`
	}
	raw, err := h.Request("resources/read", map[string]string{"uri": uri})
	if err == nil {
		h.decode(raw, &r)
	}
	return r.Contents, err
}

// Prompt gets a prompt.
func (h *Host) Prompt(name string, args map[string]string) (sallyport.PromptResult, error) {
	h.t.Helper()
	var r sallyport.PromptResult
	raw, err := h.Request("prompts/get", map[string]any{"name": name, "arguments": args})
	if err == nil {
		h.decode(raw, &r)
	}
	return r, err
}

// CompletePrompt completes an argument of a prompt.
func (h *Host) CompletePrompt(prompt, argument, typed string) ([]string, error) {
	h.t.Helper()
	return h.complete(map[string]string{"type": "ref/prompt", "name": prompt}, argument, typed)
}

// CompleteTemplate completes a variable of a resource template.
func (h *Host) CompleteTemplate(template, variable, typed string) ([]string, error) {
	h.t.Helper()
	return h.complete(map[string]string{"type": "ref/resource", "uri": template}, variable, typed)
}

func (h *Host) complete(ref map[string]string, argument, typed string) ([]string, error) {
	h.t.Helper()
	var r struct {
		Completion struct {
			Values []string `json:"values"`
		} `json:"completion"`
	}
	raw, err := h.Request("completion/complete", map[string]any{
		"ref": ref, "argument": map[string]string{"name": argument, "value": typed},
	})
	if err == nil {
		h.decode(raw, &r)
	}
	return r.Completion.Values, err
}

func (h *Host) decode(raw json.RawMessage, into any) {
	h.t.Helper()
	if err := json.Unmarshal(raw, into); err != nil {
		h.t.Fatalf("the result is not what MCP has: %v\n%s", err, raw)
	}
}
