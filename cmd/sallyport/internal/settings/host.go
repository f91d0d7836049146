package settings

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// open reads the named file, or the user's default file if it exists.
func (s *Settings) open(file string) (*yaml.Node, error) {
	asked := file != ""
	if !asked {
		f, err := DefaultFile()
		if err != nil {
			return nil, nil // no home folder: flags and defaults apply
		}
		file = f
	}
	if info, err := os.Stat(file); err == nil { // before reading, so that a change in between is noticed
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

// nearest returns a hint with the known keys of the same group or with the same last part, or else all top-level keys.
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

// topLevel returns the top-level keys of a file, plugins and max_grants first.
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

// unplaced removes the position of an error that gets a new one.
func unplaced(err error) error {
	if fe, ok := err.(*FileError); ok {
		return fe.Err
	}
	return err
}

// hostMap converts the file without plugins and max_grants for viper: strings and lists of strings.
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
