package registry

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/registry/names"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Config is what the operator says about one plugin. The zero value publishes the file of the
// plugin's name in the folder, with no grants.
type Config struct {
	Source   string         // the plugin's file, relative to the folder, ~/ is the home; "" is NAME.wasm or NAME.json there
	Digest   string         // the only bytes that may serve, "sha256:" and hex; "" is the bytes that were approved
	Disabled bool           // do not load it
	Prefix   *bool          // false publishes bare names; nil is true
	Only     []string       // publish nothing else: local names, URIs and templates; empty is all
	Hide     []string       // do not publish: local names, URIs and templates
	Limits   runtime.Limits // zero fields are the defaults
	Grants   *grant.Set     // nil grants nothing
	// Use bounds how much the plugin is used, and what its calls send and receive.
	Use hostfuncs.Limits
	// Workspace is the absolute folder that {workspace} stands for; "" is none.
	Workspace string
	Values    map[string]string // the plugin's configuration
	State     runtime.State     // how long an instance lives; "" is what the plugin asks for, if it may have that
	Frozen    bool              // its clocks stand still
	Seed      string            // what its random numbers are made of; "" is random
	Learn     bool              // the audit log says which lines its calls need
	Updates   Updates           // which bytes may take the place of those that were approved; "" is none
}

// Updates says which new bytes of a plugin serve before anybody has approved them.
type Updates string

// The kinds of updates that an operator may allow beforehand.
const (
	UpdatesSame Updates = "same-interface" // those that import, want and offer the same
	UpdatesDev  Updates = "dev"            // whatever the file holds: of a plugin that is being written
)

func (c Config) prefixed() bool { return c.Prefix == nil || *c.Prefix }

// clone copies what the caller could still change.
func (c Config) clone() Config {
	c.Only, c.Hide, c.Values = slices.Clone(c.Only), slices.Clone(c.Hide), maps.Clone(c.Values)
	if c.Prefix != nil {
		prefix := *c.Prefix
		c.Prefix = &prefix
	}
	return c
}

// remote reports whether the source is not a path.
func (c Config) remote() bool { return strings.Contains(c.Source, "://") }

// checkConfigs checks all names, so that a wrong configuration changes nothing.
func checkConfigs(configs map[string]Config) (map[string]Config, error) {
	checked := make(map[string]Config, len(configs))
	folded := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(configs)) {
		if err := names.Check(name); err != nil {
			return nil, err
		}
		if other := folded[fold(name)]; other != "" {
			return nil, fmt.Errorf("the plugins %q and %q have one name: leave one out", other, name)
		}
		folded[fold(name)] = name
		c := configs[name].clone()
		if c.remote() {
			return nil, fmt.Errorf("plugin %q: source %s is not available yet; save the file and give its path", name, c.Source)
		}
		checked[name] = c
	}
	return checked, nil
}

// fold is a name as it is told from others: some file systems and some readers take two cases for one.
func fold(name string) string { return strings.ToLower(name) }

func loggerOr(l *slog.Logger) *slog.Logger {
	if l == nil {
		return slog.New(slog.DiscardHandler)
	}
	return l
}
