package settings

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/internal/strictyaml"
)

// spliced inserts a line behind the last one of a plugin's grants, with the keys that lead there if they are missing:
// as separate lines, or between existing braces. It returns false if the file's form has no place for it.
func spliced(data []byte, root *strictyaml.Node, plugin, line string) ([]byte, bool) {
	t := &yamlText{lines: bytes.SplitAfter(data, []byte("\n"))}
	t.order(root)
	at, margin := root, 0 // of the keys of at
	path := []string{"plugins", plugin, "grants"}
	for i, name := range path {
		if at == nil || empty(at) {
			return t.insert(len(t.lines), margin, block(path[i:], line)), at == nil
		}
		if at.Kind != strictyaml.Mapping {
			return nil, false
		}
		key, value := at.Member(name)
		if at.Flow {
			if key == nil {
				return t.join(at, braced(path[i:], line))
			}
			at = value
			continue
		}
		margin = at.Members[0].Key.Column - 1
		switch {
		case key == nil:
			return t.insert(t.end(at), margin, block(path[i:], line)), true
		case value.Kind == strictyaml.Null || t.blank(value):
			return t.insert(key.Line, margin+2, block(path[i+1:], line)), true
		}
		at = value
	}
	switch {
	case at.Kind != strictyaml.Sequence:
		return nil, false
	case at.Flow:
		return t.join(at, braced(nil, line))
	}
	return t.insert(t.end(at), at.Column-1, block(nil, line)), true
}

// block returns a grant in block style below new keys.
func block(keys []string, line string) (lines []string) {
	for i, key := range keys {
		lines = append(lines, strings.Repeat("  ", i)+key+":")
	}
	return append(lines, strings.Repeat("  ", len(keys))+"- "+line)
}

// braced returns a grant in flow style below new keys; the line is always quoted.
func braced(keys []string, line string) string {
	text := strconv.Quote(grant.Unquote(line))
	for i := len(keys) - 1; i >= 0; i-- {
		if keys[i] == "grants" {
			text = "[" + text + "]"
		}
		if text = keys[i] + ": " + text; i > 0 {
			text = "{" + text + "}"
		}
	}
	return text
}

// empty reports whether a node has no nodes below it.
func empty(n *strictyaml.Node) bool { return len(n.Items)+len(n.Members) == 0 }

// yamlText is a file as lines, and its nodes in document order.
type yamlText struct {
	lines [][]byte
	nodes []*strictyaml.Node
}

func (t *yamlText) order(n *strictyaml.Node) {
	if n == nil {
		return
	}
	t.nodes = append(t.nodes, n)
	for _, item := range n.Items {
		t.order(item)
	}
	for _, m := range n.Members {
		t.order(m.Key)
		t.order(m.Value)
	}
}

// lastOf returns the last node of n in document order.
func lastOf(n *strictyaml.Node) *strictyaml.Node {
	switch {
	case len(n.Items) > 0:
		return lastOf(n.Items[len(n.Items)-1])
	case len(n.Members) > 0:
		return lastOf(n.Members[len(n.Members)-1].Value)
	}
	return n
}

// end returns the number of lines up to the end of a node, without the blank lines and comments behind it.
func (t *yamlText) end(n *strictyaml.Node) int {
	last := lastOf(n)
	end := len(t.lines)
	if i := slices.Index(t.nodes, last); i+1 < len(t.nodes) {
		end = t.nodes[i+1].Line - 1
	}
	for end > last.Line {
		text := bytes.TrimSpace(t.lines[end-1])
		if len(text) > 0 && text[0] != '#' {
			break
		}
		end--
	}
	return end
}

// insert adds lines behind the n-th, indented by margin.
func (t *yamlText) insert(n, margin int, lines []string) []byte {
	end := []byte("\n")
	if len(t.lines) > 0 && bytes.HasSuffix(t.lines[0], []byte("\r\n")) {
		end = []byte("\r\n")
	}
	before := bytes.Join(t.lines[:n], nil)
	if len(before) > 0 && !bytes.HasSuffix(before, []byte("\n")) {
		before = append(before, end...)
	}
	for _, line := range lines {
		before = slices.Concat(before, []byte(strings.Repeat(" ", margin)+line), end)
	}
	return append(before, bytes.Join(t.lines[n:], nil)...)
}

// offset returns the byte offset of a node in the whole text.
func (t *yamlText) offset(n *strictyaml.Node) int {
	line, within := t.lines[n.Line-1], 0
	for range n.Column - 1 { // columns count characters
		_, size := utf8.DecodeRune(line[within:])
		within += size
	}
	return len(bytes.Join(t.lines[:n.Line-1], nil)) + within
}

// blank replaces an empty flow list or map by blanks if at most a comment follows on its line, so that the comment
// keeps its column. It returns false for other nodes.
func (t *yamlText) blank(n *strictyaml.Node) bool {
	if !n.Flow || !empty(n) {
		return false
	}
	whole := bytes.Join(t.lines, nil)
	from := t.offset(n)
	to, _ := closing(whole[from:])
	rest, _, _ := bytes.Cut(whole[from+to:], []byte("\n"))
	rest = bytes.TrimSpace(rest)
	if to == 0 || bytes.ContainsRune(whole[from:from+to], '\n') || len(rest) > 0 && rest[0] != '#' {
		return false
	}
	line := slices.Concat(whole[:from], bytes.Repeat([]byte(" "), to), whole[from+to:])
	if t.lines = bytes.SplitAfter(line, []byte("\n")); len(rest) == 0 {
		text := t.lines[n.Line-1]
		end := text[len(bytes.TrimRight(text, "\r\n")):]
		t.lines[n.Line-1] = slices.Concat(bytes.TrimRight(text, " \t\r\n"), end)
	}
	return true
}

// join adds an item behind the last one of a flow list or map.
func (t *yamlText) join(n *strictyaml.Node, item string) ([]byte, bool) {
	whole := bytes.Join(t.lines, nil)
	from := t.offset(n)
	end, last := closing(whole[from:])
	if end == 0 {
		return nil, false
	}
	switch whole[from+last-1] {
	case ',':
		item = " " + item
	case '[', '{':
	default:
		item = ", " + item
	}
	return slices.Concat(whole[:from+last], []byte(item), whole[from+last:]), true
}

// closing returns the end of the flow list or map at the start of text, and the end of its last item or the comma after
// it. Both are 0 if it is not closed.
func closing(text []byte) (end, last int) {
	depth, quote, before := 0, byte(0), byte(0) // before is the last byte that is neither blank nor in a comment
	for i := 0; i < len(text); i++ {
		c := text[i]
		blank := bytes.IndexByte([]byte(" \t\r\n"), c) >= 0
		switch {
		case quote == '"' && c == '\\', quote == '\'' && bytes.HasPrefix(text[i:], []byte("''")):
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case blank:
			continue
		case c == '#' && i > 0 && bytes.IndexByte([]byte(" \t\r\n"), text[i-1]) >= 0:
			for i+1 < len(text) && text[i+1] != '\n' {
				i++
			}
			continue
		case (c == '"' || c == '\'') && bytes.IndexByte([]byte("[{,:"), before) >= 0:
			quote = c
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			if depth--; depth == 0 {
				return i + 1, last
			}
		}
		before, last = c, i+1
	}
	return 0, 0
}
