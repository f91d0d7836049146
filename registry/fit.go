package registry

import (
	"fmt"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/registry/fit"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
)

// fitting binds the grants of a plan to what the plugin offers. The error names the line.
func (p *plan) fitting() (*grant.Set, error) {
	m := p.manifest()
	if m == nil || !p.config.Grants.Varies() {
		return p.config.Grants, nil
	}
	return p.config.Grants.Fit(fit.Shapes(m))
}

// manifest is what the plugin says about itself; nil if nobody knows yet.
func (p *plan) manifest() *manifest.Manifest {
	switch {
	case p.code != nil:
		return p.code.Manifest
	case p.module != nil:
		return p.module.Manifest
	}
	return nil
}

// checkFit finds lines of new configurations that do not fit the plugins that are loaded. r.mu must be held.
func (r *Registry) checkFit(configs map[string]Config) error {
	before := r.configs
	r.configs = configs
	defer func() { r.configs = before }()
	for _, p := range r.plans() {
		if p.err != nil || p.held != nil || p.config.Disabled {
			continue
		}
		if _, err := p.fitting(); err != nil {
			return fmt.Errorf("plugin %q: %w", p.name, err)
		}
	}
	return nil
}
