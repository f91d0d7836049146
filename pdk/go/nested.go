package sallyport

import (
	"encoding/json"
	"reflect"
)

// ToolError is the error of [CallTool] for a tool that failed: its result has isError.
type ToolError struct {
	Name   string // public name of the tool
	Result Result
}

// Error returns the texts of the result.
func (e *ToolError) Error() string {
	if text := e.Result.text(); text != "" {
		return text
	}
	return "the tool " + e.Name + " failed"
}

// CallTool calls a tool of any plugin by its public name. It requires a tools grant, and the tool runs under the grants
// of its own plugin. args are encoded as JSON; nil sends none. The result depends on R:
//
//	Result   the complete result
//	string   the texts of its blocks
//	other    its structured content, or else its text, decoded from JSON
//
// The error is a [*ToolError] if the tool failed, or an [*AskError] if it was not called.
func CallTool[R any](c *Call, name string, args any) (value R, err error) {
	params := struct {
		Name      string `json:"name"`
		Arguments any    `json:"arguments,omitempty"`
	}{name, args}
	var raw json.RawMessage
	if err := c.Ask("tools/call", params, &raw); err != nil {
		return value, err
	}
	var result Result
	if err := json.Unmarshal(raw, &result); err != nil {
		return value, err
	}
	if result.IsError {
		return value, &ToolError{Name: name, Result: result}
	}
	err = decodeResult(raw, result, &value) // on its own line, since a return may read value before it
	return value, err
}

// decodeResult decodes a result into a pointer.
func decodeResult(raw []byte, result Result, into any) error {
	switch into := into.(type) {
	case *Result:
		*into = result
		return nil
	case *RawResult:
		*into = raw
		return nil
	}
	if v := reflect.ValueOf(into).Elem(); v.Kind() == reflect.String {
		v.SetString(result.text())
		return nil
	}
	var members struct {
		Structured json.RawMessage `json:"structuredContent"`
	}
	if err := json.Unmarshal(raw, &members); err != nil {
		return err
	}
	if len(members.Structured) == 0 {
		members.Structured = json.RawMessage(result.text())
	}
	return json.Unmarshal(members.Structured, into)
}

// text returns the texts of the result's blocks.
func (r Result) text() string {
	text := ""
	for _, c := range r.Content {
		text += c.Text
	}
	return text
}
