package grant

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxLine is the maximum length of a line in bytes, beyond that of handwritten addresses and paths.
const maxLine = 8 << 10

// ParseLine reads one grant in the form of the command line, for example "net: GET https://api.example.com/**" or "fs:
// write ~/work/** {ask: true}". The error is a *ParseError.
func ParseLine(line string) (Grant, error) { return held(parseLine(line, 0)) }

func parseLine(text string, line int) (Grant, error) {
	text = strings.TrimSpace(Unquote(strings.TrimSpace(text)))
	if err := checkText(text, line); err != nil {
		return Grant{}, err
	}
	key, value, found := strings.Cut(text, ":")
	word, rest := cutBare(text)
	if form, _ := formOf(Family(word)); form.bare {
		key, value, found = word, rest, true
	}
	key = strings.TrimSpace(key)
	if !isHead(key) {
		return Grant{}, unknownFamily(line, key)
	}
	if !found {
		return Grant{}, failf(line, "%q says nothing: write such as %q", key, example(Family(key)))
	}
	head := Node{Line: line, Key: key, Value: strings.TrimSpace(value)}
	if key == "deny" {
		return parseHead(head, nil)
	}
	g, err := parseTail(head)
	if err == nil && len(text) > maxLine/9 && len(g.String()) > maxLine { // escapes may triple it, quotes too
		return Grant{}, failf(line, "a grant is longer than %d bytes when it is written with escapes", maxLine)
	}
	return g, err
}

// cutBare splits off the family of a line without a value.
func cutBare(text string) (key, rest string) {
	i := strings.IndexAny(text, " {")
	if i < 0 {
		return text, ""
	}
	return text[:i], text[i:]
}

func checkText(text string, line int) error {
	switch {
	case text == "":
		return failf(line, "empty grant: write one of %s", wordsOf())
	case len(text) > maxLine:
		return failf(line, "a grant is longer than %d bytes", maxLine)
	case !utf8.ValidString(text):
		return failf(line, "a grant is not UTF-8 text")
	case strings.ContainsFunc(text, unprintable):
		return failf(line, "a grant holds a control character")
	}
	return nil
}

// unprintable reports characters that could make a line look like a different one.
func unprintable(r rune) bool { return r != ' ' && !unicode.IsPrint(r) }

// parseTail reads the options at the end of the line. The value of some families is itself a map or list.
func parseTail(head Node) (Grant, error) {
	start := 0
	form, _ := formOf(Family(head.Key))
	if first := head.Value; !form.structured || !strings.HasPrefix(first, "{") && !strings.HasPrefix(first, "[") {
		if start = tailAt(head.Value); start < 0 {
			return parseHead(head, nil)
		}
	} else {
		value, rest, err := parseFlow(head.Value, head.Line)
		if err != nil {
			return Grant{}, err
		}
		if form.bare && value.onlyOptions(form) {
			head.Value = ""
			return parseHead(head, byName(value.Nodes))
		}
		value.Key, start = head.Key, 0
		if head, head.Value = value, rest; rest == "" {
			return parseHead(head, nil)
		}
	}
	options, rest, err := parseFlow(head.Value[start:], head.Line)
	switch {
	case err != nil:
		return Grant{}, err
	case rest != "" || options.Kind != Map:
		return Grant{}, failf(head.Line, "%q is no option: options come last, as {name: value}", head.Value[start:])
	}
	head.Value = strings.TrimSpace(head.Value[:start])
	return parseHead(head, byName(options.Nodes))
}

// onlyOptions reports whether a map is the options of a line without a value.
func (n *Node) onlyOptions(form lineForm) bool {
	return n.Kind == Map && len(n.Nodes) > 0 && !slices.ContainsFunc(n.Nodes, func(m Node) bool { return form.options[m.Key].read == nil })
}

func byName(nodes []Node) map[string]Node {
	m := make(map[string]Node, len(nodes))
	for _, n := range nodes {
		m[n.Key] = n
	}
	return m
}

// tailAt returns the index of the options at the end of the line, -1 if there are none. They begin at the first brace
// that is no escape and no binding.
func tailAt(value string) int {
	if strings.HasPrefix(value, "{") && !isEscape(value) && !isBinding(value) {
		return 0
	}
	for i := range len(value) {
		if strings.HasPrefix(value[i:], " {") && !isEscape(value[i+1:]) && !isBinding(value[i+1:]) {
			return i
		}
	}
	return -1
}

// isBinding reports whether s begins with a placeholder.
func isBinding(s string) bool {
	for _, word := range []string{"{args.", "{roots}", "{workspace}", "{plugin}"} {
		if strings.HasPrefix(s, word) {
			return true
		}
	}
	return false
}
