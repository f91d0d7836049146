package settings

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/internal/strictyaml"
)

// Section has values of a plugin's section that bound it. The zero value has none.
type Section struct {
	Memory string   // for limits.memory
	Hide   []string // for publish.hide, sorted
}

// Empty reports whether a section has no value.
func (s Section) Empty() bool { return s.Memory == "" && len(s.Hide) == 0 }

// block returns the section as YAML in block style.
func (s Section) block() (lines []string) {
	if s.Memory != "" {
		lines = append(lines, "limits: {memory: "+s.Memory+"}")
	}
	if len(s.Hide) > 0 {
		lines = append(lines, "publish:", "  hide:")
		for _, name := range s.Hide {
			lines = append(lines, "    - "+strconv.Quote(name))
		}
	}
	return lines
}

// written returns the values as a file that has the section says them.
func (s Section) written() (all []string) {
	if s.Memory != "" {
		all = append(all, "limits.memory: "+s.Memory)
	}
	if len(s.Hide) > 0 {
		all = append(all, "publish.hide: "+strings.Join(s.Hide, ", "))
	}
	return all
}

// held reports whether a plugin's section has these values, or stricter ones.
func (s Section) held(p Plugin) bool {
	most, err := grant.ParseSize(s.Memory)
	memory := s.Memory == "" || err == nil && p.Limits.Memory > 0 && p.Limits.Memory <= most
	return memory && !slices.ContainsFunc(s.Hide, func(name string) bool { return !slices.Contains(p.Publish.Hide, name) })
}

// AddSection computes how a plugin gets a section with values that bound it. All other bytes of the file stay. A section that is
// there already, and has other values, is an error that names the values to add by hand.
func AddSection(file, plugin string, s Section) (*Addition, error) {
	a, err := newAddition(file, plugin)
	if err != nil || s.Empty() {
		return a, err
	}
	root, err := strictyaml.Parse(a.before, limits)
	if err != nil {
		return nil, inFile(a.File, err)
	}
	plugins, err := readPlugins(root, nil)
	if err != nil {
		return nil, inFile(a.File, err)
	}
	byHand := fmt.Errorf("%s: add to plugins.%s by hand: %s", a.File, plugin, strings.Join(s.written(), "; "))
	if i := slices.IndexFunc(plugins, func(p Plugin) bool { return p.Name == plugin }); i >= 0 {
		if s.held(plugins[i]) {
			return a, nil
		}
		return nil, byHand
	}
	t := &yamlText{lines: bytes.SplitAfter(a.before, []byte("\n"))}
	t.order(root)
	after, ok := t.newPlugin(root, append([]string{plugin + ":"}, indented(s.block(), "  ")...))
	if !ok || differOnly(a.before, after, plugin, s.written()...) != nil {
		return nil, byHand
	}
	a.after = after
	a.Difference = difference(string(a.before), string(a.after))
	return a, nil
}

// newPlugin inserts the section of a plugin that has none. It returns false if the file's form has no place for it.
func (t *yamlText) newPlugin(root *strictyaml.Node, section []string) ([]byte, bool) {
	if root == nil || empty(root) {
		return t.insert(len(t.lines), 0, append([]string{"plugins:"}, indented(section, "  ")...)), root == nil
	}
	if root.Kind != strictyaml.Mapping || root.Flow {
		return nil, false
	}
	margin := root.Members[0].Key.Column - 1
	key, value := root.Member("plugins")
	switch {
	case key == nil:
		return t.insert(t.end(root), margin, append([]string{"plugins:"}, indented(section, "  ")...)), true
	case value.Kind == strictyaml.Null || t.blank(value):
		return t.insert(key.Line, margin+2, section), true
	case value.Kind != strictyaml.Mapping || value.Flow:
		return nil, false
	}
	return t.insert(t.end(value), value.Members[0].Key.Column-1, section), true
}

// indented returns lines behind a margin.
func indented(lines []string, margin string) (all []string) {
	for _, line := range lines {
		all = append(all, margin+line)
	}
	return all
}
