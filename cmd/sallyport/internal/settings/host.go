package settings

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/strictyaml"
)

// open reads the named file, or the user's default file if it exists.
func (s *Settings) open(file string) (*strictyaml.Node, error) {
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
func readHost(root *strictyaml.Node) (map[string]int, error) {
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
	one := func(name string, key, value *strictyaml.Node) error {
		k, ok := known[name]
		if !ok {
			return key.Errorf("unknown key %q%s", name, hint(name))
		}
		lines[name] = key.Line
		return checkNode(k, value)
	}
	return lines, root.Each("the file", func(key, value *strictyaml.Node) error {
		switch {
		case isSection(key.Text):
			return nil
		case groups[key.Text]:
			return value.Each(key.Text, func(k, v *strictyaml.Node) error { return one(key.Text+"."+k.Text, k, v) })
		}
		return one(key.Text, key, value)
	})
}

// hint returns a hint with the known keys of the same group or with the same last part, or else all top-level keys.
func hint(name string) string {
	group, last, _ := strings.Cut(name, ".")
	var same []string
	for _, k := range Keys() {
		g, l, grouped := strings.Cut(k.Name, ".")
		if grouped && (g == group || l == name || (last != "" && l == last)) {
			same = append(same, k.Name)
		}
	}
	if len(same) == 0 {
		same = topLevel()
	}
	return strictyaml.Hint(name, same)
}

// sections returns the top-level keys of a file that are no host settings.
func sections() []string {
	return []string{"plugins", "max_grants", sourcesKey, authKey, groupsKey, quotasKey}
}

func isSection(key string) bool { return slices.Contains(sections(), key) }

// topLevel returns the top-level keys of a file, the sections first.
func topLevel() []string {
	names := sections()
	for _, k := range Keys() {
		if first, _, _ := strings.Cut(k.Name, "."); !slices.Contains(names, first) {
			names = append(names, first)
		}
	}
	return names
}

func checkNode(k Key, n *strictyaml.Node) error {
	if k.Kind == List {
		_, err := n.Texts(k.Name)
		return err
	}
	text, err := n.Scalar(k.Name)
	if err != nil {
		return err
	}
	if err := check(k.Kind, text); err != nil {
		return n.Errorf("%s: %v", k.Name, err)
	}
	return nil
}

// hostMap converts the file without its sections for viper: strings and lists of strings.
func hostMap(root *strictyaml.Node) map[string]any {
	m := map[string]any{}
	if root == nil {
		return m
	}
	for _, member := range root.Members {
		if key := member.Key.Text; !isSection(key) {
			m[key] = hostValue(member.Value)
		}
	}
	return m
}

func hostValue(n *strictyaml.Node) any {
	switch n.Kind {
	case strictyaml.Mapping:
		return hostMap(n)
	case strictyaml.Sequence:
		items, _ := n.Texts("")
		return items
	}
	return n.Text
}
