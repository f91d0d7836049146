package hostfuncs

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/sallyport-mcp/sallyport/hostfuncs/web"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

// speaks says who says a text, in its first line and in each that follows, so that nobody takes a plugin's words
// for the host's.
func (g *Gate) speaks(text string, trim func(line string) string) string {
	var lines []string
	for _, line := range strings.FieldsFunc(text, breaksLine) {
		if line = trim(line); strings.TrimSpace(line) != "" {
			lines = append(lines, line)
		}
	}
	return "Plugin " + g.policy.plugin.Name + " asks: " + strings.Join(lines, "\n> ")
}

// labels says the same of a text on one line, beside a field.
func (g *Gate) labels(text string) string {
	return "Plugin " + g.policy.plugin.Name + ": " + collapsed(inert(text))
}

func breaksLine(r rune) bool {
	return r == '\n' || r == '\r' || r == 0x2028 || r == 0x2029 || r == '\v' || r == '\f' || r == 0x85
}

// asWritten leaves a line to a model its blanks.
func asWritten(line string) string { return line }

// collapsed has one blank between words, so that nothing is pushed out of sight.
func collapsed(text string) string { return strings.Join(strings.Fields(text), " ") }

// What a client may show as a picture or a link.
var (
	addresses = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b([a-z][a-z0-9+.-]*:\s*[/\\]{2}|(javascript|data|vbscript|file|mailto|tel|sms|blob|magnet|about|intent):|www\d*\.)[^\s<>()\[\]"'` + "`" + `]*|[/\\]{2}[^\s<>()\[\]"'` + "`" + `]+`)
	})
	tags = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`<[/!?]?[a-zA-Z][^<>]*>?|<!--`) })
)

// inert is a text without pictures and links: their addresses go, what makes one of a text, and the dots of names that a client
// would make a link to a host.
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

// dots stand between the labels of a name, in a browser.
const dots = ".．。｡"

func isDot(r rune) bool { return strings.ContainsRune(dots, r) }

var (
	// entities are written for signs that an address is made of.
	entities = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`&(#[0-9xX]|[a-zA-Z][a-zA-Z0-9]*;)`) })
	// dotted are words with dots in them, and the port or path behind them.
	dotted = sync.OnceValue(func() *regexp.Regexp {
		const label = `[\p{L}\p{N}\p{M}_-]+`
		return regexp.MustCompile(label + `(?:\\?[` + dots + `]` + label + `)+(?::[0-9]|[/\\])?`)
	})
	// numbers are an address in four numbers, with a port or a path.
	numbers = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]+(?:[` + dots + `][0-9]+){3}[:/\\]`) })
)

// withoutHost is a word with its dots in brackets, if it could be the name of a host.
func withoutHost(word string) string {
	name, tail := word, ""
	if end := strings.LastIndexAny(word, `:/\`); end > strings.LastIndexFunc(word, isDot) {
		name, tail = word[:end], word[end:]
	}
	labels := strings.FieldsFunc(name, func(r rune) bool { return isDot(r) || r == '\\' })
	last := labels[len(labels)-1]
	// Other scripts end a sentence with one of the dots, and need no blank behind it.
	if host := web.TopLevel(last) && (isASCII(last) || !strings.ContainsAny(name, dots[1:])); !host && !numbers().MatchString(word) {
		return word
	}
	return strings.Join(labels, "[.]") + tail
}

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII })
}

// formats are those that MCP has for a field.
var formats = []string{"email", "uri", "date", "date-time"}

// mark makes every text of a form that a person reads the plugin's, by its words. A field without a title gets its name
// for one, since a client would show that.
func (g *Gate) mark(form json.RawMessage) json.RawMessage {
	o, err := rawjson.ParseObject(form)
	if err != nil {
		return form // it was checked
	}
	g.markTexts(&o, "title", "description")
	fields, _ := rawjson.ParseObject(o.Get("properties"))
	for i, f := range fields {
		field, _ := rawjson.ParseObject(f.Value)
		if rawjson.IsNull(field.Get("title")) {
			field.Set("title", rawjson.AppendString(nil, f.Key))
		}
		g.markTexts(&field, "title", "description")
		if format, ok := rawjson.String(field.Get("format")); field.Get("format") != nil && !(ok && slices.Contains(formats, format)) {
			field.Delete("format")
		}
		g.markChoices(&field, "oneOf")
		if items, err := rawjson.ParseObject(field.Get("items")); err == nil {
			g.markTexts(&items, "title", "description")
			g.markChoices(&items, "anyOf")
			field.Set("items", items.Append(nil))
		}
		fields[i].Value = field.Append(nil)
	}
	o.Set("properties", fields.Append(nil))
	return o.Append(nil)
}

// isLink reports whether a client could make a link of a value.
func isLink(value json.RawMessage) bool {
	text, ok := rawjson.String(value)
	return ok && inert(text) != text
}

func (g *Gate) markTexts(o *rawjson.Object, members ...string) {
	for _, key := range members {
		if text, ok := rawjson.String(o.Get(key)); ok {
			o.Set(key, rawjson.AppendString(nil, g.labels(text)))
		}
	}
}

// markChoices marks the titles of choices. A choice that is only a value stays, since it is the answer; where one would be
// a link, all get titles, in the list of the given key.
func (g *Gate) markChoices(field *rawjson.Object, titled string) {
	if values, err := rawjson.Elements(field.Get("enum")); err == nil && field.Get("enumNames") == nil && slices.ContainsFunc(values, isLink) {
		for i, value := range values {
			values[i] = rawjson.Object{{Key: "const", Value: value}}.Append(nil)
		}
		field.Delete("enum")
		field.Set(titled, rawjson.Array(values))
	}
	if names, err := rawjson.Elements(field.Get("enumNames")); err == nil {
		for i, raw := range names {
			if name, ok := rawjson.String(raw); ok {
				names[i] = rawjson.AppendString(nil, g.labels(name))
			}
		}
		field.Set("enumNames", rawjson.Array(names))
	}
	for _, key := range []string{"oneOf", "anyOf"} {
		choices, err := rawjson.Elements(field.Get(key))
		if err != nil {
			continue
		}
		for i, raw := range choices {
			if choice, err := rawjson.ParseObject(raw); err == nil {
				if value := choice.Get("const"); choice.Get("title") == nil && isLink(value) {
					choice.Set("title", value)
				}
				g.markTexts(&choice, "title", "description")
				choices[i] = choice.Append(nil)
			}
		}
		field.Set(key, rawjson.Array(choices))
	}
}
