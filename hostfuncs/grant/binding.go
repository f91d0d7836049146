package grant

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sallyport-mcp/sallyport/internal/urlnorm"
)

// form is the part of an address or a path that one value may fill.
type form string

const (
	oneStep  form = ""     // one segment of a path, one label of a host, one query value
	wholeURL form = "url"  // the whole address
	hostName form = "host" // one whole host name
	subPath  form = "path" // several segments of a file path
)

// binding is a placeholder for an argument of the call: {args.owner}, {args.site:host}.
type binding struct {
	path []string // names of nested arguments; * is each element of a list
	form form
}

// String returns the binding in the notation of a line.
func (b *binding) String() string {
	text := "{args." + strings.Join(b.path, ".")
	if b.form != oneStep {
		text += ":" + string(b.form)
	}
	return text + "}"
}

func (b *binding) equal(o *binding) bool {
	return b != nil && o != nil && b.form == o.form && slices.Equal(b.path, o.path)
}

// maxBindingPath is the maximum depth of an argument that a binding names.
const maxBindingPath = 16

// parseBinding reads {args.…} at the beginning of text. forms are the allowed forms.
func parseBinding(text string, line int, forms ...form) (*binding, string, error) {
	end := strings.IndexByte(text, '}')
	name, found := strings.CutPrefix(text[:max(end, 0)], "{args.")
	if !found {
		return nil, "", unknownBinding(text, line)
	}
	name, suffix, given := strings.Cut(name, ":")
	b := &binding{path: strings.Split(name, "."), form: form(suffix)}
	if given && suffix == "" || !slices.Contains(forms, b.form) {
		return nil, "", failf(line, "%s cannot stand here: %s", text[:end+1], formsText(forms))
	}
	if len(b.path) > maxBindingPath || slices.Contains(b.path, "") || strings.ContainsAny(name, "{}[]\" ") {
		return nil, "", failf(line, "%s names no argument: write such as {args.owner} or {args.files.*}", text[:end+1])
	}
	return b, text[end+1:], nil
}

func formsText(forms []form) string {
	var words []string
	for _, f := range forms {
		if f == oneStep {
			words = append(words, "{args.NAME}")
		} else {
			words = append(words, "{args.NAME:"+string(f)+"}")
		}
	}
	return "write " + strings.Join(words, " or ")
}

func unknownBinding(text string, line int) error {
	if end := strings.IndexByte(text, '}'); end >= 0 {
		text = text[:end+1]
	}
	if isBinding(text) {
		return failf(line, "%s cannot stand here", text)
	}
	return failf(line, "unknown binding %s: write {args.NAME}, or the value itself", text)
}

// plainValue reports whether a value of the call may fill any binding.
func plainValue(s string) bool {
	return s != "" && utf8.ValidString(s) && !strings.ContainsFunc(s, unprintable)
}

// stepValue reports whether a value may be one segment: it contains no character that any parser treats as a separator
// or an escape, and is no dot segment.
func stepValue(s string) bool {
	return plainValue(s) && s != "." && s != ".." && !strings.ContainsAny(s, separators) && !strings.ContainsFunc(s, looksLikeSeparator)
}

const separators = `/\?#@:%`

// looksLikeSeparator reports whether compatibility normalization (NFKC), a resolver or a code page maps a character to
// a separator or a dot.
func looksLikeSeparator(r rune) bool {
	return r >= 0x80 && (strings.ContainsRune("\u2044\u2215\u2216\u29F5\u29F8\u29F9\u3002\uFF61", r) ||
		strings.ContainsAny(urlnorm.Compatible(string(r)), separators+"."))
}

// labelValue returns a value as one label of a host; false if it is invalid.
func labelValue(s string) (string, bool) {
	s = strings.ToLower(s)
	return s, stepValue(s) && urlnorm.CheckLabel(s, s) == nil
}

// hostValue returns the labels of a value that is a whole host name; false for addresses and for names that resemble
// one.
func hostValue(s string) ([]string, bool) {
	if strings.ContainsAny(s, separators) {
		return nil, false
	}
	host, err := urlnorm.Host(s)
	if err != nil || urlnorm.IsAddress(host) {
		return nil, false
	}
	return strings.Split(host, "."), true
}

// pathValue returns the segments of a value that is a path. An absolute one must begin with prefix, which is removed.
func pathValue(s string, prefix []string) ([]string, bool) {
	if !plainValue(s) {
		return nil, false
	}
	rest, absolute := strings.CutPrefix(s, "/")
	parts := strings.Split(strings.TrimSuffix(rest, "/"), "/")
	if len(parts) > maxSegments || slices.ContainsFunc(parts, func(p string) bool { return p == "" || p == "." || p == ".." }) {
		return nil, false
	}
	if !absolute {
		return parts, true
	}
	parts, ok := below(parts, prefix)
	return parts, ok && len(parts) > 0
}

// bound returns a segment that is filled by a value of the call.
func bound(value string) segment { return segment{glob: glob{value}, bound: true} }

func allBound(values []string) pattern {
	p := make(pattern, len(values))
	for i, v := range values {
		p[i] = bound(v)
	}
	return p
}
