package registry

import (
	"bytes"
	"fmt"

	"github.com/sallyport-mcp/sallyport/registry/manifest"
	"github.com/sallyport-mcp/sallyport/registry/plugin"
)

// AddGo publishes a plugin that runs in this process, without a sandbox: the host's own, tests and benchmarks. raw is
// its manifest, in the form of a guest's; a problem for which a guest's entry would be left out is an error here.
// Publishing and grants follow the plugin's Config, if there is one. A second plugin of the same name replaces the
// first.
func (r *Registry) AddGo(name string, raw []byte, serve plugin.Func) error {
	if err := manifest.CheckName(name); err != nil {
		return err
	}
	m, err := manifest.Parse(bytes.Clone(raw))
	if err != nil {
		return fmt.Errorf("plugin %q: %w", name, err)
	}
	if err := m.Refused(); err != nil {
		return fmt.Errorf("plugin %q: %w", name, err)
	}
	return r.assembler.addCode(name, &plugin.Code{Manifest: m, Serve: serve})
}
