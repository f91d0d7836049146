package sallyport

import (
	"encoding/json"
	"errors"
	"reflect"

	"github.com/sallyport-mcp/sallyport/pdk/go/internal/jsontext"
)

// Result is everything that a tools/call can answer.
type Result struct {
	Content    []Content      `json:"content"`
	Structured any            `json:"structuredContent,omitempty"`
	IsError    bool           `json:"isError,omitempty"`
	Meta       map[string]any `json:"_meta,omitempty"`
}

// MarshalJSON writes the result as MCP has it: content is there even if empty. Structured content
// without any content is given as a text too, for clients that read only that.
func (r Result) MarshalJSON() ([]byte, error) { return r.encode() }

// encode is MarshalJSON without a second look at what it wrote.
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

// isStructured tells whether results of the type are structured content.
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

// toolResult is resultJSON, or the tool's error where the value has no JSON: a number that is none, say.
func toolResult(v any) ([]byte, error) {
	raw, err := resultJSON(v)
	if err != nil {
		return errorResult(errors.New("the tool's result has no JSON: " + err.Error()))
	}
	return raw, nil
}

// resultJSON is the whole result for what a tool's function returned.
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
	case at.Kind() == reflect.Map && at.IsNil(): // structured content is an object
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

// errorResult is the result of a tool that failed; an *Error goes past it.
func errorResult(err error) ([]byte, error) {
	if e, ok := errors.AsType[*Error](err); ok {
		return nil, e
	}
	if requires(err) != nil { // which is about the client, not about what the tool was asked to do
		return nil, &Error{Code: CodeInternal, Message: err.Error(), Data: kindData(err)}
	}
	return Result{Content: []Content{Text(err.Error())}, IsError: true}.encode()
}
