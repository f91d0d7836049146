package settings

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// open reads the file that was asked for, or the user's own if it is there.
func (s *Settings) open(file string) (*yaml.Node, error) {
	asked := file != ""
	if !asked {
		f, err := DefaultFile()
		if err != nil {
			return nil, nil // no home: everything has a default or a flag
		}
		file = f
	}
	if info, err := os.Stat(file); err == nil { // before it is read: a change in between is noticed
		s.Was = info
	}
	root, err := readFile(file)
	if errors.Is(err, fs.ErrNotExist) && !asked {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s.File = file
	return root, nil
}

// readHost checks the host settings of the file and returns the line of each.
func (s *Settings) readHost(root *yaml.Node) (map[string]int, error) {
	lines := map[string]int{}
	if root == nil {
		return lines, nil
	}
	known := map[string]Key{}
	groups := map[string]bool{}
	for _, k := range Keys() {
		known[k.Name] = k
		if group, _, ok := strings.Cut(k.Name, "."); ok {
			groups[group] = true
		}
	}
	one := func(name string, key, value *yaml.Node) error {
		k, ok := known[name]
		if !ok {
			return at(key.Line, "unknown key %q%s", name, nearest(name, known))
		}
		lines[name] = key.Line
		return checkNode(k, value)
	}
	return lines, fields(root, "the file", func(key, value *yaml.Node) error {
		switch {
		case key.Value == "plugins" || key.Value == "max_grants":
			return nil
		case groups[key.Value]:
			return fields(value, key.Value, func(k, v *yaml.Node) error { return one(key.Value+"."+k.Value, k, v) })
		}
		return one(key.Value, key, value)
	})
}

// nearest is a hint that names a known key with the same last part, or all of the same group.
func nearest(name string, known map[string]Key) string {
	group, last, _ := strings.Cut(name, ".")
	var same []string
	for _, k := range Keys() {
		g, l, grouped := strings.Cut(k.Name, ".")
		if grouped && (g == group || l == name || (last != "" && l == last)) {
			same = append(same, k.Name)
		}
	}
	if len(same) == 0 {
		return "; known are " + strings.Join(topLevel(), ", ")
	}
	return "; known are " + strings.Join(same, ", ")
}

// topLevel are the keys of a file's first level, with those of plugins first.
func topLevel() []string {
	names := []string{"plugins", "max_grants"}
	for _, k := range Keys() {
		if first, _, _ := strings.Cut(k.Name, "."); !slices.Contains(names, first) {
			names = append(names, first)
		}
	}
	return names
}

func checkNode(k Key, n *yaml.Node) error {
	if k.Kind == List {
		_, err := texts(n, k.Name)
		return err
	}
	text, err := scalar(n, k.Name)
	if err == nil {
		err = check(k.Kind, text)
	}
	if err != nil {
		return at(n.Line, "%s: %w", k.Name, unplaced(err))
	}
	return nil
}

// unplaced drops the position of an error that gets another one.
func unplaced(err error) error {
	if fe, ok := err.(*FileError); ok {
		return fe.Err
	}
	return err
}

// hostMap is the file without its plugins, as viper wants it: texts and lists of texts.
func hostMap(root *yaml.Node) map[string]any {
	m := map[string]any{}
	if root == nil {
		return m
	}
	for i := 0; i < len(root.Content); i += 2 {
		key, value := root.Content[i].Value, root.Content[i+1]
		if key != "plugins" && key != "max_grants" {
			m[key] = hostValue(value)
		}
	}
	return m
}

func hostValue(n *yaml.Node) any {
	switch n.Kind {
	case yaml.MappingNode:
		return hostMap(n)
	case yaml.SequenceNode:
		items, _ := texts(n, "")
		return items
	}
	return n.Value
}
