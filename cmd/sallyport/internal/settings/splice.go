package settings

import (
	"bytes"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// spliced puts a line behind the last one of a plugin's grants, and the keys that lead there where they are missing.
// False: there are braces on the way.
func spliced(data []byte, root *yaml.Node, plugin, line string) ([]byte, bool) {
	t := &yamlText{lines: bytes.SplitAfter(data, []byte("\n"))}
	t.order(root)
	at, margin := root, 0 // of the keys of at
	path := []string{"plugins", plugin, "grants"}
	for i, name := range path {
		missing := block(path[i:], line)
		if at == nil || len(at.Content) == 0 {
			return t.insert(len(t.lines), margin, missing), at == nil
		}
		if at.Kind != yaml.MappingNode || at.Style&yaml.FlowStyle != 0 {
			return nil, false
		}
		margin = at.Content[0].Column - 1
		key, value := entry(at, name)
		switch {
		case key == nil:
			return t.insert(t.end(at), margin, missing), true
		case isNull(value):
			return t.insert(key.Line, margin+2, block(path[i+1:], line)), true
		}
		at = value
	}
	if at.Kind != yaml.SequenceNode || at.Style&yaml.FlowStyle != 0 {
		return nil, false
	}
	return t.insert(t.end(at), at.Column-1, block(nil, line)), true
}

// block is a line of grants below keys that are not there yet.
func block(keys []string, line string) (lines []string) {
	for i, key := range keys {
		lines = append(lines, strings.Repeat("  ", i)+key+":")
	}
	return append(lines, strings.Repeat("  ", len(keys))+"- "+line)
}

func entry(n *yaml.Node, name string) (key, value *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i], n.Content[i+1]
		}
	}
	return nil, nil
}

// yamlText is a file as lines, and its nodes in their order.
type yamlText struct {
	lines [][]byte
	nodes []*yaml.Node
}

func (t *yamlText) order(n *yaml.Node) {
	if n == nil {
		return
	}
	t.nodes = append(t.nodes, n)
	for _, c := range n.Content {
		t.order(c)
	}
}

// end is how many lines of the file stand before what follows a node, without the blank lines and comments behind it.
func (t *yamlText) end(n *yaml.Node) int {
	last := n
	for len(last.Content) > 0 {
		last = last.Content[len(last.Content)-1]
	}
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

// insert puts lines behind the n-th, each so far to the right.
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
