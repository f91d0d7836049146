package settings

import (
	"os"
	"regexp"

	"github.com/sallyport-mcp/sallyport/internal/strictyaml"
)

// LoadHost reads the settings for a command that needs the folders of a host and no plugins. If the file has errors,
// broken is the first one, each host setting that is valid by itself holds, and Plugins is empty. err is set if the
// state folder cannot be determined.
func LoadHost(o Options) (s *Settings, broken, err error) {
	if s, broken = Load(o); broken == nil {
		return s, nil, nil
	}
	s = &Settings{options: o}
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
	root, ok := readable(root)
	if !ok {
		return nil, nil, broken
	}
	lines, err := readHost(root)
	if err == nil {
		s.Values, err = resolve(o, s.File, root, lines)
	}
	if err == nil {
		err = s.fillFolders(s.File)
	}
	return s, broken, err
}

// namesState matches a file that may set the state folder.
var namesState = regexp.MustCompile(`["']?state["']?[ \t]*:[ \t]*[^ \t\r\n]`)

// readable keeps the host settings of a file that are valid by themselves; false if the state folder is invalid or
// ambiguous.
func readable(root *strictyaml.Node) (*strictyaml.Node, bool) {
	if root == nil {
		return nil, true
	}
	kept := &strictyaml.Node{Kind: strictyaml.Mapping, Line: root.Line}
	seen := map[string]bool{}
	for _, name := range sections() {
		seen[name] = true
	}
	for _, m := range root.Members {
		key := m.Key.Text
		_, err := readHost(&strictyaml.Node{Kind: strictyaml.Mapping, Line: root.Line, Members: []strictyaml.Member{m}})
		switch {
		case key == "state" && (err != nil || seen[key]):
			return nil, false
		case err == nil && !seen[key]:
			kept.Members = append(kept.Members, m)
		}
		seen[key] = true
	}
	return kept, true
}
