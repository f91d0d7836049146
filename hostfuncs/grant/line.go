package grant

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxLine bounds a line, in bytes: longer than any address or path that is written by hand.
const maxLine = 8 << 10

// ParseLine reads one grant as it is written on a command line, for example
// "net: GET https://api.example.com/**" or "fs: write ~/work/** {ask: true}". The error is a *ParseError.
func ParseLine(line string) (Grant, error) { return parseLine(line, 0) }

func parseLine(text string, line int) (Grant, error) {
	text = strings.TrimSpace(text)
	if err := checkText(text, line); err != nil {
		return Grant{}, err
	}
	key, value, found := strings.Cut(text, ":")
	key = strings.TrimSpace(key)
	if !isHead(key) {
		return Grant{}, unknownFamily(line, key)
	}
	if !found && !later(Family(key)) {
		return Grant{}, failf(line, "%q says nothing: write such as %q", key, example(Family(key)))
	}
	head := Node{Line: line, Key: key, Value: strings.TrimSpace(value)}
	if key == "deny" || later(Family(key)) {
		return parseHead(head, nil)
	}
	return parseTail(head)
}

func checkText(text string, line int) error {
	switch {
	case text == "":
		return failf(line, "empty grant: write one of %s", families)
	case len(text) > maxLine:
		return failf(line, "a grant is longer than %d bytes", maxLine)
	case !utf8.ValidString(text):
		return failf(line, "a grant is not UTF-8 text")
	case strings.ContainsFunc(text, unprintable):
		return failf(line, "a grant holds a control character")
	}
	return nil
}

// unprintable are characters that could make a line look like another.
func unprintable(r rune) bool { return r != ' ' && !unicode.IsPrint(r) }

// parseTail takes a map of options, or for config the value itself, off the end of the line.
func parseTail(head Node) (Grant, error) {
	start := tailAt(head.Value, Family(head.Key) == Config)
	if start < 0 {
		return parseHead(head, nil)
	}
	nodes, err := parseFlow(head.Value[start:], head.Line)
	if err != nil {
		return Grant{}, err
	}
	if Family(head.Key) == Config {
		head.Kind, head.Nodes = Map, nodes
		return parseHead(head, nil)
	}
	head.Value = strings.TrimSpace(head.Value[:start])
	options := map[string]Node{}
	for _, n := range nodes {
		if isHead(n.Key) {
			return Grant{}, failf(n.Line, "unknown option %q of %s: write one of %s",
				n.Key, head.Key, optionsOf(Family(head.Key)))
		}
		options[n.Key] = n
	}
	return parseHead(head, options)
}

// tailAt finds where a map at the end of the line begins, -1 if there is none.
func tailAt(value string, whole bool) int {
	if !strings.HasSuffix(value, "}") {
		return -1
	}
	if whole {
		return strings.IndexByte(value, '{')
	}
	for end := len(value); ; {
		i := strings.LastIndex(value[:end], " {")
		if i < 0 || !isEscape(value[i+1:]) {
			return i
		}
		end = i
	}
}

// parseFlow reads {key: value, key: "value"}.
func parseFlow(text string, line int) ([]Node, error) {
	inner := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(text), "{"), "}")
	var nodes []Node
	seen := map[string]bool{}
	for rest := strings.TrimSpace(inner); rest != ""; {
		var key, value string
		var ok bool
		if key, rest, ok = flowWord(rest, ':'); !ok {
			return nil, failf(line, "options are written {name: value, name: value}")
		}
		if value, rest, ok = flowWord(rest, ','); !ok {
			return nil, failf(line, "the value of %q is not closed", key)
		}
		if seen[key] {
			return nil, failf(line, "%q is there twice", key)
		}
		seen[key] = true
		nodes = append(nodes, Node{Line: line, Key: key, Value: value})
	}
	return nodes, nil
}

// flowWord takes one word and the separator after it; the last value needs none.
func flowWord(text string, sep byte) (word, rest string, ok bool) {
	if !strings.HasPrefix(text, `"`) {
		i := strings.IndexByte(text, sep)
		if i < 0 {
			i = len(text)
		}
		word, rest = strings.TrimSpace(text[:i]), text[i:]
		if strings.ContainsAny(word, `"{}[]`) {
			return "", "", false
		}
		return endWord(word, rest, sep)
	}
	quoted, err := strconv.QuotedPrefix(text)
	if err != nil {
		return "", "", false
	}
	word, err = strconv.Unquote(quoted)
	if err != nil || !utf8.ValidString(word) {
		return "", "", false
	}
	return endWord(word, strings.TrimSpace(text[len(quoted):]), sep)
}

func endWord(word, rest string, sep byte) (string, string, bool) {
	if rest == "" {
		return word, "", sep == ','
	}
	return word, strings.TrimSpace(rest[1:]), rest[0] == sep
}

// formatMap writes what parseFlow reads, sorted by name.
func formatMap(m map[string]string) string {
	parts := make([]string, 0, len(m))
	for _, key := range sorted(m) {
		parts = append(parts, formatWord(key)+": "+formatWord(m[key]))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func formatWord(s string) string {
	plain := s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-./", r)
	})
	if plain {
		return s
	}
	return strconv.Quote(s)
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
