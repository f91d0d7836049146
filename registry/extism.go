package registry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"

	"github.com/sallyport-mcp/sallyport/registry/extismfile"
	"github.com/sallyport-mcp/sallyport/registry/names"
	"github.com/sallyport-mcp/sallyport/registry/stamp"
)

// extismFile is an Extism manifest and where its module lies.
type extismFile struct {
	manifest *extismfile.Manifest
	module   string // the path; "" with err
	err      error  // why it has no module; extismfile.ErrOutside waits for the operator
}

// isExtismFile tells by the name whether a file is a manifest and no module.
func isExtismFile(path string) bool { return strings.EqualFold(filepath.Ext(path), ".json") }

// loadExtismFile reads a manifest. Its module is a file of its own, which is loaded beside.
func (r *Registry) loadExtismFile(path string) loaded {
	f, st, err := readExtismFile(path)
	if err == nil && f.err == nil {
		r.expect(path, f)
	}
	return loaded{path: path, stamp: st, extism: f, err: err}
}

// expect has a module looked at that lies where nobody looks yet.
func (r *Registry) expect(path string, f *extismFile) {
	r.mu.Lock()
	watcher := r.folder
	if known := r.files[path]; known != nil && filepath.Dir(f.module) != r.opts.Dir {
		known.extism = f // so that the scan finds it
	} else {
		watcher = nil
	}
	r.mu.Unlock()
	if watcher != nil {
		watcher.Touch("")
	}
}

// extismPlans lists the plugins of the manifests in the folder, and of those that a configuration
// names; claimed are the modules that are no plugins of their own because of them.
func (r *Registry) extismPlans() (plans []*plan, claimed map[string]bool) {
	claimed = map[string]bool{}
	sources := map[string]bool{}
	for name, c := range r.configs {
		if path := r.sourcePath(c); isExtismFile(path) {
			sources[path] = true
			plans = append(plans, r.extismPlan(name, path, c))
		}
	}
	for path := range r.files {
		if !isExtismFile(path) || sources[path] || filepath.Dir(path) != r.opts.Dir {
			continue
		}
		name, err := names.OfFile(path)
		if err != nil {
			plans = append(plans, &plan{name: filepath.Base(path), path: path, err: err})
			continue
		}
		plans = append(plans, r.extismPlan(name, path, r.configs[name]))
	}
	for _, p := range plans {
		if f := r.files[p.path]; f != nil && f.extism != nil {
			claimed[f.extism.module] = !r.ownPlugin(f.extism.module, p.name)
		}
	}
	return plans, claimed
}

// readingManifests tells whether a manifest in the folder was found and not yet read.
func (r *Registry) readingManifests() bool {
	for path, f := range r.files {
		if isExtismFile(path) && f.extism == nil && f.err == nil && filepath.Dir(path) == r.opts.Dir {
			return true
		}
	}
	return false
}

// ownPlugin tells whether the operator knows a module in the folder by another name than its
// manifest's: then it stays that plugin too.
func (r *Registry) ownPlugin(path, manifest string) bool {
	name, err := names.OfFile(path)
	if err != nil || name == manifest {
		return false
	}
	_, configured := r.configs[name]
	return configured
}

// extismPlan is the plugin of one manifest: its module under the operator's configuration, with the
// manifest's values and its lower limits. If the configuration names another file, the module is that.
func (r *Registry) extismPlan(name, path string, c Config) *plan {
	f := r.files[path]
	p := &plan{name: name, path: path, config: c, extism: f}
	if f == nil || f.extism == nil {
		if f != nil {
			p.err = f.err
		}
		if f != nil && p.err == nil {
			p.file = f // it is being read
		}
		return p
	}
	module := f.extism.module
	if own := r.sourcePath(c); own != "" && own != path {
		module = own
	} else if errors.Is(f.extism.err, extismfile.ErrOutside) {
		p.held = fmt.Errorf("%w; to allow it, save the module where you trust it and write in sallyport.yaml, under plugins: %s: {source: /path/to/module.wasm}",
			f.extism.err, name)
		return p
	} else if p.err = f.extism.err; p.err != nil {
		return p
	}
	p.file = r.files[module]
	if p.file != nil && p.file.module != nil {
		p.err = f.extism.check(p.file.module.Digest)
	}
	p.config = r.narrowed(c, f.extism.manifest)
	return p
}

// narrowed joins what the operator says with what a manifest says: the operator's values hold, and of
// two limits the lower one.
func (r *Registry) narrowed(c Config, m *extismfile.Manifest) Config {
	values := maps.Clone(m.Config)
	maps.Copy(values, c.Grants.Config())
	maps.Copy(values, c.Values)
	c.Values = values
	limits := orDefaults(c.Limits, r.opts.Defaults).WithDefaults()
	if m.Memory > 0 {
		c.Limits.Memory = min(limits.Memory, m.Memory)
	}
	if m.Timeout > 0 {
		c.Limits.Deadline = min(limits.Deadline, m.Timeout)
	}
	return c
}

// missing is why a plugin has no file.
func (p *plan) missing() error {
	if p.extism != nil && p.extism.extism != nil && p.extism.extism.module != "" {
		return fmt.Errorf("there is no file %s, which the manifest names", filepath.Base(p.extism.extism.module))
	}
	return fmt.Errorf("there is no file %s", filepath.Base(p.path))
}

// extismWarnings is what is to be said about a plugin's manifest.
func (p *plan) extismWarnings() []string {
	if p.extism == nil || p.extism.extism == nil {
		return nil
	}
	m := p.extism.extism.manifest
	warnings := append([]string(nil), m.Problems...)
	if n := len(m.Wants); n > 0 && len(p.config.Grants.Grants()) == 0 {
		warnings = append(warnings, fmt.Sprintf("the manifest asks for %d hosts and paths, and nothing is granted; sallyport inspect %s shows the lines to grant",
			n, filepath.Base(p.path)))
	}
	if p.extism.err != nil {
		warnings = append(warnings, fmt.Sprintf("the new manifest is not used, the old one is: %v", p.extism.err))
	}
	return warnings
}

// inspectExtismFile describes the module of a manifest, and what the manifest wants.
func inspectExtismFile(ctx context.Context, path string, dialects []Dialect, describe Describer) (*Description, error) {
	f, _, err := readExtismFile(absolute(path))
	if err == nil {
		err = f.err
	}
	if err != nil {
		return nil, err
	}
	d, err := inspectModule(ctx, f.module, dialects, describe)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(f.module), err)
	}
	if err := f.check(d.Digest); err != nil {
		return nil, err
	}
	d.Manifest.Wants = append(d.Manifest.Wants, f.manifest.Wants...)
	d.Manifest.Problems = append(d.Manifest.Problems, f.manifest.Problems...)
	return d, nil
}

// readExtismFile reads a manifest at an absolute path.
func readExtismFile(path string) (*extismFile, stamp.Stamp, error) {
	st, err := stamp.Of(path)
	if err != nil {
		return nil, st, stamp.Plain(err)
	}
	if st.Size > extismfile.MaxSize {
		return nil, st, fmt.Errorf("the manifest is over %d MiB: name the module by its path instead of putting it in", extismfile.MaxSize>>20)
	}
	raw, st, err := stamp.Read(path)
	if err != nil {
		return nil, st, err
	}
	f := &extismFile{}
	if f.manifest, err = extismfile.Parse(raw); err != nil {
		return nil, st, err
	}
	f.module, f.err = f.manifest.Module(path)
	return f, st, nil
}

// check refuses a module of another digest than the manifest's.
func (f *extismFile) check(digest string) error {
	if want := f.manifest.Digest; want != "" && want != digest {
		return fmt.Errorf("the module is %s, and the manifest wants %s", digest, want)
	}
	return nil
}
