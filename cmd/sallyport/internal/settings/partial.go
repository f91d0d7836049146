package settings

import (
	"os"
	"regexp"

	"go.yaml.in/yaml/v3"
)

// LoadHost reads the settings for a command that needs the folders of a host and no plugins. If the file has errors,
// broken is the first one, each host setting that is valid by itself holds, and Plugins is empty. err is set if the
// state folder cannot be determined.
func LoadHost(o Options) (s *Settings, broken, err error) {
	if s, broken = Load(o); broken == nil {
		return s, nil, nil
	}
	s = &Settings{options: o, values: map[string]Value{}}
	if s.File = o.File; s.File == "" {
		if s.File, err = DefaultFile(); err != nil {
			return nil, nil, broken
		}
	}
	data, err := os.ReadFile(s.File)
	if err != nil {
		return nil, nil, broken
	}
	root, err := readFile(s.File)
	if err != nil {
		named := o.Flags != nil && o.Flags.Changed("state") || os.Getenv(envPrefix+"STATE") != ""
		if !named && namesState.Match(data) {
			return nil, nil, broken
		}
		root = nil
	}
	root, ok := s.readable(root)
	if !ok {
		return nil, nil, broken
	}
	lines, err := s.readHost(root)
	if err == nil {
		err = s.resolve(o, root, lines)
	}
	if err == nil {
		err = s.fillFolders()
	}
	return s, broken, err
}

// namesState matches a file that may set the state folder.
var namesState = regexp.MustCompile(`["']?state["']?[ \t]*:[ \t]*[^ \t\r\n]`)

// readable keeps the host settings of a file that are valid by themselves; false if the state folder is invalid or
// ambiguous.
func (s *Settings) readable(root *yaml.Node) (*yaml.Node, bool) {
	if root == nil {
		return nil, true
	}
	kept := &yaml.Node{Kind: yaml.MappingNode, Line: root.Line}
	seen := map[string]bool{"plugins": true, "max_grants": true}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, pair := root.Content[i].Value, root.Content[i:i+2]
		_, err := s.readHost(&yaml.Node{Kind: yaml.MappingNode, Line: root.Line, Content: pair})
		switch {
		case key == "state" && (err != nil || seen[key]):
			return nil, false
		case err == nil && !seen[key]:
			kept.Content = append(kept.Content, pair...)
		}
		seen[key] = true
	}
	return kept, true
}
