package sallyport

import (
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/pdk/go/internal/jsontext"
	"github.com/sallyport-mcp/sallyport/pdk/go/internal/uritemplate"
)

// kind is what a definition defines; kinds are a set.
type kind int

const (
	kindTool kind = 1 << iota
	kindResource
	kindTemplate
	kindPrompt

	anyKind = kindTool | kindResource | kindTemplate | kindPrompt
)

func (k kind) String() string {
	switch k {
	case kindTool:
		return "tool"
	case kindResource:
		return "resource"
	case kindTemplate:
		return "resource template"
	}
	return "prompt"
}

// definition is one tool, resource, template or prompt: what lists show, and how it is served.
type definition struct {
	kind kind
	key  string // name of a tool or prompt, URI of a resource or template

	name, title, description string
	mimeType                 string
	size                     int64
	icons                    []Icon
	meta                     jsontext.Object
	annotations              jsontext.Object
	input, output            json.RawMessage
	arguments                []promptArgument
	hidden                   bool
	taskSupport              string // of a tool; "" is none
	asksFirst                bool

	serve       func(c *Call) ([]byte, error)
	template    *uritemplate.Template
	completions map[string]CompletionFunc
}

// Icon is a picture that clients may show.
type Icon struct {
	Src      string   `json:"src"` // https: or data:
	MIMEType string   `json:"mimeType,omitempty"`
	Sizes    []string `json:"sizes,omitempty"` // 48x48, any
	Theme    string   `json:"theme,omitempty"` // light, dark
}

// Option says more about a [Tool], [Resource], [Template] or [Prompt]. Each option says for which it
// is; elsewhere it makes the plugin panic at start.
type Option struct {
	name  string
	kinds kind
	apply func(d *definition)
}

// Title is a name for people to read.
func Title(title string) Option {
	return Option{"Title", anyKind, func(d *definition) { d.title = title }}
}

// Icons are pictures that clients may show.
func Icons(icons ...Icon) Option {
	return Option{"Icons", anyKind, func(d *definition) { d.icons = icons }}
}

// Meta adds a member to the definition's _meta.
func Meta(key string, value any) Option {
	return Option{"Meta", anyKind, func(d *definition) { mustValue(&d.meta, key, value) }}
}

// Hidden leaves the entry out of lists until [Call.ToolsChanged] and its like name it.
func Hidden() Option {
	return Option{"Hidden", anyKind, func(d *definition) { d.hidden = true }}
}

// Task says that a call of the tool may go on after its answer: a client that can is given a handle, asks
// how it stands, and may answer questions days later. Other clients wait.
//
// The call may be run again from its start, with all that it was answered, so its end must follow from what it is
// asked and answered. Where the operator has the plugin keep state it is not: then it ends with its host, and its
// questions wait for minutes.
func Task() Option {
	return Option{"Task", kindTool, func(d *definition) { d.taskSupport = "optional" }}
}

// TaskOnly is [Task] for a tool that takes too long to wait for: clients that cannot are refused.
func TaskOnly() Option {
	return Option{"TaskOnly", kindTool, func(d *definition) { d.taskSupport = "required" }}
}

// AsksFirst says of a [Task] that it asks its caller something before it begins: that is asked while the
// caller waits, and the task begins with the answer.
func AsksFirst() Option {
	return Option{"AsksFirst", kindTool, func(d *definition) { d.asksFirst = true }}
}

// ReadOnly says that the tool changes nothing.
func ReadOnly() Option { return hint("readOnlyHint", true) }

// Destructive says whether the tool may undo or overwrite what is there; without it clients assume so
// unless the tool is [ReadOnly].
func Destructive(is bool) Option { return hint("destructiveHint", is) }

// Idempotent says that a second call with the same arguments changes nothing more.
func Idempotent() Option { return hint("idempotentHint", true) }

// OpenWorld says whether the tool deals with the world outside, the web for one, rather than with a
// closed set of things.
func OpenWorld(is bool) Option { return hint("openWorldHint", is) }

func hint(key string, is bool) Option {
	return Option{key, kindTool, func(d *definition) { mustValue(&d.annotations, key, is) }}
}

// InputSchema replaces the schema that is derived from a tool's argument type. It reaches clients as
// it is written here.
func InputSchema(schema string) Option {
	return Option{"InputSchema", kindTool, func(d *definition) { d.input = mustSchema(d, schema) }}
}

// OutputSchema replaces the schema that is derived from a tool's result type; "" leaves it out.
func OutputSchema(schema string) Option {
	return Option{"OutputSchema", kindTool, func(d *definition) {
		d.output = nil
		if schema != "" {
			d.output = mustSchema(d, schema)
		}
	}}
}

// MIMEType is the type of what a resource or template holds.
func MIMEType(mimeType string) Option {
	return Option{"MIMEType", kindResource | kindTemplate, func(d *definition) { d.mimeType = mimeType }}
}

// Size is the size of a resource in bytes.
func Size(bytes int64) Option {
	return Option{"Size", kindResource, func(d *definition) { d.size = bytes }}
}

// Annotate says for whom a resource or template is and how much it matters.
func Annotate(a ContentAnnotations) Option {
	return Option{"Annotate", kindResource | kindTemplate, func(d *definition) {
		d.annotations = jsontext.Object{}
		if len(a.Audience) > 0 {
			mustValue(&d.annotations, "audience", a.Audience)
		}
		if a.Priority != nil {
			mustValue(&d.annotations, "priority", *a.Priority)
		}
		d.annotations.Optional("lastModified", a.LastModified)
	}}
}

// Completion suggests values for an argument of a prompt or a variable of a template.
func Completion(argument string, f CompletionFunc) Option {
	return Option{"Completion", kindPrompt | kindTemplate, func(d *definition) {
		if d.completions == nil {
			d.completions = map[string]CompletionFunc{}
		}
		d.completions[argument] = f
	}}
}

func (d *definition) with(options []Option) *definition {
	for _, o := range options {
		if o.kinds&d.kind == 0 {
			panic("sallyport: " + o.name + " does not belong on " + d.kind.String() + " " + d.key)
		}
		o.apply(d)
	}
	return d
}

func (d *definition) json() []byte {
	var o jsontext.Object
	switch d.kind {
	case kindResource:
		o.Text("uri", d.key)
	case kindTemplate:
		o.Text("uriTemplate", d.key)
	}
	o.Text("name", d.name)
	o.Optional("title", d.title)
	o.Optional("description", d.description)
	o.Optional("mimeType", d.mimeType)
	if d.size > 0 {
		o.Raw("size", []byte(itoa(d.size)))
	}
	if d.input != nil {
		o.Raw("inputSchema", d.input)
	}
	if d.output != nil {
		o.Raw("outputSchema", d.output)
	}
	d.jsonRest(&o)
	return o.Bytes()
}

func (d *definition) jsonRest(o *jsontext.Object) {
	if d.kind == kindPrompt && len(d.arguments) > 0 {
		mustValue(o, "arguments", d.arguments)
	}
	if !d.annotations.Empty() {
		o.Raw("annotations", d.annotations.Bytes())
	}
	if len(d.icons) > 0 {
		mustValue(o, "icons", d.icons)
	}
	if !d.meta.Empty() {
		o.Raw("_meta", d.meta.Bytes())
	}
	if d.taskSupport != "" {
		mustValue(o, "execution", map[string]string{"taskSupport": d.taskSupport})
	}
	if d.asksFirst {
		o.Raw("asksFirst", []byte("true"))
	}
	if d.hidden {
		o.Raw("hidden", []byte("true"))
	}
}

// mustValue adds a value that the plugin's author wrote, at start.
func mustValue(o *jsontext.Object, key string, value any) {
	if err := o.Value(key, value); err != nil {
		panic("sallyport: " + key + ": " + err.Error())
	}
}

func mustSchema(d *definition, schema string) json.RawMessage {
	if !json.Valid([]byte(schema)) {
		panic("sallyport: the schema of tool " + d.key + " is not JSON")
	}
	return json.RawMessage(schema)
}
