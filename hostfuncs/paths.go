package hostfuncs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/commit"
	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/denylist"
	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
)

// paths decides about the paths of one call, without records. Only the guest's goroutine uses it.
type paths struct {
	rules *rules
	guard *denylist.Guard
	// veil renames paths for an HTTP caller; nil renames nothing.
	veil *veil
	// absent is the folder of {workspace} while no line covers it: denials of guest paths below /workspace then name
	// its files.
	absent string
}

func newPaths(r *rules) *paths {
	return &paths{rules: r, guard: r.policy.host.protected.paths.Load().Guard()}
}

// shown returns a path as an operator writes it.
func (p *paths) shown(path string) string { return p.rules.policy.host.shown(path) }

func (p *paths) writeGrant(path string) grant.Decision {
	return p.rules.grants.Files(p.rules.policy.host.places).Decide(grant.Write, path)
}

// meant returns the host path that the guest means.
func (p *paths) meant(path string) string {
	rest, below := strings.CutPrefix(filepath.ToSlash(path), workDir+"/")
	if p.absent == "" || !below {
		return path
	}
	return filepath.Join(p.absent, rest)
}

// effect returns the effect of an operation on a path.
func (p *paths) effect(op jail.Op, path string) effect {
	act := op.String() + " " + p.shown(path)
	e := effect{
		family: "fs", act: act, target: act, told: op.String() + " " + p.shown(p.veil.name(path)),
		changes: op.Changes(),
		forbid:  func() string { return p.forbidden(op.Changes(), path) },
		decide:  func(s *grant.Set) grant.Decision { return p.decide(s, op, path) },
	}
	if p.nowhere(path) {
		e.decide = func(s *grant.Set) grant.Decision {
			d := p.decide(s, op, path)
			d.Suggest = ""
			return d
		}
		e.near = func(grant.Decision) string { return "; no workspace is set, so a path has to be whole" }
	}
	if op == jail.List { // regardless of names
		e.learning.aside = true
		e.announced = func(s *grant.Set) grant.Decision { return p.decide(s, jail.Read, filepath.Join(path, "*")) }
	}
	return e
}

// may reports whether an effect is currently allowed, without a record.
func (p *paths) may(l probe) bool {
	_, refused := p.rules.check(p.effect(l.op, p.meant(l.path)))
	return refused == nil
}

// nowhere reports whether a path is below /workspace while no workspace is set: a line for it would match nothing.
func (p *paths) nowhere(path string) bool {
	if p.rules.policy.plugin.Workspace != "" || !strings.HasPrefix(filepath.ToSlash(path), workDir+"/") {
		return false
	}
	_, err := os.Stat(workDir)
	return errors.Is(err, fs.ErrNotExist)
}

func (p *paths) decide(s *grant.Set, op jail.Op, path string) grant.Decision {
	places := p.rules.policy.host.places
	switch op {
	case jail.Make:
		return s.Files(places).Folder(path)
	case jail.List:
		return s.Files(places).List(path)
	}
	return s.Files(places).Decide(grantOp(op), path)
}

func (p *paths) forbidden(write bool, path string) string {
	if temporary(path) || p.guard.Covers(path) || write && p.guard.Leads(path) {
		return "files of Sallyport and of its clients are protected from every grant"
	}
	return ""
}

// Leads implements jail.Leader.
func (p *paths) Leads(path string) bool { return p.rules.policy.host.places.Leads(path) }

// temporary reports whether a path is a temporary file of a pending commit, or below one.
func temporary(path string) bool {
	const begin = string(filepath.Separator) + commit.Prefix
	return strings.Contains(strings.ToLower(path), begin)
}

// Visible reports whether the guest may know of a path: it is granted, or is a folder on the way to one that may be
// granted. It records nothing.
func (p *paths) Visible(path string, folder bool) bool {
	if temporary(path) || p.guard.Covers(path) {
		return false
	}
	places := p.rules.policy.host.places
	seen := p.rules.grants.Files(places).Visible(path, folder)
	if !seen && p.rules.grants.Lines().NeedsRoots() && p.rules.grants.Files(places).Above(path) && p.rules.askRoots(p.rules.kindOf(grant.FS)) {
		seen = p.rules.grants.Files(places).Visible(path, folder)
	}
	return seen
}

// Writable reports whether the path is currently granted for writing. It records nothing.
func (p *paths) Writable(path string) bool { return p.may(probe{jail.Write, path}) }

func grantOp(op jail.Op) grant.Op {
	if op.Changes() {
		return grant.Write
	}
	return grant.Read
}

// probe is one effect on a path.
type probe struct {
	op   jail.Op
	path string
}

// mounts returns the granted parts of the host's files.
func (r *rules) mounts() (mounts []jail.Mount) {
	places := r.policy.host.places
	for _, prefix := range r.grants.Files(places).Prefixes() {
		mounts = append(mounts, jail.Mount{Host: standing(filepath.FromSlash(prefix))})
	}
	if folder := r.policy.plugin.Workspace; folder != "" && r.grants.Files(places).Above(filepath.ToSlash(folder)) {
		return append(mounts, jail.Mount{Host: folder, Guest: workDir})
	}
	return append(mounts, jail.Mount{Guest: workDir}) // guests that change to it at start find it
}

// absent returns the folder of {workspace} if no mount shows it; empty if one does, or there is none.
func (r *rules) absent(mounts []jail.Mount) string {
	if last := mounts[len(mounts)-1]; last.Host == "" && !r.grants.Files(r.policy.host.places).Above(workDir) {
		return r.policy.plugin.Workspace
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
