package registry

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/registry/document"
	"github.com/sallyport-mcp/sallyport/registry/extismfile"
	"github.com/sallyport-mcp/sallyport/registry/lock"
	"github.com/sallyport-mcp/sallyport/registry/module"
	"github.com/sallyport-mcp/sallyport/registry/names"
	"github.com/sallyport-mcp/sallyport/registry/serving"
)

// plan is one plugin that should be there: a name with a file or with code of this process.
type plan struct {
	name   string
	path   string             // "" for code of this process
	file   *file              // nil: there is no such file
	code   *serving.Code      // what serves without a module
	text   *document.Document // whose code it is; nil for none
	config Config
	err    error // why there can be no such plugin
	held   error // why it may not serve
	extism *file // the Extism manifest that names file; nil if there is none

	module  *module.Module // what may serve; nil: nothing can, or not yet
	pin     *lock.Pin      // what was approved; nil: nothing need be
	waits   string         // the digest of what is held in the place of module; "" is none
	waiting string         // the same in words
	kept    string         // the file that module comes from, where that is not the plugin's own
}

func (p *plan) key() string { return p.name + "\x00" + p.path }

// plans lists the plugins that should be there, sorted by name and path. It depends on nothing but
// the configuration and the files. r.mu must be held.
func (r *Registry) plans() []*plan {
	var plans []*plan
	if r.opts.Files != nil {
		plans = r.filePlans()
	} else {
		plans = r.folderPlans()
	}
	for _, p := range plans {
		p.asDocument()
	}
	for name, code := range r.code {
		c := r.configs[name]
		c.Source = ""
		plans = append(plans, &plan{name: name, code: code, config: c})
	}
	slices.SortFunc(plans, func(a, b *plan) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.path, b.path))
	})
	r.hold(plans)
	for _, p := range plans {
		if p.file != nil {
			p.module = p.file.module
		}
		r.trust(p)
	}
	return plans
}

// asDocument makes the plan of a document one of code. Its names are its own, unless the operator wants
// them prefixed.
func (p *plan) asDocument() {
	if !document.Is(p.path) || p.file == nil {
		return
	}
	if p.text = p.file.text; p.text != nil {
		p.code = p.text.Code
	}
	if p.config.Prefix == nil {
		p.config.Prefix = new(bool)
	}
}

func (r *Registry) filePlans() []*plan {
	var plans []*plan
	for _, f := range r.opts.Files {
		path := absolute(f.Path)
		p := &plan{path: path, file: r.files[path], config: f.Config.clone()}
		p.name, p.err = names.OfFile(path)
		if extismfile.Is(path) && p.err == nil {
			p = r.extismPlan(p.name, path, p.config)
		}
		plans = append(plans, p)
	}
	return plans
}

// folderPlans gives each configured source its name, and each other file of the folder its stem's.
func (r *Registry) folderPlans() []*plan {
	plans, claimed := r.extismPlans()
	manifests := map[string]bool{}
	for _, p := range plans {
		manifests[p.name] = true
	}
	for name, c := range r.configs {
		if path := r.sourcePath(c); path != "" && !manifests[name] {
			claimed[path] = true
			plans = append(plans, &plan{name: name, path: path, file: r.files[path], config: c})
		}
	}
	named := map[string]bool{}
	for path, f := range r.files {
		if claimed[path] || filepath.Dir(path) != r.opts.Dir || extismfile.Is(path) {
			continue
		}
		p := &plan{path: path, file: f}
		if p.name, p.err = names.OfFile(path); p.err != nil {
			p.name = filepath.Base(path)
		}
		c, configured := r.configs[p.name]
		if c.Source == "" {
			p.config = c
		}
		if !configured && r.plugins[p.key()] == nil && r.readingManifests() {
			continue // it may be a manifest's module, and no plugin of its own
		}
		named[p.name] = true
		plans = append(plans, p)
	}
	for name, c := range r.configs {
		if _, code := r.code[name]; c.Source == "" && !named[name] && !code && !manifests[name] {
			plans = append(plans, &plan{name: name, path: filepath.Join(r.opts.Dir, name+".wasm"), config: c})
		}
	}
	return plans
}

// hold keeps all plugins back that claim one name, but for the one that was approved under it.
func (r *Registry) hold(plans []*plan) {
	byName := map[string][]*plan{}
	for _, p := range plans {
		if p.err == nil && !p.config.Disabled {
			byName[p.name] = append(byName[p.name], p)
		}
	}
	for name, same := range byName {
		if len(same) < 2 {
			continue
		}
		var where []string
		for _, p := range same {
			where = append(where, p.where())
		}
		for _, p := range same {
			if r.approvedFile(same) == p {
				continue
			}
			p.held = fmt.Errorf("more than one plugin is named %q: %s; give each its own key and source", name, strings.Join(where, ", "))
		}
	}
}

func (p *plan) where() string {
	if p.path == "" {
		return "the host's own"
	}
	return filepath.Base(p.path)
}
