package registry

import (
	"fmt"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
	"github.com/sallyport-mcp/sallyport/registry/plugin"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// fitting binds the grants of a plan to the plugin's entries. The error names the grant line.
func (p *plan) fitting() (*grant.Set, error) {
	m := p.manifest()
	if m == nil || !p.config.Grants.Varies() {
		return p.config.Grants, nil
	}
	return p.config.Grants.Fit(plugin.Shapes(m))
}

// unfit reports why the settings of a plan do not fit its plugin; nil if they do.
func (r *Registry) unfit(p *plan) error {
	if _, err := p.fitting(); err != nil {
		return fmt.Errorf("its grants do not fit: %w", err)
	}
	if p.module == nil {
		return nil
	}
	return orDefaults(p.config.Limits, r.defaults).CheckStart(p.module.Memory, 0)
}

// manifest returns the plugin's manifest; nil if it is not known yet.
func (p *plan) manifest() *manifest.Manifest {
	switch {
	case p.code != nil:
		return p.code.Manifest
	case p.module != nil:
		return p.module.Manifest
	}
	return nil
}

// checkFit returns an error if new configurations do not fit the loaded plugins. r.mu must be held.
func (r *Registry) checkFit(configs map[string]Config, defaults runtime.Limits) error {
	before, defaultsBefore := r.configs, r.defaults
	r.configs, r.defaults = configs, defaults
	defer func() { r.configs, r.defaults = before, defaultsBefore }()
	for _, p := range r.plans() {
		if p.err != nil || p.held != nil || p.config.Disabled {
			continue
		}
		if err := r.unfit(p); err != nil {
			return fmt.Errorf("plugin %q: %w", p.name, err)
		}
	}
	return nil
}
