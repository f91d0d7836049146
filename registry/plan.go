package registry

import (
	"cmp"
	"fmt"
	"os"
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

	own  Config               // the operator's word, before a manifest narrowed it
	told *extismfile.Manifest // the manifest that holds; nil for none

	module  *module.Module // what may serve; nil: nothing can, or not yet
	pin     *lock.Pin      // what was approved; nil: nothing need be
	rival   bool           // held, since another file was approved under its name
	waits   string         // the digest of bytes that are held in the place of module; "" is none
	waiting string         // why something is held in its place
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
		if p.extism == nil {
			p.own = p.config
		}
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
			claimed[path] = true // by a name of the operator's, in place of the file's own
			plans = append(plans, &plan{name: name, path: path, file: r.files[path], config: c})
		}
	}
	named := map[string]bool{}
	for path, f := range r.files {
		if claimed[path] && !r.hasOwnKey(path, manifests) || filepath.Dir(path) != r.opts.Dir || extismfile.Is(path) {
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
		if _, code := r.code[name]; c.Source == "" && !named[name] && !code && !manifests[name] && !r.ofAnotherFolder(name) {
			plans = append(plans, &plan{name: name, path: filepath.Join(r.opts.Dir, name+".wasm"), config: c})
		}
	}
	return plans
}

// hasOwnKey reports whether the settings name a file of the folder by its own name, and no manifest has that name: it is
// that plugin too, however many other keys have it as their source.
func (r *Registry) hasOwnKey(path string, manifests map[string]bool) bool {
	name, err := names.OfFile(path)
	if err != nil || filepath.Dir(path) != r.opts.Dir {
		return false
	}
	c, configured := r.configs[name]
	return configured && c.Source == "" && !manifests[name]
}

// ofAnotherFolder reports whether a plugin of the settings is one of another folder of this state folder.
func (r *Registry) ofAnotherFolder(name string) bool {
	if r.opts.Lock == nil {
		return false
	}
	pin, _ := r.opts.Lock.Pin(name)
	if pin.Folder == "" || pin.Folder == r.opts.Dir {
		return false
	}
	_, err := os.Stat(filepath.Join(pin.Folder, pin.File))
	return err == nil
}

// hold keeps plugins back that claim one name, also in another case: all but the one that was approved under it. A file
// whose name only becomes the plugin's has no part in a name that stands for another file.
func (r *Registry) hold(plans []*plan) {
	byName := map[string][]*plan{}
	for _, p := range plans {
		absent := p.path != "" && p.file == nil && !r.pinnedFile(p.name, p.path)
		if p.err == nil && p.held == nil && !p.config.Disabled && !absent {
			byName[fold(p.name)] = append(byName[fold(p.name)], p)
		}
	}
	for _, same := range byName {
		approved := r.approvedFile(same)
		exact := slices.DeleteFunc(slices.Clone(same), func(p *plan) bool { return !r.exact(p) })
		for _, p := range same {
			switch {
			case p == approved:
			case approved != nil:
				p.rival = true
				p.held = fmt.Errorf("%s was approved as the plugin %s, and serves; %s shows what %s would change",
					approved.where(), approved.name, r.approveCommand(approved.name), p.where())
			case !r.exact(p) && (len(exact) > 0 || r.configured(p)):
				p.held = fmt.Errorf("the plugin %s is the file %s.wasm: rename %s, or give it its own key and source in sallyport.yaml",
					p.name, p.name, p.where())
			case r.exact(p) && len(exact) > 1, len(exact) == 0 && len(same) > 1:
				p.held = fmt.Errorf("more than one plugin is named %q: %s; give each its own key and source", p.name, files(same))
			}
			if p.held == nil {
				r.holdOtherCase(p)
			}
		}
	}
}

// holdOtherCase holds a plan whose name was pinned in another case, in whatever folder, or is a key of the settings in
// another case: it is the same name, and whether the files are told apart depends on the file system.
func (r *Registry) holdOtherCase(p *plan) {
	var other, why string
	if l := r.opts.Lock; l != nil {
		if _, pinned := l.Pin(p.name); pinned {
			return
		}
		if other = l.OtherCase(p.name); other != "" {
			why = fmt.Sprintf("%s is pinned: rename %s to %s%s, or take %q out of %s", other, p.where(), other, filepath.Ext(p.path), other, l.File())
		}
	}
	if _, own := r.configs[p.name]; !own && other == "" {
		if other = r.keyOf(p); other != "" {
			why = fmt.Sprintf("%s is a key of sallyport.yaml: rename %s to %s%s, or the key", other, p.where(), other, filepath.Ext(p.path))
		}
	}
	if why != "" {
		p.rival, p.held = true, fmt.Errorf("names that differ only in case are one name, and %s", why)
	}
}

// exact reports whether a plan's file is the one that its name stands for.
func (r *Registry) exact(p *plan) bool {
	base := filepath.Base(p.path)
	return p.path == "" || r.opts.Files != nil || document.Is(p.path) || base == p.name+".wasm" || base == p.name+".json" ||
		r.sourcePath(r.configs[p.name]) == p.path
}

// configured reports whether the settings name the plugin of a plan, in whatever case.
func (r *Registry) configured(p *plan) bool { return r.keyOf(p) != "" }

// keyOf is the key of the settings that names the plugin of a plan, in whatever case; "" is none.
func (r *Registry) keyOf(p *plan) string {
	for name := range r.configs {
		if fold(name) == fold(p.name) {
			return name
		}
	}
	return ""
}

// files names the files of plans.
func files(plans []*plan) string {
	var where []string
	for _, p := range plans {
		where = append(where, p.where())
	}
	return strings.Join(where, ", ")
}

func (p *plan) where() string {
	if p.path == "" {
		return "the host's own"
	}
	return filepath.Base(p.path)
}
