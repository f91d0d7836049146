package hostfuncs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/commit"
	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/denylist"
	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail"
	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/overlay"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// mountFiles mounts the granted files, with writes held back until Land. Without grants, the guest still gets a tree,
// so that its failed lookups are explained.
func (g *Gate) mountFiles(o *wasi.Options) {
	g.stand()
	f := &files{gate: g, guard: g.policy.host.protected.Load().Guard()}
	mounts := g.mounts()
	f.absent = g.absent(mounts)
	t := jail.New(mounts, f)
	held := overlay.New(t, overlay.Options{
		Scratch: filepath.Join(g.policy.host.state, "scratch"), Fold: g.policy.host.places.Fold,
		Direct: f.direct, Share: f.share, Moved: f.moved, Lists: f.lists, LinksOut: f.linksOut, Full: f.full,
	})
	g.mu.Lock()
	g.files = held
	g.mu.Unlock()
	g.onClose(t.Close)
	g.onClose(held.Close)
	o.Tree = held
	if !isLocal(g.call.Principal) {
		f.veil = &veil{files: f}
		o.Tree = &veiled{held, f.veil}
	}
	if g.policy.consults() || len(g.policy.wants) > 0 { // denials are the same whether the operator is asked or not
		g.probes = &probes{Tree: o.Tree, files: f, grow: func() {
			mounts := g.mounts()
			f.absent = g.absent(mounts)
			for _, m := range mounts {
				t.Add(m)
			}
		}}
		o.Tree = g.probes
	}
	if g.journal != nil {
		o.Tree = &observed{Tree: o.Tree, journal: g.journal}
	}
}

// mounts returns the granted parts of the host's files.
func (g *Gate) mounts() (mounts []jail.Mount) {
	places := g.policy.host.places
	for _, prefix := range g.grants.Prefixes(places) {
		mounts = append(mounts, jail.Mount{Host: standing(filepath.FromSlash(prefix))})
	}
	if folder := g.policy.plugin.Workspace; folder != "" && g.grants.Above(filepath.ToSlash(folder), places) {
		return append(mounts, jail.Mount{Host: folder, Guest: workDir})
	}
	return append(mounts, jail.Mount{Guest: workDir}) // guests that change to it at start find it
}

// absent returns the folder of {workspace} if no mount shows it; empty if one does, or there is none.
func (g *Gate) absent(mounts []jail.Mount) string {
	if last := mounts[len(mounts)-1]; last.Host == "" && !g.grants.Above(workDir, g.policy.host.places) {
		return g.policy.plugin.Workspace
	}
	return ""
}

// standing returns the folder to mount for a path: the path itself if its parent exists, else the nearest existing
// ancestor, so that missing folders can be created.
func standing(place string) string {
	for at := place; ; {
		up := filepath.Dir(at)
		if _, err := os.Stat(up); up == at || !errors.Is(err, fs.ErrNotExist) {
			if at == place {
				return place
			}
			return up
		}
		at = up
	}
}

// direct reports whether the operator allows writing a path in place. Dry runs write nothing, and a call with a
// journal could repeat the write in its replay: both hold their writes back.
func (f *files) direct(path string) bool {
	if f.gate.call.DryRun || f.gate.journal != nil || !f.grants(path).Direct {
		return false
	}
	if !f.told[path] {
		if f.gate.intend("writing "+f.shown(path)+" in place") != nil {
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
	d := f.grants(path)
	if d.Grant == nil || d.Quota == 0 && d.Files == 0 {
		return overlay.Share{}
	}
	return overlay.Share{ID: d.Grant.String(), Bytes: d.Quota, Files: int64(d.Files)}
}

func (f *files) grants(path string) grant.Decision {
	return f.gate.grants.FS(grant.Write, path, f.gate.policy.host.places)
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
		f.gate.count("fs", target, 0, n, 0)
		return
	}
	f.gate.count("fs", target, 0, 0, n)
}

// maxRefused limits the denials that one call remembers.
const maxRefused = 256

// files decides about paths for the tree of one call. Only the guest's goroutine uses it.
type files struct {
	gate  *Gate
	guard *denylist.Guard
	// hold takes denials instead of the record during a trial check; nil records them.
	hold func(probe)
	// refused are the denied effects, possibly with duplicates.
	refused []probe
	// told are the paths written in place that were reported to the caller.
	told map[string]bool
	// met are the write limits that the call has reached.
	met map[fullKey]bool
	// veil renames paths for an HTTP caller; nil renames nothing.
	veil *veil
	// absent is the folder of {workspace} while no line covers it: denials of guest paths below /workspace then name
	// its files.
	absent string
}

// probe is one effect on a path.
type probe struct {
	op   jail.Op
	path string
}

var (
	_ jail.Decider = (*files)(nil)
	_ jail.Viewer  = (*files)(nil)
)

func grantOp(op jail.Op) grant.Op {
	if op.Changes() {
		return grant.Write
	}
	return grant.Read
}

// meant returns the host path that the guest means.
func (f *files) meant(path string) string {
	rest, below := strings.CutPrefix(filepath.ToSlash(path), workDir+"/")
	if f.absent == "" || !below {
		return path
	}
	return filepath.Join(f.absent, rest)
}

// Allow checks one effect on a path; the tree then performs it.
func (f *files) Allow(op jail.Op, path string) error {
	path = f.meant(path)
	e := f.effect(op, path)
	if f.hold != nil {
		if _, refused := f.gate.check(context.Background(), e); refused != nil {
			f.hold(probe{op, path})
			return refused
		}
	}
	err := f.gate.pass(f.gate.during(), e)
	if err != nil && len(f.refused) < maxRefused {
		f.refused = append(f.refused, probe{op, path})
	}
	return err
}

// effect returns the effect of an operation on a path.
func (f *files) effect(op jail.Op, path string) effect {
	act := op.String() + " " + f.shown(path)
	e := effect{
		family: "fs", act: act, target: act, told: op.String() + " " + f.shown(f.veil.name(path)),
		forbid: func() string { return f.forbidden(op, path) },
		decide: func(s *grant.Set) grant.Decision { return f.decide(s, op, path) },
	}
	if f.nowhere(path) {
		e.decide = func(s *grant.Set) grant.Decision {
			d := f.decide(s, op, path)
			d.Suggest = ""
			return d
		}
		e.near = func(grant.Decision) string { return "; no workspace is set, so a path has to be whole" }
	}
	if op == jail.List { // regardless of names
		e.aside = true
		e.announced = func(s *grant.Set) grant.Decision { return f.decide(s, jail.Read, filepath.Join(path, "*")) }
	}
	return e
}

// may reports whether an effect is currently allowed, without a record.
func (f *files) may(l probe) bool {
	_, refused := f.gate.check(context.Background(), f.effect(l.op, f.meant(l.path)))
	return refused == nil
}

// uncount removes an allowed effect that failed from the receipt.
func (f *files) uncount(l probe) {
	f.gate.uncount("fs", l.op.String()+" "+f.shown(f.meant(l.path)))
}

// nowhere reports whether a path is below /workspace while no workspace is set: a line for it would match nothing.
func (f *files) nowhere(path string) bool {
	if f.gate.policy.plugin.Workspace != "" || !strings.HasPrefix(filepath.ToSlash(path), workDir+"/") {
		return false
	}
	_, err := os.Stat(workDir)
	return errors.Is(err, fs.ErrNotExist)
}

// during returns the context of the guest's current operation, which limits the wait for an answer about a file.
func (g *Gate) during() context.Context {
	if g.probes == nil || !g.probes.waiting {
		return context.Background()
	}
	if g.wasi != nil {
		if ctx := g.wasi().Context(); ctx != nil {
			return ctx
		}
	}
	return g.until()
}

func (f *files) decide(s *grant.Set, op jail.Op, path string) grant.Decision {
	places := f.gate.policy.host.places
	switch op {
	case jail.Make:
		return s.Folder(path, places)
	case jail.List:
		return s.List(path, places)
	}
	return s.FS(grantOp(op), path, places)
}

func (f *files) forbidden(op jail.Op, path string) string {
	if op.Changes() && f.gate.call.ReadOnly {
		return saysReadOnly
	}
	return f.forbiddenTo(op.Changes(), path)
}

func (f *files) forbiddenTo(write bool, path string) string {
	if temporary(path) || f.guard.Covers(path) || write && f.guard.Leads(path) {
		return "files of Sallyport and of its clients are protected from every grant"
	}
	return ""
}

// Leads implements jail.Leader.
func (f *files) Leads(path string) bool { return f.gate.policy.host.places.Leads(path) }

// temporary reports whether a path is a temporary file of a pending commit, or below one.
func temporary(path string) bool {
	const begin = string(filepath.Separator) + commit.Prefix
	return strings.Contains(strings.ToLower(path), begin)
}

// Visible reports whether the guest may know of a path: it is granted, or is a folder on the way to one that may be
// granted. It records nothing.
func (f *files) Visible(path string, folder bool) bool {
	if temporary(path) || f.guard.Covers(path) {
		return false
	}
	places := f.gate.policy.host.places
	seen := f.gate.grants.Visible(path, folder, places)
	if !seen && f.gate.grants.NeedsRoots() && f.gate.grants.Above(path, places) && f.gate.askRoots(f.gate.kindOf(grant.FS)) {
		seen = f.gate.grants.Visible(path, folder, places)
	}
	return seen
}

// Writable reports whether the path is currently granted for writing. It records nothing.
func (f *files) Writable(path string) bool { return f.may(probe{jail.Write, path}) }

// shown returns a path as an operator writes it, with ~ for the home folder.
func (f *files) shown(path string) string {
	for _, home := range f.gate.policy.host.homes {
		rest, found := strings.CutPrefix(path, strings.TrimSuffix(home, string(filepath.Separator)))
		if found && (rest == "" || rest[0] == filepath.Separator) {
			return "~" + filepath.ToSlash(rest)
		}
	}
	return path
}

// saysReadOnly is the reason for denying changes to a tool with readOnlyHint, regardless of grants.
const saysReadOnly = "the tool says of itself that it changes nothing"
