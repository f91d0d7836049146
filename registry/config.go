package registry

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/registry/extismfile"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Config holds the operator's settings for one plugin, a field for each key of the settings. The zero value publishes
// the file of the plugin's name in the folder, with no grants.
type Config struct {
	Source   string         // the plugin's file, relative to the folder; ~/ is the home; "" is NAME.wasm or NAME.json there
	Digest   string         // the only digest that may serve, "sha256:" and hex; "" is the approved digest
	Disabled bool           // do not load it
	Prefix   *bool          // false publishes bare names; nil is true
	Only     []string       // the only entries to publish: local names, URIs and templates; empty is all
	Hide     []string       // entries not to publish: local names, URIs and templates
	Limits   runtime.Limits // zero fields are the defaults
	Classes  []Class        // limits of some callers: the first class that a caller is in counts
	Grants   *grant.Set     // nil grants nothing
	// Callers limit the published entries to some callers; empty publishes them to all.
	Callers []catalog.CallerRule
	// Use limits how much the plugin is used, and the sizes that its calls send and receive.
	Use hostfuncs.Limits
	// Workspace is the absolute folder substituted for {workspace}; "" is none.
	Workspace string
	Values    map[string]string // the plugin's configuration
	State     runtime.State     // the lifetime of an instance; "" is the plugin's request, if allowed
	Frozen    bool              // its clocks stand still
	Seed      string            // the seed of its random numbers; "" is random
	Record    time.Duration     // for how long its calls are recorded; 0 records none
	Learn     bool              // log the grant lines that its calls need, in the audit log
	Updates   Updates           // new bytes that may serve without approval; "" is none
}

// Class gives some callers of a plugin limits of their own.
type Class struct {
	Who    identity.Who
	Limits runtime.Limits   // zero fields are those of the plugin; Concurrency and Queue are those of the callers together
	Use    hostfuncs.Limits // zero fields are those of the plugin; Rate is that of the callers together
}

// Updates selects the new bytes of a plugin that may serve without approval.
type Updates string

// The values of Updates.
const (
	UpdatesSame Updates = "same-interface" // the same imports, wants and offered entries
	UpdatesDev  Updates = "dev"            // any contents of the file: for a plugin under development
)

func (c Config) prefixed() bool { return c.Prefix == nil || *c.Prefix }

// clone copies the fields that the caller could still modify.
func (c Config) clone() Config {
	c.Only, c.Hide, c.Values = slices.Clone(c.Only), slices.Clone(c.Hide), maps.Clone(c.Values)
	c.Callers, c.Classes = slices.Clone(c.Callers), slices.Clone(c.Classes)
	if c.Prefix != nil {
		prefix := *c.Prefix
		c.Prefix = &prefix
	}
	return c
}

// narrowed merges the operator's configuration with an Extism manifest: the operator's values take precedence, and of
// two limits the lower one applies.
func (c Config) narrowed(m *extismfile.Manifest, defaults runtime.Limits) Config {
	values := maps.Clone(m.Config)
	maps.Copy(values, c.Grants.Lines().Config())
	maps.Copy(values, c.Values)
	c.Values = values
	limits := c.Limits.Or(defaults).WithDefaults()
	if m.Memory > 0 {
		c.Limits.Memory = min(limits.Memory, m.Memory)
	}
	if m.Timeout > 0 {
		c.Limits.Deadline = min(limits.Deadline, m.Timeout)
	}
	c.Classes = slices.Clone(c.Classes)
	for i := range c.Classes {
		own := &c.Classes[i].Limits
		if m.Memory > 0 {
			own.Memory = min(own.Memory, m.Memory) // zero stays
		}
		if m.Timeout > 0 {
			own.Deadline = min(own.Deadline, m.Timeout)
		}
	}
	return c
}

// remote reports whether the source is not a path.
func (c Config) remote() bool { return strings.Contains(c.Source, "://") }

// checkConfigs validates all configurations before any is applied, and returns copies.
func checkConfigs(configs map[string]Config) (map[string]Config, error) {
	checked := make(map[string]Config, len(configs))
	folded := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(configs)) {
		if err := manifest.CheckName(name); err != nil {
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

// fold returns the form of a name for comparison: some file systems and readers ignore case.
func fold(name string) string { return strings.ToLower(name) }

func loggerOr(l *slog.Logger) *slog.Logger {
	if l == nil {
		return slog.New(slog.DiscardHandler)
	}
	return l
}
