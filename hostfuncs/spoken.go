package hostfuncs

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/sallyport-mcp/sallyport/hostfuncs/egress"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// author is a plugin, by name, as the author of texts that a client shows.
type author string

// asks attributes a text to the plugin, in its first line and in each further line, so that plugin text cannot be
// taken for the host's.
func (a author) asks(text string, trim func(line string) string) string {
	var lines []string
	for _, line := range strings.FieldsFunc(text, breaksLine) {
		if line = trim(line); strings.TrimSpace(line) != "" {
			lines = append(lines, line)
		}
	}
	return "Plugin " + string(a) + " asks: " + strings.Join(lines, "\n> ")
}

// label attributes a text on one line, beside a field.
func (a author) label(text string) string {
	return "Plugin " + string(a) + ": " + collapsed(inert(text))
}

func breaksLine(r rune) bool {
	return r == '\n' || r == '\r' || r == 0x2028 || r == 0x2029 || r == '\v' || r == '\f' || r == 0x85
}

// asWritten keeps the white space of a line, for a model.
func asWritten(line string) string { return line }

// collapsed joins words by single spaces, so that no text is pushed out of view.
func collapsed(text string) string { return strings.Join(strings.Fields(text), " ") }

// Patterns of images and links in clients.
var (
	addresses = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b([a-z][a-z0-9+.-]*:\s*[/\\]{2}|(javascript|data|vbscript|file|mailto|tel|sms|blob|magnet|about|intent):|www\d*\.)[^\s<>()\[\]"'` + "`" + `]*|[/\\]{2}[^\s<>()\[\]"'` + "`" + `]+`)
	})
	tags = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`<[/!?]?[a-zA-Z][^<>]*>?|<!--`) })
)

// inert removes images and links from a text: their URLs, their markup, and the dots of host names that a client
// would link.
func inert(text string) string {
	if !strings.ContainsAny(text, "<[:/\\&"+dots) {
		return text
	}
	text = entities().ReplaceAllString(text, "&amp;$1")
	text = addresses().ReplaceAllString(text, "")
	text = tags().ReplaceAllString(text, "")
	text = strings.NewReplacer("![", "[", "](", "] (", "][", "] [", "]:", "] :", "<", "‹").Replace(text)
	return dotted().ReplaceAllStringFunc(text, withoutHost)
}

// dots are the characters that browsers accept between the labels of a host name.
const dots = ".．。｡"

func isDot(r rune) bool { return strings.ContainsRune(dots, r) }

var (
	// entities matches HTML entities, which can encode characters of a URL.
	entities = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`&(#[0-9xX]|[a-zA-Z][a-zA-Z0-9]*;)`) })
	// dotted matches words with dots, and a following port or path.
	dotted = sync.OnceValue(func() *regexp.Regexp {
		const label = `[\p{L}\p{N}\p{M}_-]+`
		return regexp.MustCompile(label + `(?:\\?[` + dots + `]` + label + `)+(?::[0-9]|[/\\])?`)
	})
	// numbers matches an IPv4 address with a port or a path.
	numbers = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]+(?:[` + dots + `][0-9]+){3}[:/\\]`) })
)

// withoutHost puts the dots of a word in brackets if it could be a host name.
func withoutHost(word string) string {
	name, tail := word, ""
	if end := strings.LastIndexAny(word, `:/\`); end > strings.LastIndexFunc(word, isDot) {
		name, tail = word[:end], word[end:]
	}
	labels := strings.FieldsFunc(name, func(r rune) bool { return isDot(r) || r == '\\' })
	last := labels[len(labels)-1]
	// Some scripts end a sentence with one of these dots, without a following space.
	if host := egress.TopLevel(last) && (isASCII(last) || !strings.ContainsAny(name, dots[1:])); !host && !numbers().MatchString(word) {
		return word
	}
	return strings.Join(labels, "[.]") + tail
}

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII })
}

// formats are the formats of a field in MCP.
var formats = []string{"email", "uri", "date", "date-time"}

// mark attributes every visible text of a form to the plugin. A field without a title gets its name as title, since a
// client would show the name.
func (a author) mark(form json.RawMessage) json.RawMessage {
	o, err := jsonraw.ParseObject(form)
	if err != nil {
		return form // cannot happen: the form was checked
	}
	a.markTexts(&o, "title", "description")
	fields, _ := jsonraw.ParseObject(o.Get("properties"))
	for i, f := range fields {
		field, _ := jsonraw.ParseObject(f.Value)
		if jsonraw.IsNull(field.Get("title")) {
			field.Set("title", jsonraw.AppendString(nil, f.Key))
		}
		a.markTexts(&field, "title", "description")
		if format, ok := jsonraw.String(field.Get("format")); field.Get("format") != nil && !(ok && slices.Contains(formats, format)) {
			field.Delete("format")
		}
		a.markChoices(&field, "oneOf")
		if items, err := jsonraw.ParseObject(field.Get("items")); err == nil {
			a.markTexts(&items, "title", "description")
			a.markChoices(&items, "anyOf")
			field.Set("items", items.Append(nil))
		}
		fields[i].Value = field.Append(nil)
	}
	o.Set("properties", fields.Append(nil))
	return o.Append(nil)
}

// isLink reports whether a client could show a value as a link.
func isLink(value json.RawMessage) bool {
	text, ok := jsonraw.String(value)
	return ok && inert(text) != text
}

func (a author) markTexts(o *jsonraw.Object, members ...string) {
	for _, key := range members {
		if text, ok := jsonraw.String(o.Get(key)); ok {
			o.Set(key, jsonraw.AppendString(nil, a.label(text)))
		}
	}
}

// markChoices attributes the titles of choices to the plugin. A choice with only a value keeps it, since it is the
// answer. If a value would be shown as a link, all choices get titles, in the list of the given key.
func (a author) markChoices(field *jsonraw.Object, titled string) {
	if values, err := jsonraw.Elements(field.Get("enum")); err == nil && field.Get("enumNames") == nil && slices.ContainsFunc(values, isLink) {
		for i, value := range values {
			values[i] = jsonraw.Object{{Key: "const", Value: value}}.Append(nil)
		}
		field.Delete("enum")
		field.Set(titled, jsonraw.Array(values))
	}
	if names, err := jsonraw.Elements(field.Get("enumNames")); err == nil {
		for i, raw := range names {
			if name, ok := jsonraw.String(raw); ok {
				names[i] = jsonraw.AppendString(nil, a.label(name))
			}
		}
		field.Set("enumNames", jsonraw.Array(names))
	}
	for _, key := range []string{"oneOf", "anyOf"} {
		choices, err := jsonraw.Elements(field.Get(key))
		if err != nil {
			continue
		}
		for i, raw := range choices {
			if choice, err := jsonraw.ParseObject(raw); err == nil {
				if value := choice.Get("const"); choice.Get("title") == nil && isLink(value) {
					choice.Set("title", value)
				}
				a.markTexts(&choice, "title", "description")
				choices[i] = choice.Append(nil)
			}
		}
		field.Set(key, jsonraw.Array(choices))
	}
}
