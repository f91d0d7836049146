package registry

import (
	"maps"
	"reflect"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/registry/document"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
	"github.com/sallyport-mcp/sallyport/registry/plugin"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// slot is a name and file with its serving generation.
type slot struct {
	home *plugin.Plugin
	now  *generation
}

// generation is a serving.Generation with the inputs that it was made from.
type generation struct {
	*plugin.Generation
	name     string
	config   Config
	limits   runtime.Limits     // with the defaults applied
	code     *plugin.Code       // nil for a module
	text     *document.Document // the document with that code; nil for none
	module   *plugin.Module     // nil for code
	manifest *manifest.Manifest
	wants    []hostfuncs.Want  // the wants that the operator can grant
	unsaid   []string          // problems of the other wants
	pinned   map[string]string // hashes of the approved definitions; nil: all are approved
}

// generationFor returns the generation of a plan: the serving one if it fits, else a new one; nil if the plan cannot
// serve.
func (r *Registry) generationFor(p *plan) *generation {
	if err := r.unfit(p); err != nil && p.err == nil {
		p.err = err
	}
	old := r.plugins[p.key()]
	if p.err != nil || p.held != nil || p.config.Disabled || p.code == nil && p.module == nil {
		if old != nil {
			r.take(p.key(), old)
		}
		return nil
	}
	if old == nil {
		old = &slot{home: &plugin.Plugin{Name: p.name, Relist: r.assemble, Ready: r.Ready,
			Updated: func(uri string) { r.notes.Updated(p.name, uri) }}}
		r.plugins[p.key()] = old
	}
	if old.now != nil && old.now.fits(p, orDefaults(p.config.Limits, r.defaults)) {
		old.now.Publish()
		return old.now
	}
	old.now = r.newGeneration(old.home, p)
	old.home.Replace(old.now.Generation)
	return old.now
}

// take removes a plugin.
func (r *Registry) take(key string, p *slot) {
	p.home.Replace(nil)
	delete(r.plugins, key)
}

// fits reports whether a plan with these limits would make an equal generation. Line numbers of grants are ignored: an
// edited comment must not end the instances that a plugin keeps.
func (g *generation) fits(p *plan, limits runtime.Limits) bool {
	now, next := g.config, p.config
	if g.limits != limits || !now.Grants.Same(next.Grants) {
		return false
	}
	now.Grants, next.Grants, now.Limits, next.Limits = nil, nil, limits, limits
	if !reflect.DeepEqual(now, next) {
		return false
	}
	switch {
	case p.text != nil:
		return g.text == p.text
	case p.code != nil:
		return g.text == nil && g.code == p.code
	}
	return g.module == p.module && maps.Equal(g.pinned, p.pinned())
}

func (r *Registry) newGeneration(home *plugin.Plugin, p *plan) *generation {
	grants, err := p.fitting()
	if err != nil { // generationFor has checked this
		grants = nil
	}
	c := p.config
	g := &generation{name: p.name, config: c, limits: orDefaults(c.Limits, r.defaults), code: p.code, text: p.text, manifest: p.manifest()}
	policy := hostfuncs.Plugin{Name: p.name, Grants: grants, Config: c.Values, Workspace: c.Workspace, Limits: c.Use,
		Learn: c.Learn, Frozen: c.Frozen, Seed: c.Seed}
	o := plugin.Options{State: c.State, Limits: g.limits, Publish: catalog.Plugin{
		Name: p.name, Manifest: g.manifest, Prefix: c.prefixed(), Only: c.Only, Hide: c.Hide,
		Grants: c.Grants.At(p.name, c.Workspace), Places: r.places, Logger: r.log,
	}}
	if p.code != nil {
		o.Code, o.Publish.Skill = p.code.Serve, p.code.Skill
	} else {
		g.module, g.pinned = p.module, p.pinned()
		wants := p.wants(g.module, p.told)
		g.wants, g.unsaid = plugin.Wants(wants, g.manifest), plugin.Problems(wants, g.manifest)
		policy.Digest, policy.Updates, policy.Wants = g.module.Digest, string(c.Updates), g.wants
		o.Module, o.Admit = g.module, r.admission(p)
		if g.pinned != nil {
			o.Publish.Approved = func(key string) bool { return g.pinned[key] == g.module.Hashes()[key] }
		}
	}
	o.Policy = r.host.Plugin(policy)
	g.Generation = plugin.New(home, o)
	return g
}

// orDefaults sets every zero limit to its default.
func orDefaults(l, defaults runtime.Limits) runtime.Limits {
	own, other := reflect.ValueOf(&l).Elem(), reflect.ValueOf(defaults)
	for i := range own.NumField() {
		if own.Field(i).IsZero() {
			own.Field(i).Set(other.Field(i))
		}
	}
	return l
}

// retire stops admission of calls to a generation and drains it in the background.
func (r *Registry) retire(g *generation) {
	g.Retire()
	r.work.Go(func() {
		if err := g.Drain(r.ending); err != nil {
			r.log.Warn("plugin did not end cleanly", "plugin", g.name, "error", err)
		}
	})
}

// retireAll retires every generation. The registry is closed: no new ones follow.
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
