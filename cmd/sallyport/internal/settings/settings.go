package settings

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/usage"
	"github.com/sallyport-mcp/sallyport/registry/source"
	"github.com/sallyport-mcp/sallyport/transport/auth/oauth"
)

// Settings are the effective settings of one run.
type Settings struct {
	File    string      // the configuration file that was read; "" if none
	Was     os.FileInfo // of Watched, just before it was read; nil if it did not exist
	Plugins []Plugin    // in the order of the file

	// Ceiling is max_grants, the upper bound of every plugin's grants; nil if the file has none. The grants of Plugins
	// are under it already.
	Ceiling *grant.Set

	// Sources are the policies for plugins that are fetched.
	Sources []source.Rule

	// Auth is how callers over HTTP sign in, without the address; nil if they do not.
	Auth *oauth.Options

	// Groups are the names of the groups that the file makes, sorted.
	Groups []string

	// Quotas limit the use of callers.
	Quotas []usage.Quota

	Values // the host settings

	options Options
}

// Options are the sources of the settings.
type Options struct {
	File  string         // --config; "" is the user's default file, which need not exist
	Dir   string         // the DIR argument; "" is none
	Flags *pflag.FlagSet // flags named by Key.Flag; nil is none
}

// Load reads the settings. An error names the flag, the variable, or the file and line at fault.
func Load(o Options) (*Settings, error) {
	s := &Settings{options: o}
	root, err := s.open(o.File)
	if err != nil {
		return nil, err
	}
	lines, err := readHost(root)
	if err != nil {
		return nil, inFile(s.File, err)
	}
	if s.Ceiling, err = readCeiling(root); err != nil {
		return nil, inFile(s.File, err)
	}
	if s.Sources, err = readSources(root); err != nil {
		return nil, inFile(s.File, err)
	}
	if s.Auth, err = readAuth(root, filepath.Dir(s.File)); err != nil {
		return nil, inFile(s.File, err)
	}
	known, err := readGroups(root)
	if err != nil {
		return nil, inFile(s.File, err)
	}
	s.Groups = slices.Sorted(maps.Keys(known))
	if s.Plugins, err = readPlugins(root, s.Ceiling); err != nil {
		return nil, inFile(s.File, err)
	}
	if s.Quotas, err = readQuotas(root); err != nil {
		return nil, inFile(s.File, err)
	}
	if s.Values, err = resolve(o, s.File, root, lines); err != nil {
		return nil, err
	}
	if err := s.fillFolders(s.File); err != nil {
		return nil, err
	}
	if err := placeSources(s.Plugins, filepath.Dir(s.File)); err != nil {
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
