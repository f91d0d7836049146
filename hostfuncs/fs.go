package hostfuncs

import (
	"context"
	"path/filepath"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail"
	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/overlay"
	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/temp"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// mount mounts the granted files at their first use, since most calls use none. If the operator may be asked, it mounts
// them at once: the answers so far are read, and kept in the journal, before anything else of the call. A recorded call has
// its files from its start, too.
func mount(g *Gate, o *wasi.Options) {
	now := o.Now
	if g.policy.consults() || g.startsProgram() || g.tape != nil {
		o.Tree = mountFiles(g, now)
		return
	}
	o.Mount = func() wasi.Tree {
		tree := mountFiles(g, now)
		g.life.onClose(g.wasi.Close) // its descriptors, before the tree that they are of
		return tree
	}
}

// mountFiles mounts the granted files, with writes held back until Land. Without grants, the guest still gets a tree,
// so that its failed lookups are explained. A program has a private folder for temporary files, too.
func mountFiles(g *Gate, now func() time.Time) (tree wasi.Tree) {
	g.consent().stand()
	f := &files{paths: newPaths(&g.rules), gate: g}
	mounts := g.rules.mounts()
	f.absent = g.rules.absent(mounts)
	t := jail.New(mounts, f)
	held := overlay.New(t, overlay.Options{
		Scratch: filepath.Join(g.policy.host.options.State, "scratch"), Fold: g.policy.host.places.Fold,
		Direct: f.direct, Share: f.share, Moved: f.moved, Lists: f.lists, LinksOut: f.linksOut, Full: f.full,
	})
	g.writes.files.Store(held)
	g.life.onClose(t.Close)
	g.life.onClose(held.Close)
	tree = held
	if !g.session.local() {
		f.veil = &veil{paths: f.paths}
		tree = &veiled{held, f.veil}
	}
	if g.policy.consults() || len(g.policy.wants) > 0 { // denials are the same whether the operator is asked or not
		g.probes = &probes{Tree: tree, files: f, grow: func() {
			mounts := g.rules.mounts()
			f.absent = g.rules.absent(mounts)
			for _, m := range mounts {
				t.Add(m)
			}
		}}
		tree = g.probes
	}
	if g.program != nil {
		tree = temp.New(tree, now)
	}
	if j := g.replay.journal; j != nil {
		tree = &observed{Tree: tree, journal: j}
	}
	return g.tape.tree(tree)
}

// direct reports whether the operator allows writing a path in place. Dry runs write nothing, and a call with a
// journal could repeat the write in its replay: both hold their writes back.
func (f *files) direct(path string) bool {
	if f.gate.call.DryRun || f.gate.replay.journal != nil || !f.writeGrant(path).Direct {
		return false
	}
	if !f.told[path] {
		if f.gate.intents.intend("writing "+f.shown(path)+" in place") != nil {
			return false
		}
		if f.told == nil {
			f.told = map[string]bool{}
		}
		f.told[path] = true
	}
	return true
}

// lists records that the names in a folder are read. A line for the folder alone shows no names, and reporting it as
// empty would be false.
func (f *files) lists(path string) bool { return f.Allow(jail.List, path) == nil }

// share returns the limit on writes under one line.
func (f *files) share(path string) overlay.Share {
	d := f.writeGrant(path)
	if d.Grant == nil || d.Quota == 0 && d.Files == 0 {
		return overlay.Share{}
	}
	return overlay.Share{ID: d.Grant.String(), Bytes: d.Quota, Files: int64(d.Files)}
}

// linksOut records a denied link to a target outside the grant.
func (f *files) linksOut(path, target string) {
	e := effect{family: "fs", act: "link " + f.shown(path) + " to " + target, told: "link " + f.shown(f.veil.name(path)) + " to " + target}
	_ = f.gate.deny(e, &refusal{reason: "a link may lead only to a writable path within the same grant"})
}

// moved counts the bytes of a closed file.
func (f *files) moved(op jail.Op, path string, n int64) {
	target := op.String() + " " + f.shown(path)
	if op == jail.Write {
		f.gate.record.count("fs", target, 0, n, 0)
		return
	}
	f.gate.record.count("fs", target, 0, 0, n)
}

// maxRefused limits the denials that one call remembers.
const maxRefused = 256

// files decides about paths for the tree of one call, with records. Only the guest's goroutine uses it.
type files struct {
	*paths
	gate *Gate
	// hold takes denials instead of the record during a trial check; nil records them.
	hold func(probe)
	// refused are the denied effects, possibly with duplicates.
	refused []probe
	// told are the paths written in place that were reported to the caller.
	told map[string]bool
	// met are the write limits that the call has reached.
	met map[fullKey]bool
}

var (
	_ jail.Decider = (*files)(nil)
	_ jail.Viewer  = (*files)(nil)
)

// Allow checks one effect on a path; the tree then performs it.
func (f *files) Allow(op jail.Op, path string) error {
	path = f.meant(path)
	e := f.effect(op, path)
	if f.hold != nil {
		if _, refused := f.rules.check(e); refused != nil {
			f.hold(probe{op, path})
			return refused
		}
	}
	err := f.gate.pass(f.during(), e)
	if err != nil && len(f.refused) < maxRefused {
		f.refused = append(f.refused, probe{op, path})
	}
	return err
}

// uncount removes an allowed effect that failed from the receipt.
func (f *files) uncount(l probe) {
	f.gate.record.uncount("fs", l.op.String()+" "+f.shown(f.meant(l.path)))
}

// during returns the context of the guest's current operation, which limits the wait for an answer about a file.
func (f *files) during() context.Context {
	if !f.gate.consent().opening {
		return context.Background()
	}
	if f.gate.wasi != nil {
		if ctx := f.gate.wasi.Context(); ctx != nil {
			return ctx
		}
	}
	return f.gate.life.until()
}

func fileFamily() family {
	return family{
		name: "fs", acts: []string{"read ~/work/a", "write ~/work/a", "list ~/work"}, explain: explainFile,
		atCommit: true, stays: true, bindable: true, standing: true, paths: true,
	}
}
