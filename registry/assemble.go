package registry

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/registry/catalogue"
	"github.com/sallyport-mcp/sallyport/registry/document"
	"github.com/sallyport-mcp/sallyport/registry/extismfile"
	"github.com/sallyport-mcp/sallyport/registry/lock"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
	"github.com/sallyport-mcp/sallyport/registry/module"
	"github.com/sallyport-mcp/sallyport/registry/names"
	"github.com/sallyport-mcp/sallyport/registry/serving"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// plan is one plugin that should be there: a name with a file or with code of this process.
type plan struct {
	name   string
	path   string // "" for code of this process
	file   *file  // nil: there is no such file
	code   *serving.Code
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
	p.code = p.file.code
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

// assemble makes the catalogue anew from files, configuration and code, and swaps it in. What is
// not needed any more is retired, and drained in the background.
func (r *Registry) assemble() {
	r.mu.Lock()
	look := r.assembleLocked()
	r.mu.Unlock()
	if look {
		r.touch("")
	}
}

// assembleLocked reports whether there are files to be looked at that nobody has looked at yet.
func (r *Registry) assembleLocked() (look bool) {
	if r.closed {
		return false
	}
	plans := r.plans()
	look = r.needKept(plans)
	old := r.current()
	r.forget(plans)
	var serving []*generation
	status := make([]Status, 0, len(plans))
	for _, p := range plans {
		g := r.generationFor(p)
		if g != nil {
			serving = append(serving, g)
		}
		status = append(status, r.statusOf(p, g))
	}
	r.swap(serving, status)
	for key, g := range old {
		if p := r.plugins[key]; p == nil || p.now != g {
			r.retire(g)
		}
	}
	return look
}

// forget takes the plugins out that no plan is for.
func (r *Registry) forget(plans []*plan) {
	wanted := map[string]bool{}
	for _, p := range plans {
		wanted[p.key()] = true
	}
	for key, p := range r.plugins {
		if !wanted[key] {
			r.take(key, p)
		}
	}
}

// current is the generation that serves for each plugin now.
func (r *Registry) current() map[string]*generation {
	now := map[string]*generation{}
	for key, p := range r.plugins {
		now[key] = p.now
	}
	return now
}

// plugin is a name and file with the generation that serves it.
type plugin struct {
	home *serving.Plugin
	now  *generation
}

// generation is what serves, and what it was made of.
type generation struct {
	*serving.Generation
	name     string
	config   Config
	code     *serving.Code  // nil for a module
	module   *module.Module // nil for code
	manifest *manifest.Manifest
	wants    []hostfuncs.Want  // what the operator may be asked about
	pinned   map[string]string // the hashes of the definitions that were approved; nil: all are
}

// generationFor returns what serves a plan: the generation that does already, or a new one; nil if
// it cannot.
func (r *Registry) generationFor(p *plan) *generation {
	if _, err := p.fitting(); err != nil && p.err == nil {
		p.err = fmt.Errorf("its grants do not fit: %w", err)
	}
	old := r.plugins[p.key()]
	if p.err != nil || p.held != nil || p.config.Disabled || p.code == nil && p.module == nil {
		if old != nil {
			r.take(p.key(), old)
		}
		return nil
	}
	if old == nil {
		old = &plugin{home: &serving.Plugin{Name: p.name, Relist: r.assemble, Ready: r.Ready,
			Updated: func(uri string) { r.notes.updated(p.name, uri) }}}
		r.plugins[p.key()] = old
	}
	if old.now != nil && old.now.fits(p) {
		old.now.Publish()
		return old.now
	}
	old.now = r.newGeneration(old.home, p)
	old.home.Replace(old.now.Generation)
	return old.now
}

// take takes a plugin out.
func (r *Registry) take(key string, p *plugin) {
	p.home.Replace(nil)
	delete(r.plugins, key)
}

// fits reports whether a generation is what a plan would make.
func (g *generation) fits(p *plan) bool {
	if !reflect.DeepEqual(g.config, p.config) {
		return false
	}
	if p.code != nil {
		return g.code == p.code
	}
	return g.module == p.module && maps.Equal(g.pinned, p.pinned())
}

func (r *Registry) newGeneration(home *serving.Plugin, p *plan) *generation {
	grants, err := p.fitting()
	if err != nil { // generationFor has looked before
		grants = nil
	}
	c := p.config
	g := &generation{name: p.name, config: c, code: p.code, manifest: p.manifest()}
	policy := hostfuncs.Plugin{Name: p.name, Grants: grants, Config: c.Values, Workspace: c.Workspace, Limits: c.Use,
		Learn: c.Learn, Frozen: c.Frozen, Seed: c.Seed}
	o := serving.Options{State: c.State, Limits: orDefaults(c.Limits, r.opts.Defaults), Publish: catalogue.Plugin{
		Name: p.name, Manifest: g.manifest, Prefix: c.prefixed(), Only: c.Only, Hide: c.Hide,
		Grants: c.Grants.At(p.name, c.Workspace), Places: r.places, Logger: r.log,
	}}
	if p.code != nil {
		o.Code, o.Publish.Skill = p.code.Serve, p.code.Skill
	} else {
		g.module, g.pinned = p.module, p.pinned()
		g.wants = announced(p.wants(g.module), g.manifest)
		policy.Digest, policy.Updates, policy.Wants = g.module.Digest, string(c.Updates), g.wants
		o.Module = g.module
		if g.pinned != nil {
			o.Publish.Approved = func(key string) bool { return g.pinned[key] == g.module.Hashes()[key] }
		}
	}
	o.Policy = r.host.Plugin(policy)
	g.Generation = serving.New(home, o)
	return g
}

func orDefaults(l, d runtime.Limits) runtime.Limits {
	l.Memory = cmp.Or(l.Memory, d.Memory)
	l.Deadline = cmp.Or(l.Deadline, d.Deadline)
	l.Output = cmp.Or(l.Output, d.Output)
	l.Concurrency = cmp.Or(l.Concurrency, d.Concurrency)
	l.Queue = cmp.Or(l.Queue, d.Queue)
	l.Start = cmp.Or(l.Start, d.Start)
	l.Fuel = cmp.Or(l.Fuel, d.Fuel)
	l.Ask = cmp.Or(l.Ask, d.Ask)
	return l
}

// retire ends a generation that no plugin serves with: at once for new calls, and in the background
// for those in progress.
func (r *Registry) retire(g *generation) {
	g.Retire()
	r.work.Go(func() {
		if err := g.Drain(r.ending); err != nil {
			r.log.Warn("plugin did not end cleanly", "plugin", g.name, "error", err)
		}
	})
}

// retireAll ends every generation. The registry is closed: none comes after.
func (r *Registry) retireAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.plugins {
		p.home.Replace(nil)
		r.retire(p.now)
	}
	for _, f := range r.files {
		if f.module != nil {
			f.module.Release()
			f.module = nil
		}
	}
}

// statusOf says where a plan stands.
func (r *Registry) statusOf(p *plan, g *generation) Status {
	s := Status{Name: p.name, File: p.path, State: StateLoaded}
	switch {
	case p.err != nil:
		s.fail(StateFailed, p.err)
	case p.config.Disabled:
		s.State = StateDisabled
	case p.held != nil:
		s.fail(StateHeld, p.held)
	case p.path == "":
		s.Dialect = "go"
	case p.file == nil:
		s.fail(StateFailed, p.missing())
	case p.waits != "" && g != nil:
		s.Error = p.waiting
	case p.waits != "" && p.file.err == nil:
		s.State = StateLoading
	case p.file.err != nil && g == nil:
		s.fail(StateFailed, p.file.err)
	case p.file.err != nil:
		s.Error = fmt.Sprintf("the new file does not serve, the old one does: %v", p.file.err)
	case g == nil:
		s.State = StateLoading
	}
	if g != nil {
		s.describe(g)
	}
	s.Waits, s.Updates = p.waits, string(p.config.Updates)
	s.Warnings = append(s.Warnings, p.extismWarnings()...)
	return s
}

func (s *Status) fail(state State, err error) { s.State, s.Error = state, err.Error() }

func (s *Status) describe(g *generation) {
	s.Version = g.manifest.Version
	for _, w := range g.wants {
		s.Wants = append(s.Wants, strings.TrimSpace(w.Grants.String()))
	}
	for _, line := range g.config.Grants.Grants() {
		s.Grants = append(s.Grants, line.String())
	}
	for _, c := range g.config.Grants.Ceilings() {
		lines := []string{}
		for _, line := range c.Grants() {
			lines = append(lines, line.String())
		}
		s.Ceilings = append(s.Ceilings, lines)
	}
	s.Warnings = slices.Clone(g.Offer().Problems)
	if g.module == nil && s.File != "" {
		s.Dialect = "text"
	}
	if g.module != nil {
		s.Digest, s.Dialect = g.module.Digest, g.module.Dialect.Name()
		if state := g.State(); state == runtime.StateSession || state == runtime.StatePlugin {
			s.Keeps = string(state)
		}
	}
}

// swap publishes what the generations that serve offer, and tells what changed.
func (r *Registry) swap(serving []*generation, status []Status) {
	old := r.shown.Load()
	offers := make([]*catalogue.Offer, len(serving))
	for i, g := range serving {
		offers[i] = g.Offer()
	}
	next := catalogue.Join(offers, func(plugin, problem string) {
		for i := range status {
			if status[i].Name == plugin {
				status[i].Warnings = append(status[i].Warnings, problem)
			}
		}
	})
	count(next, status)
	change := catalogue.Between(old.snapshot, next)
	next.Generation = old.snapshot.Generation
	if change.Lists() {
		next.Generation++
	}
	r.shown.Store(&shown{snapshot: next, status: status})
	if !reflect.DeepEqual(old.status, status) {
		change.Updated = map[string]bool{builtinURI: true}
	}
	r.report(old.status, status)
	r.notes.notify(change)
}

// count fills in how much each plugin publishes.
func count(s *catalogue.Snapshot, status []Status) {
	index := map[string]*Status{}
	for i := range status {
		if status[i].State == StateLoaded {
			index[status[i].Name] = &status[i]
		}
	}
	for _, t := range s.Tools {
		index[t.Plugin].Tools++
	}
	for _, p := range s.Prompts {
		index[p.Plugin].Prompts++
	}
	for _, x := range s.Resources {
		index[x.Plugin].Resources++
	}
	for _, x := range s.Templates {
		index[x.Plugin].Resources++
	}
}

// report logs each status that is new.
func (r *Registry) report(old, now []Status) {
	before := map[string]Status{}
	for _, s := range old {
		before[s.Name+"\x00"+s.File] = s
	}
	for _, s := range now {
		key := s.Name + "\x00" + s.File
		was, known := before[key]
		delete(before, key)
		if known && reflect.DeepEqual(was, s) {
			continue
		}
		r.reportOne(s)
	}
	for _, key := range slices.Sorted(maps.Keys(before)) {
		r.log.Info("plugin removed", "plugin", before[key].Name, "file", before[key].File)
	}
}

func (r *Registry) reportOne(s Status) {
	attrs := []any{"plugin", s.Name, "file", s.File, "state", string(s.State)}
	for _, w := range s.Warnings {
		r.log.Warn("plugin: "+w, "plugin", s.Name, "file", s.File)
	}
	switch {
	case s.Error != "":
		r.log.Error("plugin: "+s.Error, attrs...)
	case s.State == StateLoaded && s.Dialect != "go":
		r.log.Info("plugin loaded", append(attrs, "digest", s.Digest, "tools", s.Tools)...)
	default:
		r.log.Debug("plugin "+string(s.State), attrs...)
	}
}
