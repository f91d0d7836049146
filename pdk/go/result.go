package sallyport

import (
	"encoding/json"
	"errors"
	"reflect"

	"github.com/sallyport-mcp/sallyport/pdk/go/internal/jsontext"
)

// Result is a complete result of tools/call.
type Result struct {
	Content    []Content      `json:"content"`
	Structured any            `json:"structuredContent,omitempty"`
	IsError    bool           `json:"isError,omitempty"`
	Meta       map[string]any `json:"_meta,omitempty"`
}

// MarshalJSON encodes the result as MCP does. The content member is always present. Structured content without any
// content is also included as a text, for clients that read only text.
func (r Result) MarshalJSON() ([]byte, error) { return r.encode() }

// encode is MarshalJSON without validation of its output by encoding/json.
func (r Result) encode() ([]byte, error) {
	var o jsontext.Object
	var structured []byte
	var err error
	if r.Structured != nil {
		if structured, err = jsontext.Marshal(r.Structured); err != nil {
			return nil, err
		}
		if len(r.Content) == 0 {
			r.Content = []Content{Text(string(structured))}
		}
	}
	blocks := make([][]byte, len(r.Content))
	for i, c := range r.Content {
		if blocks[i], err = c.encode(); err != nil {
			return nil, err
		}
	}
	o.Raw("content", jsontext.Array(blocks))
	if structured != nil {
		o.Raw("structuredContent", structured)
	}
	if r.IsError {
		o.Raw("isError", []byte("true"))
	}
	if r.Meta != nil {
		err = o.Value("_meta", r.Meta)
	}
	return o.Bytes(), err
}

// isStructured reports whether results of the type are structured content.
func isStructured(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[Result](), reflect.TypeFor[Content]():
		return false
	}
	return t.Kind() == reflect.Struct || t.Kind() == reflect.Map
}

// toolResult is resultJSON, or the tool's error if the value has no JSON encoding, such as NaN.
func toolResult(v any) ([]byte, error) {
	raw, err := resultJSON(v)
	if err != nil {
		return errorResult(errors.New("the tool's result has no JSON: " + err.Error()))
	}
	return raw, nil
}

// resultJSON encodes the return value of a tool's function as the result.
func resultJSON(v any) ([]byte, error) {
	switch v := v.(type) {
	case RawResult:
		return rawResult(v)
	case Result:
		return v.encode()
	case *Result:
		if v == nil {
			return Result{}.encode()
		}
		return v.encode()
	case string:
		return Result{Content: []Content{Text(v)}}.encode()
	case Content:
		return Result{Content: []Content{v}}.encode()
	case []Content:
		return Result{Content: v}.encode()
	case nil:
		return Result{}.encode()
	}
	switch at := reflect.ValueOf(v); {
	case at.Kind() == reflect.Map && at.IsNil(): // structured content must be an object
		v = struct{}{}
	case at.Kind() == reflect.Slice && at.IsNil():
		v = []struct{}{}
	case at.Kind() == reflect.Pointer && at.IsNil() && isStructured(at.Type()):
		return nil, errors.New("it is nil")
	}
	if isStructured(reflect.TypeOf(v)) {
		return Result{Structured: v}.encode()
	}
	raw, err := jsontext.Marshal(v)
	return textResult(raw, err)
}

func rawResult(raw RawResult) ([]byte, error) {
	if !json.Valid(raw) {
		return nil, errors.New("the raw result is not JSON")
	}
	return raw, nil
}

func textResult(raw []byte, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return Result{Content: []Content{Text(string(raw))}}.encode()
}

// errorResult returns a result with isError. An *Error is returned unchanged.
func errorResult(err error) ([]byte, error) {
	if e, ok := asType[*Error](err); ok {
		return nil, e
	}
	if requires(err) != nil { // it concerns the client, not the requested action
		return nil, &Error{Code: CodeInternal, Message: err.Error(), Data: kindData(err)}
	}
	return Result{Content: []Content{Text(err.Error())}, IsError: true}.encode()
}
