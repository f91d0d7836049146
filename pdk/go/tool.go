package sallyport

import (
	"encoding/json"
	"reflect"

	"github.com/sallyport-mcp/sallyport/pdk/go/internal/arguments"
	"github.com/sallyport-mcp/sallyport/pdk/go/internal/schema"
)

// None is the argument type of a tool or prompt without arguments.
type None struct{}

// RawResult is a complete tools/call result as JSON.
type RawResult json.RawMessage

// Tool makes a tool from a function.
//
// A is a struct whose exported fields are the arguments. A field is named by its json tag, and is required unless it
// is a pointer or its tag has omitempty or omitzero. These tags extend its schema:
//
//	doc        description; jsonschema is the same, as in the official Go SDK
//	title      display name for people
//	enum       the allowed values, separated by commas
//	default    the value if absent, at any depth; makes it optional
//	minimum maximum exclusiveMinimum exclusiveMaximum multipleOf
//	minLength maxLength pattern format
//	minItems maxItems uniqueItems
//	header     the HTTP header that repeats the value (x-mcp-header)
//
// Fields may be strings, numbers, booleans, slices, maps with string keys, structs, time.Time, []byte (base64), types
// with MarshalText, any and json.RawMessage (any value), and types that implement [Schemer]. They are decoded as in
// encoding/json, but names must match exactly, and 2.0 is an integer, as in JSON Schema. A json.RawMessage or a map
// as A receives the arguments undecoded. [InputSchema] should then describe them.
//
// The result depends on R:
//
//	string              one text
//	Content, []Content  these blocks
//	Result, *Result     a complete result
//	RawResult           a complete result, as JSON
//	struct, map         structured content, with an output schema, and the same JSON as a text
//	any other type      its JSON as a text
//
// If R is an interface, the dynamic type decides. A returned error is a result with isError and the error's text. An
// [*Error] is an MCP error. Nil slices, maps and pointers inside of a result are null, which the output schema
// allows.
func Tool[A, R any](name, description string, f func(c *Call, args A) (R, error), options ...Option) Item {
	in, out := reflect.TypeFor[A](), reflect.TypeFor[R]()
	decoder := arguments.Of(in)
	mustTakeObject(name, in, decoder)
	return newTool(name, description, in, out, warmEncoder[R], func(c *Call) ([]byte, error) {
		var a A
		if err := decoder.Decode(c.params.Arguments, &a); err != nil {
			return errorResult(err)
		}
		r, err := f(c, a)
		if err != nil {
			return errorResult(err)
		}
		return toolResult(r)
	}, options)
}

// mustTakeObject panics if the argument type cannot be decoded from an object, which MCP sends.
func mustTakeObject(name string, in reflect.Type, d *arguments.Decoder) {
	err := d.Decode([]byte("{}"), reflect.New(in).Interface())
	if misfit, ok := err.(*arguments.Error); ok && misfit.Path == "" && misfit.Err == nil { // errors.As would add 50 KB
		panic("sallyport: tool " + name + ": its arguments are an object, and " + in.String() + " holds none; take a struct with a field for each argument")
	}
}

// RawTool makes a tool from a function that takes the arguments and returns the complete result, both as JSON. schema
// is its input schema.
func RawTool(name, description, schema string, f func(c *Call, args json.RawMessage) (json.RawMessage, error), options ...Option) Item {
	return Tool(name, description, func(c *Call, args json.RawMessage) (RawResult, error) {
		raw, err := f(c, args)
		return RawResult(raw), err
	}, append([]Option{InputSchema(schema)}, options...)...)
}

func newTool(name, description string, in, out reflect.Type, warm func(), serve func(*Call) ([]byte, error), options []Option) Item {
	d := &definition{
		kind: kindTool, key: name, name: name, description: description, serve: serve, warmEncoder: warm,
		input: schema.Of(in, schema.Input),
	}
	if isStructured(out) {
		d.output = schema.Of(out, schema.Output)
	}
	d.with(options)
	return itemFunc(func(p *Plugin) { add(&p.tools, d) })
}

// Schemer is a type that defines its own JSON Schema. JSONSchema is called on a zero value.
type Schemer = schema.Schemer
