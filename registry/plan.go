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
	"github.com/sallyport-mcp/sallyport/registry/manifest"
	"github.com/sallyport-mcp/sallyport/registry/plugin"
)

// plan is one plugin that should exist: a name with a file or with built-in code.
type plan struct {
	name   string
	path   string             // "" for built-in code
	file   *file              // nil: there is no such file
	code   *plugin.Code       // serves in place of a module
	text   *document.Document // the document with that code; nil for none
	config Config
	err    error // why there can be no such plugin
	held   error // why it may not serve
	extism *file // the Extism manifest that names file; nil if there is none

	own  Config               // the operator's configuration, before a manifest narrowed it
	told *extismfile.Manifest // the manifest in force; nil for none

	module  *plugin.Module // the module that may serve; nil: none, or not yet
	pin     *lock.Pin      // the approved terms; nil: no approval needed
	rival   bool           // held because a different file was approved under its name
	waits   string         // the digest of bytes that wait for approval in place of module; "" is none
	waiting string         // why they wait
	kept    string         // the stored copy that module comes from; "" for the plugin's own file
}

func (p *plan) key() string { return p.name + "\x00" + p.path }

// plans returns the plugins that should exist, sorted by name and path. It is computed from the configuration, the
// files, the lock and the serving plugins. r.mu must be held.
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

// asDocument sets the code of a document's plan. Its public names have no prefix unless the operator configured one.
func (p *plan) asDocument() {
	if !document.Is(p.path) || p.file == nil {
		return
	}
	if p.text = p.file.text; p.text != nil {
		p.code = codeOf(p.text)
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
		p.name, p.err = manifest.NameOfFile(path)
		if extismfile.Is(path) && p.err == nil {
			p = r.extismPlan(p.name, path, p.config)
		}
		plans = append(plans, p)
	}
	return plans
}

// folderPlans names each configured source by its key, and every other file of the folder by its stem.
func (r *Registry) folderPlans() []*plan {
	plans, claimed := r.extismPlans()
	manifests := map[string]bool{}
	for _, p := range plans {
		manifests[p.name] = true
	}
	for name, c := range r.configs {
		if path := r.sourcePath(c); path != "" && !manifests[name] {
			claimed[path] = true // under the operator's name in place of the file's own
			plans = append(plans, &plan{name: name, path: path, file: r.files[path], config: c})
		}
	}
	named := map[string]bool{}
	for path, f := range r.files {
		if claimed[path] && !r.hasOwnKey(path, manifests) || filepath.Dir(path) != r.opts.Dir || extismfile.Is(path) {
			continue
		}
		p := &plan{path: path, file: f}
		if p.name, p.err = manifest.NameOfFile(path); p.err != nil {
			p.name = filepath.Base(path)
		}
		c, configured := r.configs[p.name]
		if c.Source == "" {
			p.config = c
		}
		if !configured && r.plugins[p.key()] == nil && r.readingManifests() {
			continue // it may be the module of a manifest
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

// hasOwnKey reports whether a key of the settings is a file's own name, without source, and no manifest has that name:
// the file is that plugin too, even if other keys have it as their source.
func (r *Registry) hasOwnKey(path string, manifests map[string]bool) bool {
	name, err := manifest.NameOfFile(path)
	if err != nil || filepath.Dir(path) != r.opts.Dir {
		return false
	}
	c, configured := r.configs[name]
	return configured && c.Source == "" && !manifests[name]
}

// ofAnotherFolder reports whether a configured plugin is pinned in a different folder that shares this state folder.
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

// hold holds back plugins with the same name, compared without case: all but the one that was approved under it. A file
// with a name that had to be normalized does not compete for the name of a different file.
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
				p.held = fmt.Errorf("%s was approved as the plugin %s, and serves; %s shows the changes of %s",
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

// holdOtherCase holds a plan whose name is pinned, or is a key of the settings, in a different case: it is the same
// name, and only some file systems tell the files apart.
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

// exact reports whether a plan's file is the one that its name refers to.
func (r *Registry) exact(p *plan) bool {
	base := filepath.Base(p.path)
	return p.path == "" || r.opts.Files != nil || document.Is(p.path) || base == p.name+".wasm" || base == p.name+".json" ||
		r.sourcePath(r.configs[p.name]) == p.path
}

// configured reports whether the settings name the plugin of a plan, ignoring case.
func (r *Registry) configured(p *plan) bool { return r.keyOf(p) != "" }

// keyOf returns the key of the settings that names the plugin of a plan, ignoring case; "" is none.
func (r *Registry) keyOf(p *plan) string {
	for name := range r.configs {
		if fold(name) == fold(p.name) {
			return name
		}
	}
	return ""
}

// files lists the files of plans.
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
