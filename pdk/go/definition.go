package sallyport

import (
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/pdk/go/internal/jsontext"
	"github.com/sallyport-mcp/sallyport/pdk/go/internal/uritemplate"
)

// kind is the kind of a definition, usable as a set of bits.
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

// definition is one tool, resource, template or prompt: its list entry and its handler. It has a field for each member
// of an entry that an author may set.
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
	taskSupport              string // of a tool; "" is unsupported
	asksFirst                bool

	serve       func(c *Call) ([]byte, error)
	template    *uritemplate.Template
	completions map[string]CompletionFunc

	warmEncoder func()            // warmEncoder of the result; nil for a prompt
	examples    []json.RawMessage // arguments of WarmWith
}

// Icon is an image that clients may show.
type Icon struct {
	Src      string   `json:"src"` // an https: or data: URI
	MIMEType string   `json:"mimeType,omitempty"`
	Sizes    []string `json:"sizes,omitempty"` // such as 48x48, or any
	Theme    string   `json:"theme,omitempty"` // light or dark
}

// Option sets a property of a [Tool], [Resource], [Template] or [Prompt]. An option that does not apply to the kind
// of the definition panics in [Tool] and the like, at plugin start.
type Option struct {
	name  string
	kinds kind
	apply func(d *definition)
}

// Title sets a display name for people.
func Title(title string) Option {
	return Option{"Title", anyKind, func(d *definition) { d.title = title }}
}

// Icons sets images that clients may show.
func Icons(icons ...Icon) Option {
	return Option{"Icons", anyKind, func(d *definition) { d.icons = icons }}
}

// Meta adds a member to the definition's _meta.
func Meta(key string, value any) Option {
	return Option{"Meta", anyKind, func(d *definition) { mustValue(&d.meta, key, value) }}
}

// Hidden omits the entry from lists until [Call.ShowTools], [Call.ToolsChanged] or the like shows it.
func Hidden() Option {
	return Option{"Hidden", anyKind, func(d *definition) { d.hidden = true }}
}

// Task allows a call of the tool to continue after its response. A client that supports tasks gets a handle, polls
// the state, and may answer questions days later. For other clients the call blocks.
//
// A task may be replayed from its start, with all earlier results of its host requests. Therefore it must be
// deterministic, given these results. A plugin whose instances keep state (see [State]) is not replayed: its tasks
// end with the host, and their questions expire after minutes.
func Task() Option {
	return Option{"Task", kindTool, func(d *definition) { d.taskSupport = "optional" }}
}

// TaskOnly is [Task] for a tool that takes too long to wait for. Clients without support for tasks are refused.
func TaskOnly() Option {
	return Option{"TaskOnly", kindTool, func(d *definition) { d.taskSupport = "required" }}
}

// AsksFirst marks a [Task] that asks its caller something before it begins. The question is asked while the caller
// waits, and the task begins with the answer.
func AsksFirst() Option {
	return Option{"AsksFirst", kindTool, func(d *definition) { d.asksFirst = true }}
}

// ReadOnly marks a tool without side effects.
func ReadOnly() Option { return hint("readOnlyHint", true) }

// Destructive marks whether the tool may delete or overwrite data. Without this option clients assume that it may,
// unless the tool is [ReadOnly].
func Destructive(is bool) Option { return hint("destructiveHint", is) }

// Idempotent marks a tool for which a repeated call with the same arguments has no further effect.
func Idempotent() Option { return hint("idempotentHint", true) }

// OpenWorld marks whether the tool interacts with external entities, such as the web, rather than with a closed
// domain.
func OpenWorld(is bool) Option { return hint("openWorldHint", is) }

func hint(key string, is bool) Option {
	return Option{key, kindTool, func(d *definition) { mustValue(&d.annotations, key, is) }}
}

// InputSchema replaces the schema derived from a tool's argument type. It is sent to clients unchanged.
func InputSchema(schema string) Option {
	return Option{"InputSchema", kindTool, func(d *definition) { d.input = mustSchema(d, schema) }}
}

// OutputSchema replaces the schema derived from a tool's result type. "" omits it.
func OutputSchema(schema string) Option {
	return Option{"OutputSchema", kindTool, func(d *definition) {
		d.output = nil
		if schema != "" {
			d.output = mustSchema(d, schema)
		}
	}}
}

// MIMEType sets the media type of a resource or template.
func MIMEType(mimeType string) Option {
	return Option{"MIMEType", kindResource | kindTemplate, func(d *definition) { d.mimeType = mimeType }}
}

// Size sets the size of a resource in bytes.
func Size(bytes int64) Option {
	return Option{"Size", kindResource, func(d *definition) { d.size = bytes }}
}

// Annotate sets the audience and importance of a resource or template.
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

// Completion sets the function that suggests values for an argument of a prompt or a variable of a template.
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

// mustValue adds a value from the plugin's source, at start. It panics if the value cannot be encoded.
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
