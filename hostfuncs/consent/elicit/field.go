package elicit

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// Field is one field of a form. All its texts are plugin output.
type Field struct {
	Name        string   `json:"name"`
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description,omitempty"`
	Type        string   `json:"type"` // string, number, integer, boolean, or array (of choices)
	Format      string   `json:"format,omitempty"`
	Required    bool     `json:"required,omitempty"`
	Choices     []Choice `json:"choices,omitempty"` // nil allows any value
	Default     []string `json:"default,omitempty"` // more than one only for an array
}

// Choice is one allowed value of a field.
type Choice struct {
	Value string `json:"value"`
	Title string `json:"title,omitempty"`
}

// Fields returns the fields of a form in its order. A form that asks for an address to be opened, or for a
// confirmation, has none.
func (f Form) Fields() []Field {
	form := jsonraw.Get(f.Params, "requestedSchema")
	required := texts(jsonraw.Get(form, "required"))
	var all []Field
	s := jsonraw.ScanObject(jsonraw.Get(form, "properties"))
	for s.Next() {
		field := Field{Name: s.KeyString(), Choices: choices(s.Value)}
		for member, to := range map[string]*string{"title": &field.Title, "description": &field.Description, "type": &field.Type, "format": &field.Format} {
			*to, _ = jsonraw.String(jsonraw.Get(s.Value, member))
		}
		field.Required = slices.Contains(required, field.Name)
		field.Default = plain(jsonraw.Get(s.Value, "default"))
		all = append(all, field)
	}
	return all
}

// choices returns those of a field, or of the elements of a list field.
func choices(field json.RawMessage) (all []Choice) {
	if items := jsonraw.Get(field, "items"); items != nil {
		return choices(items)
	}
	names := texts(jsonraw.Get(field, "enumNames"))
	for i, value := range texts(jsonraw.Get(field, "enum")) {
		c := Choice{Value: value}
		if i < len(names) {
			c.Title = names[i]
		}
		all = append(all, c)
	}
	for _, member := range []string{"oneOf", "anyOf"} {
		s := jsonraw.ScanArray(jsonraw.Get(field, member))
		for s.Next() {
			if value, ok := jsonraw.String(jsonraw.Get(s.Value, "const")); ok {
				title, _ := jsonraw.String(jsonraw.Get(s.Value, "title"))
				all = append(all, Choice{value, title})
			}
		}
	}
	return all
}

func texts(list json.RawMessage) (all []string) {
	s := jsonraw.ScanArray(list)
	for s.Next() {
		if text, ok := jsonraw.String(s.Value); ok {
			all = append(all, text)
		}
	}
	return all
}

// plain returns a value in the form in which it is typed.
func plain(raw json.RawMessage) []string {
	if jsonraw.IsNull(raw) {
		return nil
	}
	if raw[0] == '[' {
		return texts(raw)
	}
	if text, ok := jsonraw.String(raw); ok {
		return []string{text}
	}
	return []string{string(raw)}
}

// Value is typed input for a field. A list field has one for each element.
type Value struct{ Name, Text string }

// Fill converts typed input to the content for Reply. If defaults is set, omitted fields get the form's defaults. It
// is false if the defaults were shown and could be cleared. The error names invalid input.
func (f Form) Fill(values []Value, defaults bool) (json.RawMessage, error) {
	fields := f.Fields()
	for _, v := range values {
		if !slices.ContainsFunc(fields, func(field Field) bool { return field.Name == v.Name }) {
			return nil, fmt.Errorf("the form has no field %q; it has %s", v.Name, names(fields))
		}
	}
	content := jsonraw.Object{}
	for _, field := range fields {
		var given []string
		for _, v := range values {
			if v.Name == field.Name {
				given = append(given, v.Text)
			}
		}
		if given == nil && defaults {
			given = field.Default
		}
		if given == nil {
			continue
		}
		value, err := field.value(given)
		if err != nil {
			return nil, err
		}
		content.Set(field.Name, value)
	}
	raw := json.RawMessage(content.Append(nil))
	return raw, f.check(raw)
}

func names(fields []Field) string {
	if len(fields) == 0 {
		return "none"
	}
	var all []string
	for _, f := range fields {
		all = append(all, f.Name)
	}
	return strings.Join(all, ", ")
}

// value parses typed input.
func (f Field) value(given []string) (json.RawMessage, error) {
	if f.Type == "array" {
		list := []json.RawMessage{}
		for _, text := range given {
			list = append(list, jsonraw.AppendString(nil, text))
		}
		return json.Marshal(list)
	}
	if len(given) != 1 {
		return nil, fmt.Errorf("field %q has one value", f.Name)
	}
	text := given[0]
	switch raw := json.RawMessage(strings.TrimSpace(text)); f.Type {
	case "boolean":
		if string(raw) != "true" && string(raw) != "false" {
			return nil, fmt.Errorf("field %q is true or false", f.Name)
		}
		return raw, nil
	case "number", "integer":
		if jsonraw.Valid(raw) != nil || !strings.ContainsAny(string(raw[:1]), "-0123456789") {
			return nil, fmt.Errorf("field %q is a number", f.Name)
		}
		return raw, nil
	}
	return jsonraw.AppendString(nil, text), nil
}
