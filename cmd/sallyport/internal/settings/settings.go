package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"
	"go.yaml.in/yaml/v3"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
)

// Source says where a value came from.
type Source string

// The places a value can come from, the strongest first.
const (
	FromFlag    Source = "flag"
	FromEnv     Source = "variable"
	FromFile    Source = "file"
	FromDefault Source = "default"
)

// Value is one effective setting.
type Value struct {
	Key    Key
	Text   string // as an operator would write it
	Source Source
	Where  string // --http, SALLYPORT_HTTP_ADDR, or file:line; "" for a default
}

// Settings are the effective settings of one run.
type Settings struct {
	File    string   // the configuration file that was read; "" if there is none
	Plugins []Plugin // in the order of the file

	// Ceiling is max_grants: what no plugin does, whatever else allows it; nil if the file has none. The
	// grants of Plugins are under it already.
	Ceiling *grant.Set

	options Options
	values  map[string]Value
	order   []string
}

// Options say where to look.
type Options struct {
	File  string         // --config; "" is the user's own file, which need not exist
	Dir   string         // the DIR argument; "" is none
	Flags *pflag.FlagSet // flags named by Key.Flag; nil is none
}

// Load reads the settings. An error names the flag, the variable or the file and line at fault.
func Load(o Options) (*Settings, error) {
	s := &Settings{options: o, values: map[string]Value{}}
	root, err := s.open(o.File)
	if err != nil {
		return nil, err
	}
	lines, err := s.readHost(root)
	if err != nil {
		return nil, inFile(s.File, err)
	}
	if s.Ceiling, err = readCeiling(root); err != nil {
		return nil, inFile(s.File, err)
	}
	if s.Plugins, err = readPlugins(root, s.Ceiling); err != nil {
		return nil, inFile(s.File, err)
	}
	if err := s.resolve(o, root, lines); err != nil {
		return nil, err
	}
	if err := s.fillFolders(); err != nil {
		return nil, err
	}
	if err := s.placeSources(); err != nil {
		return nil, err
	}
	return s, inFile(s.File, s.placeWorkspaces())
}

// Reload reads the settings again, from where they came.
func (s *Settings) Reload() (*Settings, error) { return Load(s.options) }

// Watched is the file whose changes matter; "" if there can be none.
func (s *Settings) Watched() string {
	if s.File != "" {
		return s.File
	}
	file, err := DefaultFile()
	if err != nil {
		return ""
	}
	return file
}

// placeWorkspaces gives each plugin its workspace, its lines the name of their file, and refuses lines that need one where there is none.
func (s *Settings) placeWorkspaces() error {
	for i := range s.Plugins {
		p := &s.Plugins[i]
		p.Grants = p.Grants.From(s.File)
		if p.Workspace == "" {
			p.Workspace = s.Text("workspace")
		}
		line, uses := p.Grants.UsesWorkspace()
		if uses && p.Workspace == "" {
			return at(line, "{workspace} stands for nothing: write workspace: ~/work, for all plugins or for this one")
		}
		if p.Workspace == "" {
			continue
		}
		abs, err := absolute(p.Workspace)
		if err != nil {
			return err
		}
		p.Workspace = abs
	}
	return nil
}

// placeSources makes the sources of plugins absolute: they are written relative to the file.
func (s *Settings) placeSources() error {
	for i := range s.Plugins {
		source := &s.Plugins[i].Source
		if *source == "" || strings.Contains(*source, "://") {
			continue
		}
		path := *source
		if !filepath.IsAbs(path) && !strings.HasPrefix(path, "~/") {
			path = filepath.Join(filepath.Dir(s.File), path)
		}
		abs, err := absolute(path)
		if err != nil {
			return err
		}
		*source = abs
	}
	return nil
}

// DefaultFile is sallyport/sallyport.yaml in the user's configuration folder.
func DefaultFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("no configuration folder: %w; use --config FILE", err)
	}
	return filepath.Join(dir, "sallyport", "sallyport.yaml"), nil
}

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
		return "; see docs/configuration.md"
	}
	return "; known are " + strings.Join(same, ", ")
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

// resolve lets the strongest source of each key win.
func (s *Settings) resolve(o Options, root *yaml.Node, lines map[string]int) error {
	v := viper.New()
	if err := v.MergeConfigMap(hostMap(root)); err != nil {
		return err
	}
	for _, k := range Keys() {
		v.SetDefault(k.Name, k.Default)
		if err := v.BindEnv(k.Name, k.Env()); err != nil {
			return err
		}
		if f := flagOf(o.Flags, k); f != nil {
			if err := v.BindPFlag(k.Name, f); err != nil {
				return err
			}
		}
		val := s.sourceOf(o, k, lines)
		val.Text = textOf(v, k)
		if k.Name == "dir" && o.Dir != "" {
			val.Text, val.Source, val.Where = o.Dir, FromFlag, "DIR"
		}
		if err := val.check(); err != nil {
			return err
		}
		s.values[k.Name] = val
		s.order = append(s.order, k.Name)
	}
	return nil
}

func flagOf(flags *pflag.FlagSet, k Key) *pflag.Flag {
	if flags == nil || k.Flag == "" {
		return nil
	}
	return flags.Lookup(k.Flag)
}

func (s *Settings) sourceOf(o Options, k Key, lines map[string]int) Value {
	if f := flagOf(o.Flags, k); f != nil && f.Changed {
		return Value{Key: k, Source: FromFlag, Where: "--" + f.Name}
	}
	if os.Getenv(k.Env()) != "" {
		return Value{Key: k, Source: FromEnv, Where: k.Env()}
	}
	if line, ok := lines[k.Name]; ok {
		return Value{Key: k, Source: FromFile, Where: s.File + ":" + strconv.Itoa(line)}
	}
	return Value{Key: k, Source: FromDefault}
}

// Strays are the names of SALLYPORT_* variables that set nothing, sorted: mistyped ones, most often.
func Strays() []string {
	known := map[string]bool{}
	for _, k := range Keys() {
		known[k.Env()] = true
	}
	var strays []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if strings.HasPrefix(name, envPrefix) && !known[name] {
			strays = append(strays, name)
		}
	}
	slices.Sort(strays)
	return strays
}

func (v Value) check() error {
	if v.Text == "" || v.Source == FromDefault {
		return nil
	}
	if err := check(v.Key.Kind, v.Text); err != nil {
		return fmt.Errorf("%s: %w", v.Where, err)
	}
	return nil
}

// textOf is the winning value of k; a list is joined with commas.
func textOf(v *viper.Viper, k Key) string {
	if k.Kind == List {
		if items, ok := v.Get(k.Name).([]string); ok {
			return strings.Join(items, ",")
		}
	}
	return v.GetString(k.Name)
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

// fillFolders gives the two folders their defaults and makes them absolute.
func (s *Settings) fillFolders() error {
	if s.Text("dir") == "" {
		file := s.File
		if file == "" {
			file, _ = DefaultFile()
		}
		if file == "" {
			return fmt.Errorf("no plugin folder: name one, as in sallyport serve DIR")
		}
		s.set("dir", filepath.Join(filepath.Dir(file), "plugins"))
	}
	if s.Text("state") == "" {
		dir, err := stateFolder()
		if err != nil {
			return err
		}
		s.set("state", dir)
	}
	for _, k := range Keys() {
		if k.Kind != Path || s.Text(k.Name) == "" {
			continue
		}
		abs, err := absolute(s.Text(k.Name))
		if err != nil {
			return err
		}
		s.set(k.Name, abs)
	}
	return nil
}

func (s *Settings) set(key, text string) {
	v := s.values[key]
	v.Text = text
	s.values[key] = v
}

// stateFolder is where programs of this system keep what they would rather not lose.
func stateFolder() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "sallyport"), nil
	}
	if goruntime.GOOS == "windows" || goruntime.GOOS == "darwin" {
		dir, err := os.UserConfigDir()
		return filepath.Join(dir, "sallyport", "state"), err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("no state folder: %w; use --state DIR", err)
	}
	return filepath.Join(home, ".local", "state", "sallyport"), nil
}

func absolute(path string) (string, error) {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		path = filepath.Join(home, rest)
	}
	return filepath.Abs(path)
}

// All returns every value in the order of Keys.
func (s *Settings) All() []Value {
	out := make([]Value, 0, len(s.order))
	for _, name := range s.order {
		out = append(out, s.values[name])
	}
	return out
}

// Differ names the keys that differ between two settings.
func Differ(a, b *Settings) []string {
	var keys []string
	for _, name := range a.order {
		if a.Text(name) != b.Text(name) {
			keys = append(keys, name)
		}
	}
	return keys
}

// Text returns a setting as text, "" if it is unset. A name that is no key is a mistake of ours.
func (s *Settings) Text(name string) string { return s.values[name].Text }

// Source says where a setting came from.
func (s *Settings) Source(name string) Source { return s.values[name].Source }

// Bool returns a setting that is true or false.
func (s *Settings) Bool(name string) bool { return s.Text(name) == "true" }

// List returns a setting that is a list, nil if it is unset.
func (s *Settings) List(name string) []string {
	if s.Text(name) == "" {
		return nil
	}
	return strings.Split(s.Text(name), ",")
}

// Count returns a setting that is a whole number.
func (s *Settings) Count(name string) int { n, _ := ParseCount(s.Text(name)); return n }

// Bytes returns a setting that is a size.
func (s *Settings) Bytes(name string) int64 { n, _ := grant.ParseSize(s.Text(name)); return n }

// Duration returns a setting that is a time.
func (s *Settings) Duration(name string) time.Duration {
	d, _ := ParseDuration(s.Text(name))
	return d
}
