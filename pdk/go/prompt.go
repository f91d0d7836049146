package sallyport

import (
	"encoding/json"
	"reflect"

	"github.com/sallyport-mcp/sallyport/pdk/go/internal/arguments"
	"github.com/sallyport-mcp/sallyport/pdk/go/internal/jsontext"
	"github.com/sallyport-mcp/sallyport/pdk/go/internal/schema"
)

// Message is one message of a prompt.
type Message struct {
	Role    string  `json:"role"` // user or assistant
	Content Content `json:"content"`
}

// User returns a message with the role user.
func User(c Content) Message { return Message{Role: "user", Content: c} }

// Assistant returns a message with the role assistant.
func Assistant(c Content) Message { return Message{Role: "assistant", Content: c} }

// PromptResult is a complete result of prompts/get.
type PromptResult struct {
	Description string         `json:"description,omitempty"`
	Messages    []Message      `json:"messages"`
	Meta        map[string]any `json:"_meta,omitempty"`
}

type promptArgument struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

// Prompt makes a prompt from a function. A is a struct of strings. Its json, doc, title and default tags have the
// same meaning as for a [Tool]. The result depends on R: a string is one message of the user, [Message] and []Message
// are messages, and [PromptResult] is the complete result. An error is an MCP error.
func Prompt[A any, R promptReturn](name, description string, f func(c *Call, args A) (R, error), options ...Option) Item {
	in := reflect.TypeFor[A]()
	decoder := arguments.Of(in)
	d := &definition{kind: kindPrompt, key: name, name: name, description: description}
	d.arguments = promptArguments(name, in)
	d.serve = func(c *Call) ([]byte, error) {
		var a A
		if err := promptDecode(d, decoder, c.params.Arguments, &a); err != nil {
			return nil, err
		}
		r, err := f(c, a)
		if err != nil {
			return nil, err
		}
		return promptJSON(r)
	}
	d.with(options)
	return itemFunc(func(p *Plugin) { add(&p.prompts, d) })
}

type promptReturn interface {
	string | Message | []Message | PromptResult
}

func promptArguments(prompt string, t reflect.Type) []promptArgument {
	var all []promptArgument
	for _, f := range schema.Fields(t) {
		if k := schema.Deref(f.Type).Kind(); k != reflect.String {
			panic("sallyport: prompt " + prompt + ": argument " + f.Name + " is not a string")
		}
		all = append(all, promptArgument{f.Name, f.Tag.Get("title"), f.Description(), f.Required})
	}
	return all
}

// promptDecode also checks required arguments: a prompt has no schema that the host could check.
func promptDecode(d *definition, decoder *arguments.Decoder, sent json.RawMessage, into any) error {
	given := map[string]bool{}
	if len(sent) > 0 {
		err := members(sent, func(key string, _ []byte) error { given[key] = true; return nil })
		if err != nil {
			return &Error{Code: CodeInvalidParams, Message: "arguments: " + err.Error()}
		}
	}
	for _, a := range d.arguments {
		if a.Required && !given[a.Name] {
			return &Error{Code: CodeInvalidParams, Message: "argument " + a.Name + " is missing"}
		}
	}
	if err := decoder.Decode(sent, into); err != nil {
		return &Error{Code: CodeInvalidParams, Message: err.Error()}
	}
	return nil
}

func promptJSON(v any) ([]byte, error) {
	var r PromptResult
	switch v := v.(type) {
	case string:
		r.Messages = []Message{User(Text(v))}
	case Message:
		r.Messages = []Message{v}
	case []Message:
		r.Messages = v
	case PromptResult:
		r = v
	}
	if r.Messages == nil {
		r.Messages = []Message{}
	}
	return jsontext.Marshal(r)
}
