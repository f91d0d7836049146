package grant

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxFlow bounds the nesting of maps and lists. The language needs four levels.
const maxFlow = 8

// flow parses {key: value, key: [value, "value"]}, the short form of maps and lists.
type flow struct {
	rest  string
	line  int
	depth int
}

// parseFlow parses one map or list at the beginning of text, and returns the rest. The nodes get the given line number.
// The error is a *ParseError with it.
func parseFlow(text string, line int) (Node, string, error) {
	f := &flow{rest: strings.TrimSpace(text), line: line}
	n, err := f.value()
	return n, strings.TrimSpace(f.rest), err
}

func (f *flow) value() (Node, error) {
	switch {
	case strings.HasPrefix(f.rest, "{"):
		return f.nested(Map, '}', f.member)
	case strings.HasPrefix(f.rest, "["):
		return f.nested(List, ']', f.value)
	}
	text, ok := f.word(",}]")
	if !ok {
		return Node{}, failf(f.line, "a value in braces is plain text or \"text in quotes\"")
	}
	return Node{Line: f.line, Value: text}, nil
}

// nested parses elements up to the closing bracket.
func (f *flow) nested(kind Kind, end byte, element func() (Node, error)) (Node, error) {
	if f.depth++; f.depth > maxFlow {
		return Node{}, failf(f.line, "braces nest deeper than %d", maxFlow)
	}
	defer func() { f.depth-- }()
	n := Node{Line: f.line, Kind: kind}
	f.skip(1)
	seen := map[string]bool{}
	for !f.next(end) {
		e, err := element()
		if err != nil {
			return n, err
		}
		if kind == Map && seen[e.Key] {
			return n, failf(f.line, "%q is there twice", e.Key)
		}
		seen[e.Key] = true
		n.Nodes = append(n.Nodes, e)
		if !f.next(',') && !strings.HasPrefix(f.rest, string(end)) {
			return n, failf(f.line, "%q is missing at %q", end, f.rest)
		}
	}
	return n, nil
}

func (f *flow) member() (Node, error) {
	key, ok := f.word(":,{}[]")
	if !ok || !f.next(':') {
		return Node{}, failf(f.line, "options are written {name: value, name: value}")
	}
	n, err := f.value()
	n.Key = key
	return n, err
}

// next consumes c if it is next.
func (f *flow) next(c byte) bool {
	if f.rest == "" || f.rest[0] != c {
		return false
	}
	f.skip(1)
	return true
}

func (f *flow) skip(n int) { f.rest = strings.TrimSpace(f.rest[n:]) }

// word parses quoted text, or plain text up to one of the stops. A plain word has no braces.
func (f *flow) word(stops string) (string, bool) {
	if !strings.HasPrefix(f.rest, `"`) {
		i := strings.IndexAny(f.rest, stops)
		if i < 0 {
			i = len(f.rest)
		}
		text := strings.TrimSpace(f.rest[:i])
		f.skip(i)
		return text, !strings.ContainsAny(text, `"{}[]`)
	}
	quoted, err := strconv.QuotedPrefix(f.rest)
	if err != nil {
		return "", false
	}
	text, err := strconv.Unquote(quoted)
	f.skip(len(quoted))
	return text, err == nil && utf8.ValidString(text)
}

// formatMap formats a map in the syntax of parseFlow, sorted by key.
func formatMap(m map[string]string) string {
	formatted := make(map[string]string, len(m))
	for key, value := range m {
		formatted[key] = formatWord(value)
	}
	return joinMap(formatted)
}

// joinMap formats a map of formatted values.
func joinMap(m map[string]string) string {
	parts := make([]string, 0, len(m))
	for _, key := range sortedKeys(m) {
		parts = append(parts, formatWord(key)+": "+m[key])
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// formatList formats a list in the syntax of parseFlow.
func formatList(words []string) string {
	parts := make([]string, len(words))
	for i, w := range words {
		parts[i] = formatWord(w)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// formatWord formats a text, in quotes if parseFlow would read plain text differently.
func formatWord(s string) string {
	plain := s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-./", r)
	})
	if plain {
		return s
	}
	return strconv.Quote(s)
}

// sortedKeys returns the keys of a map, sorted.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
