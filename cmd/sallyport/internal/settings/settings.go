package settings

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
)

// Source is the origin of a value.
type Source string

// The sources of values, the strongest first.
const (
	FromFlag    Source = "flag"
	FromEnv     Source = "variable"
	FromFile    Source = "file"
	FromDefault Source = "default"
)

// Value is one effective setting.
type Value struct {
	Key    Key
	Text   string // as in the file
	Source Source
	Where  string // --http, SALLYPORT_HTTP_ADDR, or file:line; "" for a default
}

// Settings are the effective settings of one run.
type Settings struct {
	File    string      // the configuration file that was read; "" if none
	Was     os.FileInfo // of Watched, just before it was read; nil if it did not exist
	Plugins []Plugin    // in the order of the file

	// Ceiling is max_grants, the upper bound of every plugin's grants; nil if the file has none. The grants of Plugins
	// are under it already.
	Ceiling *grant.Set

	options Options
	values  map[string]Value
	order   []string
}

// Options are the sources of the settings.
type Options struct {
	File  string         // --config; "" is the user's default file, which need not exist
	Dir   string         // the DIR argument; "" is none
	Flags *pflag.FlagSet // flags named by Key.Flag; nil is none
}

// Load reads the settings. An error names the flag, the variable, or the file and line at fault.
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

// LoadAs reads the settings of another process from its file, its plugin folder and its flags by name.
func LoadAs(file, dir string, flags map[string]string) (*Settings, error) {
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	for name, value := range flags {
		set.String(name, "", "")
		if err := set.Set(name, value); err != nil {
			return nil, err
		}
	}
	return Load(Options{File: file, Dir: dir, Flags: set})
}

// Reload reads the settings again from the same sources.
func (s *Settings) Reload() (*Settings, error) { return Load(s.options) }

// Watched returns the configuration file, or the default one that would be read if it existed; "" without a
// configuration folder.
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

// DefaultFile returns sallyport/sallyport.yaml in the user's configuration folder.
func DefaultFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("no configuration folder: %w; use --config FILE", err)
	}
	return filepath.Join(dir, "sallyport", "sallyport.yaml"), nil
}

// All returns every value in the order of Keys.
func (s *Settings) All() []Value {
	out := make([]Value, 0, len(s.order))
	for _, name := range s.order {
		out = append(out, s.values[name])
	}
	return out
}

// Differ returns the keys with different values in two settings.
func Differ(a, b *Settings) []string {
	var keys []string
	for _, name := range a.order {
		if a.Text(name) != b.Text(name) {
			keys = append(keys, name)
		}
	}
	return keys
}

// Text returns a setting as text, "" if it is unset. An unknown name is a programming error and returns "".
func (s *Settings) Text(name string) string { return s.values[name].Text }

// Source returns the origin of a setting.
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

// Count returns a setting that is a whole number, 0 if it is unset.
func (s *Settings) Count(name string) int { n, _ := ParseCount(s.Text(name)); return n }

// Bytes returns a setting that is a size in bytes, 0 if it is unset.
func (s *Settings) Bytes(name string) int64 { n, _ := grant.ParseSize(s.Text(name)); return n }

// Keep returns the retention of a log: its maximum age and size in bytes, 0 for no limit.
func (s *Settings) Keep(name string) (age time.Duration, size int64) {
	age, size, _ = ParseKeep(s.Text(name))
	return age, size
}

// Duration returns a setting that is a duration, 0 if it is unset.
func (s *Settings) Duration(name string) time.Duration {
	d, _ := ParseDuration(s.Text(name))
	return d
}
