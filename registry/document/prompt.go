package document

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/internal/strictyaml"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// promptSuffix is the suffix of prompt file names.
const promptSuffix = ".prompt.md"

// maxCompletions is the largest number of completion values that MCP allows.
const maxCompletions = 100

// prompt is one parsed prompt file:
//
//	---
//	name: review
//	description: Reviews a change.
//	arguments:
//	  - name: file
//	    description: what to look at
//	    required: true
//	  - name: tone
//	    values: [kind, strict]
//	---
//	Please review {{file}}.
//	{{if tone == "strict"}}
//	Spare nobody.
//	{{end}}
//	@assistant
//	I will look at {{file}} first.
//
// A line @user or @assistant begins a message of that role; text before the first is the user's. A template has values
// {{name}}, conditions {{if name}}, {{if not name}}, {{if name == "x"}} and {{if name != "x"}} with {{else}} and
// {{end}}, and loops {{each item in name}} … {{end}} over the lines of an argument, or over its comma-separated parts.
// There is no other syntax, so a template always terminates.
type prompt struct {
	Name string
	// Definition is the prompt as an element of prompts/list.
	Definition json.RawMessage
	// Problems lists unknown keys, one sentence each: most often a misspelling.
	Problems []string

	arguments []argument
	messages  []message
}

type argument struct {
	name     string
	required bool
	values   []string
}

type message struct {
	role  string
	parts []part
}

// readPrompt returns a document with one prompt.
func readPrompt(raw []byte, stem string) (*Document, error) {
	p, err := parsePrompt(raw, stem)
	if err != nil {
		return nil, err
	}
	d, err := newDocument(jsonraw.Object{{Key: "prompts", Value: json.RawMessage("[" + string(p.Definition) + "]")}}, p.serve)
	if err == nil {
		d.Manifest.Problems = append(d.Manifest.Problems, p.Problems...)
	}
	return d, err
}

// serve answers prompts/get and completion/complete.
func (p *prompt) serve(method string, params json.RawMessage) (json.RawMessage, error) {
	if method == "completion/complete" {
		name, _ := jsonraw.String(jsonraw.Get(params, "argument", "name"))
		typed, _ := jsonraw.String(jsonraw.Get(params, "argument", "value"))
		return p.Complete(name, typed), nil
	}
	result, err := p.Get(jsonraw.Get(params, "arguments"))
	if err != nil {
		return nil, &runtime.GuestError{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
	}
	return result, nil
}

// parsePrompt parses a prompt file. name is used if the file sets none.
func parsePrompt(raw []byte, name string) (*prompt, error) {
	if len(raw) > maxPrompt {
		return nil, fmt.Errorf("the file is over %d KiB", maxPrompt>>10)
	}
	f, err := strictyaml.FrontMatter(raw)
	if err != nil {
		return nil, err
	}
	p := &prompt{Name: name}
	if err := p.head(f.Values); err != nil {
		return nil, err
	}
	return p, p.body(f.Body, f.Line)
}

// head parses the front matter. Unknown keys are passed on to clients.
func (p *prompt) head(values jsonraw.Object) error {
	definition := slices.Clone(values)
	p.unknown("the front", values, "name", "title", "description", "arguments", "icons", "_meta")
	if raw := values.Get("name"); raw != nil {
		name, ok := jsonraw.String(raw)
		if !ok || name == "" {
			return fmt.Errorf("name must be a text")
		}
		p.Name = name
	}
	definition.Set("name", jsonraw.AppendString(nil, p.Name))
	for _, key := range []string{"title", "description"} {
		if raw := values.Get(key); raw != nil {
			if _, ok := jsonraw.String(raw); !ok {
				return fmt.Errorf("%s must be a text", key)
			}
		}
	}
	if raw := values.Get("arguments"); !jsonraw.IsNull(raw) {
		shown, err := p.readArguments(raw)
		if err != nil {
			return err
		}
		definition.Set("arguments", shown)
	}
	p.Definition = definition.Append(nil)
	return nil
}

// readArguments parses the list of arguments: names, or objects as in MCP, with values to choose from.
func (p *prompt) readArguments(raw json.RawMessage) (json.RawMessage, error) {
	list, err := jsonraw.Elements(raw)
	if err != nil {
		return nil, fmt.Errorf("arguments must be a list")
	}
	var shown []string
	for _, item := range list {
		if name, ok := jsonraw.String(item); ok {
			item = jsonraw.Object{{Key: "name", Value: jsonraw.AppendString(nil, name)}}.Append(nil)
		}
		o, err := jsonraw.ParseObject(item)
		if err != nil {
			return nil, fmt.Errorf("an argument is a name, or name, description, required and values")
		}
		a := argument{required: string(o.Get("required")) == "true"}
		if a.name, _ = jsonraw.String(o.Get("name")); !isName(a.name) {
			return nil, fmt.Errorf("the argument name %q is not of letters, digits, - and _", a.name)
		}
		p.unknown(fmt.Sprintf("the argument %q", a.name), o, "name", "title", "description", "required", "values")
		if raw := o.Get("required"); !jsonraw.IsNull(raw) && !a.required && string(raw) != "false" {
			return nil, fmt.Errorf("required of %q must be true or false", a.name)
		}
		values, err := jsonraw.Elements(o.Get("values"))
		if err != nil && !jsonraw.IsNull(o.Get("values")) {
			return nil, fmt.Errorf("the values of %q must be a list", a.name)
		}
		for _, v := range values {
			text, ok := jsonraw.String(v)
			if !ok {
				text = string(v)
			}
			a.values = append(a.values, text)
		}
		p.arguments = append(p.arguments, a)
		o.Delete("values")
		shown = append(shown, string(o.Append(nil)))
	}
	return json.RawMessage("[" + strings.Join(shown, ",") + "]"), nil
}

// unknown reports the keys of an object that are not known.
func (p *prompt) unknown(where string, o jsonraw.Object, known ...string) {
	for _, m := range o {
		if !slices.Contains(known, m.Key) {
			p.Problems = append(p.Problems, fmt.Sprintf("%s has the unknown key %q%s", where, m.Key, strictyaml.Hint(m.Key, known)))
		}
	}
}

// isName reports whether an argument's name is valid in a template and not a keyword.
func isName(name string) bool {
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return name != "" && !slices.Contains([]string{"if", "not", "else", "end", "each", "in"}, name)
}

// body parses the messages. Roles are found before values are substituted, so that no value can change the role.
func (p *prompt) body(text string, line int) error {
	role, begin := "user", line
	var lines []string
	end := func() error {
		text := strings.Trim(strings.Join(lines, "\n"), "\n")
		if strings.TrimSpace(text) == "" {
			return nil
		}
		for i := 0; i < len(lines) && strings.TrimSpace(lines[i]) == ""; i++ {
			begin++
		}
		in := &parser{rest: text, line: begin}
		for _, a := range p.arguments {
			in.known = append(in.known, a.name)
		}
		parts, _, err := in.parse()
		p.messages = append(p.messages, message{role, parts})
		return err
	}
	for l := range strings.SplitSeq(text, "\n") {
		line++
		next, ok := roleOf(l)
		if !ok {
			lines = append(lines, l)
			continue
		}
		if err := end(); err != nil {
			return err
		}
		role, begin, lines = next, line, nil
	}
	if err := end(); err != nil {
		return err
	}
	if len(p.messages) == 0 {
		return &strictyaml.Error{Line: line - 1, Problem: "the prompt has no text"}
	}
	return nil
}

func roleOf(line string) (role string, ok bool) {
	switch strings.TrimRight(line, " \t") {
	case "@user":
		return "user", true
	case "@assistant":
		return "assistant", true
	}
	return "", false
}

// Get returns the result of prompts/get. arguments is an object of strings, or nil.
func (p *prompt) Get(arguments json.RawMessage) (json.RawMessage, error) {
	values, err := p.values(arguments)
	if err != nil {
		return nil, err
	}
	w := &writer{left: maxOutput}
	var messages []string
	for _, m := range p.messages {
		w.out.Reset()
		if err := w.write(m.parts, values); err != nil {
			return nil, err
		}
		text := jsonraw.AppendString(nil, strings.Trim(w.out.String(), "\n"))
		messages = append(messages, fmt.Sprintf(`{"role":%q,"content":{"type":"text","text":%s}}`, m.role, text))
	}
	o := jsonraw.Object{{Key: "messages", Value: json.RawMessage("[" + strings.Join(messages, ",") + "]")}}
	if d := jsonraw.Get(p.Definition, "description"); d != nil {
		o.Set("description", d)
	}
	return o.Append(nil), nil
}

// values checks arguments against the prompt's definition.
func (p *prompt) values(arguments json.RawMessage) (map[string]string, error) {
	values := map[string]string{}
	for _, a := range p.arguments {
		raw := jsonraw.Get(arguments, a.name)
		text, ok := jsonraw.String(raw)
		switch {
		case raw == nil && a.required:
			return nil, fmt.Errorf("the argument %q is missing", a.name)
		case raw != nil && !ok:
			return nil, fmt.Errorf("the argument %q must be a text", a.name)
		case len(a.values) > 0 && text != "" && !slices.Contains(a.values, text):
			return nil, fmt.Errorf("the argument %q must be one of %s", a.name, strings.Join(a.values, ", "))
		}
		values[a.name] = text
	}
	return values, nil
}

// Complete returns the result of completion/complete for the prefix typed of an argument's value.
func (p *prompt) Complete(name, typed string) json.RawMessage {
	fit := []byte{'['}
	count := 0
	for _, a := range p.arguments {
		for _, v := range a.values {
			if a.name == name && strings.HasPrefix(v, typed) && count < maxCompletions {
				if count++; count > 1 {
					fit = append(fit, ',')
				}
				fit = jsonraw.AppendString(fit, v)
			}
		}
	}
	return append(append([]byte(`{"completion":{"values":`), fit...), "]}}"...)
}
