package sallyport

import (
	"encoding/json"
	"errors"
	"reflect"

	"github.com/sallyport-mcp/sallyport/pdk/go/internal/jsontext"
	"github.com/sallyport-mcp/sallyport/pdk/go/internal/schema"
)

// None is the argument type of a tool or prompt that takes nothing.
type None struct{}

// RawResult is a whole tools/call result as JSON, for a tool that writes the wire's own form.
type RawResult json.RawMessage

// Tool makes a tool of a function.
//
// A is a struct; its exported fields are the arguments. A field is named by its json tag and is required
// unless it is a pointer or its tag has omitempty or omitzero. These tags say more about it:
//
//	doc        what it is for
//	title      a name for people
//	enum       the allowed values, separated by commas
//	default    the value it has when absent; makes it optional
//	minimum maximum exclusiveMinimum exclusiveMaximum multipleOf
//	minLength maxLength pattern format
//	minItems maxItems uniqueItems
//	header     the HTTP header that carries it as well (x-mcp-header)
//
// Fields may be strings, numbers, booleans, slices, maps with string keys, structs, time.Time, []byte
// (base64), types with MarshalText, any and json.RawMessage (any value), and types that are a [Schemer].
// A json.RawMessage or a map as A takes the arguments as they are; say what they are with [InputSchema].
//
// What a call returns depends on R:
//
//	string              one text
//	Content, []Content  these blocks
//	Result, *Result     everything
//	RawResult           everything, as JSON
//	struct, map         structured content, with an output schema, and the same JSON as a text
//	any other type      its JSON as a text
//
// If R is an interface, the value's own type decides. A returned error is a result with isError and the
// error's text; an [*Error] is an MCP error.
func Tool[A, R any](name, description string, f func(c *Call, args A) (R, error), options ...Option) Item {
	in, out := reflect.TypeFor[A](), reflect.TypeFor[R]()
	defaults, plan := schema.Defaults(in), jsontext.PlanOf(in)
	return newTool(name, description, in, out, func(c *Call) ([]byte, error) {
		var a A
		if err := decodeArguments(plan, defaults, c.params.Arguments, &a); err != nil {
			return errorResult(err)
		}
		r, err := f(c, a)
		if err != nil {
			return errorResult(err)
		}
		return resultJSON(r)
	}, options)
}

// RawTool makes a tool of a function from the arguments' JSON to the result's JSON. Schema is its input
// schema.
func RawTool(name, description, schema string, f func(c *Call, args json.RawMessage) (json.RawMessage, error), options ...Option) Item {
	return Tool(name, description, func(c *Call, args json.RawMessage) (RawResult, error) {
		raw, err := f(c, args)
		return RawResult(raw), err
	}, append([]Option{InputSchema(schema)}, options...)...)
}

func newTool(name, description string, in, out reflect.Type, serve func(*Call) ([]byte, error), options []Option) Item {
	d := &definition{
		kind: kindTool, key: name, name: name, description: description, serve: serve,
		input: schema.Of(in, true),
	}
	if isStructured(out) {
		d.output = schema.Of(out, false)
	}
	d.with(options)
	return itemFunc(func(p *Plugin) { add(&p.tools, d) })
}

// decodeArguments decodes the defaults first and what was sent over them.
func decodeArguments(plan *jsontext.Plan, defaults, sent json.RawMessage, into any) error {
	if len(sent) == 0 || string(sent) == "null" {
		sent = json.RawMessage("{}")
	}
	for _, raw := range []json.RawMessage{defaults, sent} {
		if len(raw) == 0 {
			continue
		}
		if err := plan.Decode(raw, into); err != nil {
			return argumentError(err)
		}
	}
	return nil
}

// argumentError names the argument rather than the Go field.
func argumentError(err error) error {
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && t.Field != "" {
		return errors.New("argument " + t.Field + " cannot be a JSON " + t.Value)
	}
	return errors.New("arguments: " + err.Error())
}

// Schemer is a type that knows its own JSON Schema. JSONSchema is called on a zero value.
type Schemer = schema.Schemer
