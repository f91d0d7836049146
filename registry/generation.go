package registry

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"reflect"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
	"github.com/sallyport-mcp/sallyport/registry/plugin"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// slot is a name and file with its serving generation.
type slot struct {
	home   *plugin.Plugin
	now    *generation
	pinned bool // the bytes of now are in the lock file
}

// slots holds the serving plugins by plan.key. The lock of the inputs guards it.
type slots map[string]*slot

// current returns the serving generation of each plugin.
func (s slots) current() map[string]*generation {
	now := map[string]*generation{}
	for key, one := range s {
		now[key] = one.now
	}
	return now
}

// forget removes the plugins that have no plan.
func (s slots) forget(plans []*plan) {
	wanted := map[string]bool{}
	for _, p := range plans {
		wanted[p.key()] = true
	}
	for key := range s {
		if !wanted[key] {
			s.empty(key)
		}
	}
}

// empty removes a plugin, if it serves.
func (s slots) empty(key string) {
	if one := s[key]; one != nil {
		one.home.Replace(nil)
		delete(s, key)
	}
}

// generation is a plugin.Generation with the inputs that it was made from.
type generation struct {
	*plugin.Generation
	name         string
	config       Config
	limits       runtime.Limits // with the defaults applied
	contents                    // module, or code
	manifest     *manifest.Manifest
	wants        []hostfuncs.Want  // the wants that the operator can grant
	wantProblems []string          // problems of the other wants
	pinned       map[string]string // hashes of the approved definitions; nil: all are approved
}

// fits reports whether a plan with these limits would make an equal generation.
func (g *generation) fits(p *plan, limits runtime.Limits) bool {
	switch {
	case !g.isConfigured(p.config, limits):
		return false
	case p.text != nil:
		return g.text == p.text
	case p.code != nil:
		return g.text == nil && g.code == p.code
	}
	return g.module == p.module && maps.Equal(g.pinned, p.pinned())
}

// tightClasses returns the classes whose memory is too small for the module, of which each call is refused.
func (g *generation) tightClasses() (problems []string) {
	if g.module == nil {
		return nil
	}
	for i, class := range g.config.Classes {
		if class.Limits.Memory == 0 {
			continue
		}
		if err := class.Limits.CheckStart(g.module.Memory, g.module.Beside, true); err != nil {
			problems = append(problems, fmt.Sprintf("entry %d of limits.for refuses each call of its callers: %v", i+1, err))
		}
	}
	return problems
}

// isConfigured reports whether a generation has this configuration. Line numbers of grants are ignored: an edited comment
// must not end the instances that a plugin keeps.
func (g *generation) isConfigured(next Config, limits runtime.Limits) bool {
	now := g.config
	if g.limits != limits || !now.Grants.Same(next.Grants) {
		return false
	}
	now.Grants, next.Grants, now.Limits, next.Limits = nil, nil, limits, limits
	return reflect.DeepEqual(now, next)
}

// starter makes generations of plans and puts them into slots.
type starter struct {
	host   *hostfuncs.Host
	places grant.Places
	log    *slog.Logger
	keeper *keeper
	notes  *catalog.Notifier
	relist func()                      // called when a generation's offer must be updated
	ready  func(context.Context) error // waits for files that are being loaded
}

// generationFor returns the generation of a plan: the serving one if it fits, else a new one; nil if the plan cannot serve.
// Until the approved bytes of a plan are loaded, the bytes approved before serve, under an unchanged configuration.
func (st *starter) generationFor(s slots, p *plan, defaults runtime.Limits) *generation {
	if err := p.unfit(defaults); err != nil && p.err == nil {
		p.err = err
	}
	one, limits := s[p.key()], p.config.Limits.Or(defaults)
	if !p.serves() {
		if one != nil && one.pinned && p.loading && p.err == nil && one.now.isConfigured(p.config, limits) {
			return one.now
		}
		s.empty(p.key())
		return nil
	}
	if one == nil {
		one = &slot{home: &plugin.Plugin{Name: p.name, Relist: st.relist, Ready: st.ready,
			Updated: func(uri string) { st.notes.Updated(p.name, uri) }}}
		s[p.key()] = one
	}
	one.pinned = st.keeper.isPinned(p)
	if one.now != nil && one.now.fits(p, limits) {
		one.now.Publish()
		return one.now
	}
	one.now = st.newGeneration(one.home, p, limits)
	one.home.Replace(one.now.Generation)
	return one.now
}

// newGeneration makes a generation of a plan.
func (st *starter) newGeneration(home *plugin.Plugin, p *plan, limits runtime.Limits) *generation {
	grants, err := p.fitting()
	if err != nil { // generationFor has checked this
		grants = nil
	}
	c := p.config
	g := &generation{name: p.name, config: c, limits: limits, manifest: p.manifest()}
	policy := hostfuncs.Plugin{Name: p.name, Grants: grants, Config: c.Values, Workspace: c.Workspace, Limits: c.Use,
		Learn: c.Learn, Record: c.Record, Frozen: c.Frozen, Seed: c.Seed}
	classes := make([]runtime.Limits, len(c.Classes))
	for i, class := range c.Classes {
		classes[i] = class.Limits
		policy.Classes = append(policy.Classes, hostfuncs.Class{Who: class.Who, Limits: class.Use})
	}
	o := plugin.Options{State: c.State, Limits: limits, Classes: classes, Publish: catalog.Plugin{
		Name: p.name, Manifest: g.manifest, Prefix: c.prefixed(), Only: c.Only, Hide: c.Hide, Callers: c.Callers,
		Grants: c.Grants.At(p.name, c.Workspace), Places: st.places, Logger: st.log,
	}}
	if p.code != nil {
		g.code, g.text = p.code, p.text
		o.Code, o.Publish.Skill = p.code.Serve, p.code.Skill
	} else {
		g.module, g.pinned = p.module, p.pinned()
		wants := p.wants()
		g.wants, g.wantProblems = plugin.Wants(wants, g.manifest), plugin.Problems(wants, g.manifest)
		policy.Digest, policy.Updates, policy.Wants = g.module.Digest, string(c.Updates), g.wants
		o.Module, o.Admit = g.module, st.keeper.admission(p)
		if g.pinned != nil {
			o.Publish.Approved = func(key string) bool { return g.pinned[key] == g.module.Hashes()[key] }
		}
	}
	o.Policy = st.host.Plugin(policy)
	g.Generation = plugin.New(home, o)
	return g
}
