package registry

import (
	"context"
	"log/slog"

	"github.com/sallyport-mcp/sallyport/registry/plugin"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// assembler turns the inputs into serving generations and the published catalog.
type assembler struct {
	inputs    *inputs
	given     []File // Options.Files
	approvals approvals
	keeper    *keeper
	starter   starter
	public    *publisher
	life      *lifecycle
	log       *slog.Logger
	touch     func(path string) // triggers a scan of a path, or of all if it is empty

	serving slots // guarded by the lock of the inputs
}

// assemble rebuilds the catalog from the inputs, and swaps it in. Generations that are no longer used are retired, and
// drained in the background.
func (a *assembler) assemble() {
	a.inputs.mu.Lock()
	look := a.assembleLocked()
	a.inputs.mu.Unlock()
	if look {
		a.touch("")
	}
}

// assembleLocked reports whether stored copies have yet to be loaded.
func (a *assembler) assembleLocked() (look bool) {
	if a.inputs.closed {
		return false
	}
	plans := a.planner().plans()
	look = a.inputs.needCopies(plans)
	a.keeper.follow(plans)
	old := a.serving.current()
	a.serving.forget(plans)
	var serving []*generation
	status := make([]Status, 0, len(plans))
	for _, p := range plans {
		g := a.starter.generationFor(a.serving, p, a.inputs.defaults)
		if g != nil {
			serving = append(serving, g)
		}
		status = append(status, a.approvals.statusOf(p, g))
	}
	for key, g := range old {
		if s := a.serving[key]; s == nil || s.now != g {
			a.retire(g) // before others see that it is replaced
		}
	}
	a.public.publish(serving, status)
	return look
}

// planner returns a planner of the present inputs, whose lock must be held.
func (a *assembler) planner() *planner {
	in := a.inputs
	return &planner{folders: in.folders, given: a.given, configs: in.configs, defaults: in.defaults, files: in.files, code: in.code,
		serving: a.serving, approvals: a.approvals}
}

// configure sets the configurations if they fit the loaded plugins.
func (a *assembler) configure(configs map[string]Config, defaults runtime.Limits) error {
	a.inputs.mu.Lock()
	defer a.inputs.mu.Unlock()
	if a.inputs.closed {
		return errClosed
	}
	next := a.planner()
	next.configs, next.defaults = configs, defaults
	if err := next.checkFit(); err != nil {
		return err
	}
	a.inputs.configs, a.inputs.defaults = configs, defaults
	return nil
}

// addCode publishes a plugin of this process.
func (a *assembler) addCode(name string, code *plugin.Code) error {
	if err := a.inputs.addCode(name, code); err != nil {
		return err
	}
	a.assemble()
	return nil
}

// prepare builds the images of the plugins that a module serves, ahead of their first calls.
func (a *assembler) prepare(ctx context.Context, m *plugin.Module) {
	for _, g := range a.servedBy(m) {
		if err := g.Prepare(ctx); err != nil && ctx.Err() == nil {
			a.log.Debug("a plugin could not be prepared for its first call, which reports why", "plugin", g.name, "error", err)
		}
	}
}

// servedBy returns the generations that a module serves.
func (a *assembler) servedBy(m *plugin.Module) (all []*generation) {
	a.inputs.mu.Lock()
	defer a.inputs.mu.Unlock()
	for _, s := range a.serving {
		if s.now.module == m {
			all = append(all, s.now)
		}
	}
	return all
}

// drop removes a module that failed to compile.
func (a *assembler) drop(m *plugin.Module, err error) {
	if a.inputs.drop(m, err) {
		a.assemble()
	}
}

// mostUrgent returns the most urgent plan of a plugin.
func (a *assembler) mostUrgent(name string) *plan {
	a.inputs.mu.Lock()
	defer a.inputs.mu.Unlock()
	var found *plan
	for _, p := range a.planner().plans() {
		if p.name == name && (found == nil || p.urgent() > found.urgent()) {
			found = p
		}
	}
	return found
}

// retire stops admission of calls to a generation and drains it in the background.
func (a *assembler) retire(g *generation) {
	g.Retire()
	a.life.work.Go(func() {
		if err := g.Drain(a.life.ending); err != nil {
			a.log.Warn("plugin did not end cleanly", "plugin", g.name, "error", err)
		}
	})
}

// close retires every generation and releases the files. The inputs are closed: no new ones follow.
func (a *assembler) close() {
	a.inputs.mu.Lock()
	defer a.inputs.mu.Unlock()
	for _, s := range a.serving {
		s.home.Replace(nil)
		a.retire(s.now)
	}
	for _, f := range a.inputs.files {
		f.serve(nil)
	}
}
