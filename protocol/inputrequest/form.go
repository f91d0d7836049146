package inputrequest

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/protocol/envelope"
)

// olderForms reports whether forms of a legacy version lack multi-select lists and titled choices.
func olderForms(version string) bool { return version != "" && version < envelope.V20251125 }

// fitForm converts a form for older versions: a multi-select list becomes comma-separated text, and titled choices
// become an enum with enumNames.
func fitForm(form json.RawMessage) json.RawMessage {
	o, err := jsonraw.ParseObject(form)
	if err != nil {
		return form
	}
	fields, err := jsonraw.ParseObject(o.Get("properties"))
	if err != nil {
		return form
	}
	for i, f := range fields {
		if field, err := jsonraw.ParseObject(f.Value); err == nil {
			fields[i].Value = fitField(field).Append(nil)
		}
	}
	o.Set("properties", fields.Append(nil))
	return o.Append(nil)
}

func fitField(field jsonraw.Object) jsonraw.Object {
	values, titles := choices(field)
	if kind, _ := jsonraw.String(field.Get("type")); kind == "array" {
		return commaField(field, titles)
	}
	if field.Get("oneOf") != nil {
		field.Delete("oneOf")
		field.Set("enum", jsonraw.Strings(values))
		field.Set("enumNames", jsonraw.Strings(titles))
	}
	return field
}

// commaField converts a multi-select list to a text field.
func commaField(field jsonraw.Object, titles []string) jsonraw.Object {
	text := jsonraw.Object{{Key: "type", Value: json.RawMessage(`"string"`)}}
	if title := field.Get("title"); title != nil {
		text.Set("title", title)
	}
	description, _ := jsonraw.String(field.Get("description"))
	text.Set("description", jsonraw.AppendString(nil, strings.TrimSpace(description+" Any of these, with commas between them: "+strings.Join(titles, ", "))))
	if list, err := jsonraw.Elements(field.Get("default")); err == nil {
		var texts []string
		for _, raw := range list {
			s, _ := jsonraw.String(raw)
			texts = append(texts, s)
		}
		text.Set("default", jsonraw.AppendString(nil, strings.Join(texts, ", ")))
	}
	return text
}

// choices returns the values allowed for a field, or for the entries of a list field, and their titles.
func choices(field jsonraw.Object) (values, titles []string) {
	if items, err := jsonraw.ParseObject(field.Get("items")); err == nil {
		field = items
	}
	for s := jsonraw.ScanArray(field.Get("enum")); s.Next(); {
		if value, ok := jsonraw.String(s.Value); ok {
			values, titles = append(values, value), append(titles, value)
		}
	}
	for _, key := range []string{"oneOf", "anyOf"} {
		for s := jsonraw.ScanArray(field.Get(key)); s.Next(); {
			value, ok := jsonraw.String(jsonraw.Get(s.Value, "const"))
			title, named := jsonraw.String(jsonraw.Get(s.Value, "title"))
			if !named {
				title = value
			}
			if ok {
				values, titles = append(values, value), append(titles, title)
			}
		}
	}
	return values, titles
}

// Restore converts the answer of an older client back to the form before Fit: comma-separated texts become lists.
func Restore(question, answer json.RawMessage, version string) json.RawMessage {
	if !olderForms(version) {
		return answer
	}
	o, err := jsonraw.ParseObject(answer)
	if err != nil {
		return answer
	}
	content, err := jsonraw.ParseObject(o.Get("content"))
	if err != nil {
		return answer
	}
	for i, m := range content {
		field, err := jsonraw.ParseObject(jsonraw.Get(question, "requestedSchema", "properties", m.Key))
		text, ok := jsonraw.String(m.Value)
		if kind, _ := jsonraw.String(field.Get("type")); err == nil && ok && kind == "array" {
			content[i].Value = jsonraw.Strings(chosen(field, text))
		}
	}
	o.Set("content", content.Append(nil))
	return o.Append(nil)
}

// chosen returns the values in a comma-separated text, by value or title. Unknown entries are kept, so that form
// validation refuses them.
func chosen(field jsonraw.Object, text string) []string {
	list := []string{}
	values, titles := choices(field)
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if at := slices.Index(titles, part); at >= 0 && !slices.Contains(values, part) {
			part = values[at]
		}
		if part != "" && !slices.Contains(list, part) {
			list = append(list, part)
		}
	}
	return list
}
