package registry

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/sallyport-mcp/sallyport/registry/document"
	"github.com/sallyport-mcp/sallyport/registry/extismfile"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
	"github.com/sallyport-mcp/sallyport/registry/plugin"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// planner computes the plugins that should exist from the configuration, the files, the lock and the serving plugins.
// It is made for one computation, during which the lock of the inputs is held.
type planner struct {
	folders   folders
	given     []File // Options.Files; nil: the folder's files
	configs   map[string]Config
	defaults  runtime.Limits
	files     fileTable
	code      map[string]*plugin.Code
	serving   slots
	approvals approvals
}

// plans returns the plugins that should exist, sorted by name and path.
func (pl *planner) plans() []*plan {
	var plans []*plan
	if pl.given != nil {
		plans = pl.filePlans()
	} else {
		plans = pl.folderPlans()
	}
	for _, p := range plans {
		p.asDocument()
	}
	for name, code := range pl.code {
		c := pl.configs[name]
		c.Source = ""
		plans = append(plans, &plan{name: name, config: c, contents: contents{code: code}})
	}
	slices.SortFunc(plans, func(a, b *plan) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.path, b.path))
	})
	pl.hold(plans)
	a := approver{approvals: pl.approvals, files: pl.files, serving: pl.serving, defaults: pl.defaults}
	for _, p := range plans {
		if p.manifestFile == nil {
			p.own = p.config
		}
		if p.file != nil {
			p.module = p.file.module
		}
		a.decide(p)
	}
	return plans
}

// asDocument sets the code of a document's plan. Its public names have no prefix unless the operator configured one.
func (p *plan) asDocument() {
	if !document.Is(p.path) || p.file == nil {
		return
	}
	p.setText(p.file.text)
	if p.config.Prefix == nil {
		p.config.Prefix = new(bool)
	}
}

// checkFit returns an error if the configurations do not fit the loaded plugins.
func (pl *planner) checkFit() error {
	for _, p := range pl.plans() {
		if p.err != nil || p.held != nil || p.config.Disabled {
			continue
		}
		if err := p.unfit(pl.defaults); err != nil {
			return fmt.Errorf("plugin %q: %w", p.name, err)
		}
	}
	return nil
}

// filePlans plans the given files.
func (pl *planner) filePlans() []*plan {
	var plans []*plan
	for _, f := range pl.given {
		path := absolute(f.Path)
		p := &plan{path: path, file: pl.files[path], config: f.Config.clone()}
		p.name, p.err = manifest.NameOfFile(path)
		if extismfile.Is(path) && p.err == nil {
			p = pl.extismPlan(p.name, path, p.config)
		}
		plans = append(plans, p)
	}
	return plans
}

// folderPlans names each configured source by its key, and every other file of the folder by its stem.
func (pl *planner) folderPlans() []*plan {
	plans, claimed := pl.extismPlans()
	manifests := map[string]bool{}
	for _, p := range plans {
		manifests[p.name] = true
	}
	for name, c := range pl.configs {
		if path := pl.folders.source(c); path != "" && !manifests[name] {
			claimed[path] = true // under the operator's name in place of the file's own
			plans = append(plans, &plan{name: name, path: path, file: pl.files[path], config: c})
		}
	}
	named := map[string]bool{}
	for path, f := range pl.files {
		if claimed[path] && !pl.hasOwnKey(path, manifests) || filepath.Dir(path) != pl.folders.dir || extismfile.Is(path) {
			continue
		}
		p, configured := pl.stemPlan(path, f)
		if !configured && pl.serving[p.key()] == nil && pl.files.readingManifests(pl.folders.dir) {
			continue // it may be the module of a manifest
		}
		named[p.name] = true
		plans = append(plans, p)
	}
	return append(plans, pl.absentPlans(func(name string) bool { return named[name] || manifests[name] })...)
}

// stemPlan plans a file of the folder under its own name, and reports whether the settings have that name.
func (pl *planner) stemPlan(path string, f *file) (p *plan, configured bool) {
	p = &plan{path: path, file: f}
	if p.name, p.err = manifest.NameOfFile(path); p.err != nil {
		p.name = filepath.Base(path)
	}
	c, configured := pl.configs[p.name]
	if c.Source == "" {
		p.config = c
	}
	return p, configured
}

// absentPlans plans the names of the settings without a file, source or code.
func (pl *planner) absentPlans(named func(string) bool) []*plan {
	var plans []*plan
	for name, c := range pl.configs {
		if _, code := pl.code[name]; c.Source == "" && !code && !named(name) && !pl.approvals.inOtherFolder(name) {
			plans = append(plans, &plan{name: name, path: filepath.Join(pl.folders.dir, name+".wasm"), config: c})
		}
	}
	return plans
}

// hasOwnKey reports whether a key of the settings is a file's own name, without source, and no manifest has that name:
// the file is that plugin too, even if other keys have it as their source.
func (pl *planner) hasOwnKey(path string, manifests map[string]bool) bool {
	name, err := manifest.NameOfFile(path)
	if err != nil || filepath.Dir(path) != pl.folders.dir {
		return false
	}
	c, configured := pl.configs[name]
	return configured && c.Source == "" && !manifests[name]
}

// extismPlans returns the plans of the manifests in the folder and of those that a configuration names. claimed holds
// the modules that belong to these manifests and are not plugins by themselves.
func (pl *planner) extismPlans() (plans []*plan, claimed map[string]bool) {
	claimed = map[string]bool{}
	sources := map[string]bool{}
	for name, c := range pl.configs {
		if path := pl.folders.source(c); extismfile.Is(path) {
			sources[path] = true
			plans = append(plans, pl.extismPlan(name, path, c))
		}
	}
	for path := range pl.files {
		if !extismfile.Is(path) || sources[path] && !pl.hasOwnKey(path, nil) || filepath.Dir(path) != pl.folders.dir {
			continue
		}
		name, err := manifest.NameOfFile(path)
		if err != nil {
			plans = append(plans, &plan{name: filepath.Base(path), path: path, err: err})
			continue
		}
		plans = append(plans, pl.extismPlan(name, path, pl.configs[name]))
	}
	for _, p := range plans {
		if f := pl.files[p.path]; f != nil && f.extism != nil {
			claimed[f.extism.Module] = claimed[f.extism.Module] || !pl.ownPlugin(f.extism.Module, p.name)
		}
	}
	return plans, claimed
}

// ownPlugin reports whether a module in the folder remains a plugin by itself in spite of the manifest: it was approved
// as one, or the operator configured it under a name that is not the manifest's.
func (pl *planner) ownPlugin(path, label string) bool {
	name, err := manifest.NameOfFile(path)
	if err != nil {
		return false
	}
	if pl.approvals.covers(name, path) {
		return true
	}
	if name == label {
		return false
	}
	_, configured := pl.configs[name]
	return configured
}

// extismPlan returns the plan of one manifest: its module under the operator's configuration, with the manifest's
// values and its lower limits. A source in the configuration replaces the module.
func (pl *planner) extismPlan(name, path string, c Config) *plan {
	f := pl.files[path]
	p := &plan{name: name, path: path, config: c, own: c, manifestFile: f}
	if f == nil || f.extism == nil {
		if f != nil {
			p.err = f.err
		}
		if f != nil && p.err == nil {
			p.file = f // it is being read
		}
		return p
	}
	p.extism = f.extism.Manifest
	module := f.extism.Module
	if own := pl.folders.source(c); own != "" && own != path {
		module = own
	} else if errors.Is(f.extism.Err, extismfile.ErrOutside) {
		next := fmt.Sprintf("to allow it, save the module where you trust it and write in sallyport.yaml, under plugins: %s: {source: /path/to/module.wasm}", name)
		if m := f.extism.Manifest; m.Digest != "" {
			next = fmt.Sprintf("sallyport add --replace %s %s puts the module with its hash into the manifest", path, filepath.Dir(path))
		}
		p.held = fmt.Errorf("%w; %s", f.extism.Err, next)
		return p
	} else if p.err = f.extism.Err; p.err != nil {
		return p
	}
	p.file = pl.files[module]
	if p.file != nil && p.file.module != nil {
		p.err = f.extism.Check(p.file.module.Digest)
	}
	p.config = c.narrowed(f.extism.Manifest, pl.defaults)
	return p
}
