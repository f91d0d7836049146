package registry

import (
	"bytes"
	"fmt"

	"github.com/sallyport-mcp/sallyport/registry/manifest"
	"github.com/sallyport-mcp/sallyport/registry/names"
	"github.com/sallyport-mcp/sallyport/registry/serving"
	"github.com/sallyport-mcp/sallyport/registry/skillfile"
)

// goPlugin is a plugin of this process.
type goPlugin struct {
	name     string
	manifest *manifest.Manifest
	serve    serving.Func
	skill    *skillfile.Skill // that it is about; nil for none
}

// AddGo publishes a plugin that runs in this process, without a sandbox: the host's own, tests and
// benchmarks. raw is its manifest, which has the form of a guest's; what a guest would lose an entry for is an
// error here. Publishing and grants follow the plugin's configuration, if there is one. A second
// plugin of the same name takes the place of the first.
func (r *Registry) AddGo(name string, raw []byte, serve serving.Func) error {
	if err := names.Check(name); err != nil {
		return err
	}
	m, err := manifest.Parse(bytes.Clone(raw))
	if err != nil {
		return fmt.Errorf("plugin %q: %w", name, err)
	}
	if err := m.Refused(); err != nil {
		return fmt.Errorf("plugin %q: %w", name, err)
	}
	return r.addGo(&goPlugin{name: name, manifest: m, serve: serve})
}
