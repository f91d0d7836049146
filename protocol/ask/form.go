package ask

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/protocol/era"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

// olderForms reports whether forms of a legacy version lack multi-select lists and titled choices.
func olderForms(version string) bool { return version != "" && version < era.V20251125 }

// fitForm converts a form for older versions: a multi-select list becomes comma-separated text, and titled choices
// become an enum with enumNames.
func fitForm(form json.RawMessage) json.RawMessage {
	o, err := rawjson.ParseObject(form)
	if err != nil {
		return form
	}
	fields, err := rawjson.ParseObject(o.Get("properties"))
	if err != nil {
		return form
	}
	for i, f := range fields {
		if field, err := rawjson.ParseObject(f.Value); err == nil {
			fields[i].Value = fitField(field).Append(nil)
		}
	}
	o.Set("properties", fields.Append(nil))
	return o.Append(nil)
}

func fitField(field rawjson.Object) rawjson.Object {
	values, titles := choices(field)
	if kind, _ := rawjson.String(field.Get("type")); kind == "array" {
		return commaField(field, titles)
	}
	if field.Get("oneOf") != nil {
		field.Delete("oneOf")
		field.Set("enum", rawjson.Strings(values))
		field.Set("enumNames", rawjson.Strings(titles))
	}
	return field
}

// commaField converts a multi-select list to a text field.
func commaField(field rawjson.Object, titles []string) rawjson.Object {
	text := rawjson.Object{{Key: "type", Value: json.RawMessage(`"string"`)}}
	if title := field.Get("title"); title != nil {
		text.Set("title", title)
	}
	description, _ := rawjson.String(field.Get("description"))
	text.Set("description", rawjson.AppendString(nil, strings.TrimSpace(description+" Any of these, with commas between them: "+strings.Join(titles, ", "))))
	if list, err := rawjson.Elements(field.Get("default")); err == nil {
		var texts []string
		for _, raw := range list {
			s, _ := rawjson.String(raw)
			texts = append(texts, s)
		}
		text.Set("default", rawjson.AppendString(nil, strings.Join(texts, ", ")))
	}
	return text
}

// choices returns the values allowed for a field, or for the entries of a list field, and their titles.
func choices(field rawjson.Object) (values, titles []string) {
	if items, err := rawjson.ParseObject(field.Get("items")); err == nil {
		field = items
	}
	for s := rawjson.ScanArray(field.Get("enum")); s.Next(); {
		if value, ok := rawjson.String(s.Value); ok {
			values, titles = append(values, value), append(titles, value)
		}
	}
	for _, key := range []string{"oneOf", "anyOf"} {
		for s := rawjson.ScanArray(field.Get(key)); s.Next(); {
			value, ok := rawjson.String(rawjson.Get(s.Value, "const"))
			title, named := rawjson.String(rawjson.Get(s.Value, "title"))
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
	o, err := rawjson.ParseObject(answer)
	if err != nil {
		return answer
	}
	content, err := rawjson.ParseObject(o.Get("content"))
	if err != nil {
		return answer
	}
	for i, m := range content {
		field, err := rawjson.ParseObject(rawjson.Get(question, "requestedSchema", "properties", m.Key))
		text, ok := rawjson.String(m.Value)
		if kind, _ := rawjson.String(field.Get("type")); err == nil && ok && kind == "array" {
			content[i].Value = rawjson.Strings(chosen(field, text))
		}
	}
	o.Set("content", content.Append(nil))
	return o.Append(nil)
}

// chosen returns the values in a comma-separated text, by value or title. Unknown entries are kept, so that form
// validation refuses them.
func chosen(field rawjson.Object, text string) []string {
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
