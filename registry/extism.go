package registry

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"github.com/sallyport-mcp/sallyport/registry/extismfile"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
)

// loadExtismFile reads a manifest. Its module is a separate file, which is loaded separately.
func (r *Registry) loadExtismFile(path string) loaded {
	f, st, err := extismfile.Read(path)
	if err == nil && f.Err == nil {
		r.expect(path, f)
	}
	return loaded{path: path, stamp: st, extism: f, err: err}
}

// expect triggers a scan for a manifest's module if that lies outside the plugin folder.
func (r *Registry) expect(path string, f *extismfile.File) {
	r.mu.Lock()
	watcher := r.folder
	if known := r.files[path]; known != nil && filepath.Dir(f.Module) != r.opts.Dir {
		known.extism = f // so that the scan finds it
	} else {
		watcher = nil
	}
	r.mu.Unlock()
	if watcher != nil {
		watcher.Touch("")
	}
}

// extismPlans returns the plans of the manifests in the folder and of those that a configuration names. claimed holds
// the modules that belong to these manifests and are not plugins by themselves.
func (r *Registry) extismPlans() (plans []*plan, claimed map[string]bool) {
	claimed = map[string]bool{}
	sources := map[string]bool{}
	for name, c := range r.configs {
		if path := r.sourcePath(c); extismfile.Is(path) {
			sources[path] = true
			plans = append(plans, r.extismPlan(name, path, c))
		}
	}
	for path := range r.files {
		if !extismfile.Is(path) || sources[path] && !r.hasOwnKey(path, nil) || filepath.Dir(path) != r.opts.Dir {
			continue
		}
		name, err := manifest.NameOfFile(path)
		if err != nil {
			plans = append(plans, &plan{name: filepath.Base(path), path: path, err: err})
			continue
		}
		plans = append(plans, r.extismPlan(name, path, r.configs[name]))
	}
	for _, p := range plans {
		if f := r.files[p.path]; f != nil && f.extism != nil {
			claimed[f.extism.Module] = claimed[f.extism.Module] || !r.ownPlugin(f.extism.Module, p.name)
		}
	}
	return plans, claimed
}

// readingManifests reports whether a manifest in the folder was found and not yet read.
func (r *Registry) readingManifests() bool {
	for path, f := range r.files {
		if extismfile.Is(path) && f.extism == nil && f.err == nil && filepath.Dir(path) == r.opts.Dir {
			return true
		}
	}
	return false
}

// ownPlugin reports whether a module in the folder remains a plugin by itself in spite of the manifest: it was approved
// as one, or the operator configured it under a name that is not the manifest's.
func (r *Registry) ownPlugin(path, label string) bool {
	name, err := manifest.NameOfFile(path)
	if err != nil {
		return false
	}
	if r.pinnedFile(name, path) {
		return true
	}
	if name == label {
		return false
	}
	_, configured := r.configs[name]
	return configured
}

// extismPlan returns the plan of one manifest: its module under the operator's configuration, with the manifest's
// values and its lower limits. A source in the configuration replaces the module.
func (r *Registry) extismPlan(name, path string, c Config) *plan {
	f := r.files[path]
	p := &plan{name: name, path: path, config: c, own: c, extism: f}
	if f == nil || f.extism == nil {
		if f != nil {
			p.err = f.err
		}
		if f != nil && p.err == nil {
			p.file = f // it is being read
		}
		return p
	}
	p.told = f.extism.Manifest
	module := f.extism.Module
	if own := r.sourcePath(c); own != "" && own != path {
		module = own
	} else if errors.Is(f.extism.Err, extismfile.ErrOutside) {
		p.held = fmt.Errorf("%w; to allow it, save the module where you trust it and write in sallyport.yaml, under plugins: %s: {source: /path/to/module.wasm}",
			f.extism.Err, name)
		return p
	} else if p.err = f.extism.Err; p.err != nil {
		return p
	}
	p.file = r.files[module]
	if p.file != nil && p.file.module != nil {
		p.err = f.extism.Check(p.file.module.Digest)
	}
	p.config = r.narrowed(c, f.extism.Manifest)
	return p
}

// narrowed merges the operator's configuration with a manifest: the operator's values take precedence, and of two
// limits the lower one applies.
func (r *Registry) narrowed(c Config, m *extismfile.Manifest) Config {
	values := maps.Clone(m.Config)
	maps.Copy(values, c.Grants.Config())
	maps.Copy(values, c.Values)
	c.Values = values
	limits := orDefaults(c.Limits, r.defaults).WithDefaults()
	if m.Memory > 0 {
		c.Limits.Memory = min(limits.Memory, m.Memory)
	}
	if m.Timeout > 0 {
		c.Limits.Deadline = min(limits.Deadline, m.Timeout)
	}
	return c
}

// isThere reports whether the file of a plan exists though it is not loaded: it may still be being written.
func (p *plan) isThere() bool {
	path := p.path
	if p.extism != nil && p.extism.extism != nil {
		path = p.extism.extism.Module
	}
	_, err := os.Stat(path)
	return err == nil
}

// missing returns the error for a plugin without a file.
func (r *Registry) missing(p *plan) error {
	if p.extism != nil && p.extism.extism != nil && p.extism.extism.Module != "" {
		return fmt.Errorf("there is no file %s, which the manifest names", filepath.Base(p.extism.extism.Module))
	}
	if n := len(p.config.Grants.Grants()); n > 0 {
		return fmt.Errorf("there is no file %s in %s, so its grants match nothing", filepath.Base(p.path), filepath.Dir(p.path))
	}
	return fmt.Errorf("there is no file %s in %s", filepath.Base(p.path), filepath.Dir(p.path))
}

// extismWarnings returns the warnings about a plugin's Extism manifest.
func (p *plan) extismWarnings() []string {
	if p.extism == nil || p.extism.extism == nil {
		return nil
	}
	m := p.extism.extism.Manifest
	warnings := append([]string(nil), m.Problems...)
	if n := len(m.Wants); n > 0 && len(p.config.Grants.Grants()) == 0 {
		warnings = append(warnings, fmt.Sprintf("the manifest asks for %s, and nothing is granted; sallyport inspect %s shows the lines to grant",
			placesOf(n), filepath.Base(p.path)))
	}
	if p.extism.err != nil {
		warnings = append(warnings, fmt.Sprintf("the new manifest is not used, the old one is: %v", p.extism.err))
	}
	return warnings
}

// placesOf formats the number of a manifest's wants.
func placesOf(n int) string {
	if n == 1 {
		return "1 host or path"
	}
	return fmt.Sprintf("%d hosts and paths", n)
}
