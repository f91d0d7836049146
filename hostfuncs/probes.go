package hostfuncs

import (
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/denylist"
	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/journal"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// probes is the tree of a call that may ask the operator. A program that writes a file first probes the parent
// folders and creates missing ones. A question about each would hide the one that matters. Denials of lookups and of
// created folders are therefore deferred to the end of the call: lookups report that nothing exists, and a folder is
// created for the call alone, regardless of the host's files.
//
//	stat ~/work/new         ── not found
//	mkdir ~/work/new        ── created, for this call
//	open ~/work/new/a.txt   ── denied: "may it write ~/work/new/a.txt?"
//
// At the end of the call, probes of paths that lead to a denied path are dropped. Of the others, the deepest are
// denied then, and a call with a denied folder fails. No question and no answer depends on host files outside the
// grants.
type probes struct {
	wasi.Tree
	files *files
	looks []probe
	made  []madeFolder

	grow func() // mounts paths granted since the call began
}

// madeFolder is a folder that exists for the call alone.
type madeFolder struct {
	guest  string // guest path
	wanted probe  // its denied effect
}

var _ wasi.Tree = (*probes)(nil)

// maxProbes limits the deferred lookups and folders, which are compared with each other at the end. Further ones are
// denied at once.
const maxProbes = 64

// quietly runs do and returns its denied effects without recording them.
func (p *probes) quietly(do func()) (refused []probe) {
	p.files.hold = func(l probe) { refused = append(refused, l) }
	defer func() { p.files.hold = nil }()
	do()
	return refused
}

// Stat finds the call's own folders, and nothing outside the grants.
func (p *probes) Stat(name string, follow bool) (s wasi.Stat, e wasi.Errno) {
	if p.isMade(name) {
		return wasi.Stat{Nlink: 1, Type: wasi.TypeDirectory}, wasi.ESUCCESS
	}
	if len(p.looks) >= maxProbes {
		return p.Tree.Stat(name, follow)
	}
	refused := p.quietly(func() { s, e = p.Tree.Stat(name, follow) })
	p.looks = append(p.looks, refused...)
	return s, e
}

// maxAnswers limits the questions that one open may wait for: a link may lead to further files.
const maxAnswers = 4

// Open waits for the answer to a question about the file, where calls wait, and then retries. A new file in one of
// the call's own folders is asked about without a lookup on the host.
func (p *probes) Open(name string, o wasi.OpenOptions) (f wasi.File, e wasi.Errno) {
	answers := p.files.gate.consent()
	answers.opening = true
	defer func() { answers.opening = false }()
	if host, below := p.inMade(name); o.Create && below {
		if !p.granted(probe{jail.Write, host}) || !p.build(path.Dir(path.Clean(name))) {
			return nil, wasi.ENOENT
		}
	}
	for range maxAnswers {
		f, e = p.Tree.Open(name, o)
		if e == wasi.ESUCCESS || !p.settle() {
			break
		}
	}
	return f, e
}

// settle mounts newly granted paths, and reports whether there was a new grant.
func (p *probes) settle() bool {
	answers := p.files.gate.consent()
	grown := answers.grown
	if answers.grown = false; grown {
		p.grow()
	}
	return grown
}

// granted reports whether an effect is allowed, now or by an answer that it waits for. It leaves no count in the
// receipt: the tree counts the effect itself.
func (p *probes) granted(l probe) bool {
	if p.files.may(l) {
		return true
	}
	if p.files.Allow(l.op, l.path) != nil {
		return false
	}
	p.files.uncount(l)
	p.settle()
	return true
}

// build creates the call's own folders on the way to a granted path, and reports whether that is allowed: a line that
// allows a file need not allow its parent folders.
func (p *probes) build(dir string) bool {
	leads := func(m madeFolder) bool { return m.guest == dir || strings.HasPrefix(dir, m.guest+"/") }
	for _, m := range p.made {
		if !leads(m) {
			continue
		}
		mkdir := func() { p.Tree.Mkdir(m.guest) } // existing folders stay
		if len(p.quietly(mkdir)) == 0 {
			continue
		}
		if !p.granted(m.wanted) {
			return false
		}
		p.quietly(mkdir)
	}
	p.made = slices.DeleteFunc(p.made, leads)
	return true
}

// inMade returns the host path of a path in one of the call's own folders.
func (p *probes) inMade(name string) (host string, below bool) {
	name = path.Clean(name)
	for _, m := range p.made {
		if rest, found := strings.CutPrefix(name, m.guest+"/"); found {
			return filepath.Join(m.wanted.path, filepath.FromSlash(rest)), true
		}
	}
	return "", false
}

// Mkdir creates a folder that no line allows for the call alone.
func (p *probes) Mkdir(name string) (e wasi.Errno) {
	if p.isMade(name) {
		return wasi.EEXIST
	}
	if len(p.made) >= maxProbes || !p.mayWant() || strings.Contains(name+"/", "/../") {
		return p.Tree.Mkdir(name)
	}
	m := madeFolder{guest: path.Clean(name)}
	if host, below := p.inMade(name); below {
		m.wanted = probe{jail.Make, host}
	} else {
		refused := p.quietly(func() { e = p.Tree.Mkdir(name) })
		if len(refused) == 0 {
			return e
		}
		m.wanted = refused[0]
	}
	p.made = append(p.made, m)
	return wasi.ESUCCESS
}

// mayWant reports whether the plugin declared that it writes files. The result does not depend on the path, so that
// the call's own folders reveal nothing about the host.
func (p *probes) mayWant() bool {
	return !p.files.rules.call.ReadOnly && slices.ContainsFunc(p.files.rules.policy.wants, func(w Want) bool {
		return strings.HasPrefix(w.line(), "fs: write ")
	})
}

// Rmdir removes one of the call's own folders.
func (p *probes) Rmdir(name string) wasi.Errno {
	i := slices.IndexFunc(p.made, func(m madeFolder) bool { return m.guest == path.Clean(name) })
	if i < 0 {
		return p.Tree.Rmdir(name)
	}
	p.made = slices.Delete(p.made, i, i+1)
	return wasi.ESUCCESS
}

// isMade reports whether a path is one of the call's own folders, or leads to one.
func (p *probes) isMade(name string) bool {
	name = path.Clean(name)
	return slices.ContainsFunc(p.made, func(m madeFolder) bool { return m.guest == name || strings.HasPrefix(m.guest, name+"/") })
}

// Conclude denies the deferred probes of a call that ended with err, nil for an answer, except those on the way to a
// path that was denied itself. It is called once, before the answer is sent. The error, an *runtime.EndError, is for
// a call with an answer that depends on a folder that was not granted.
func (g *Gate) Conclude(err error) error {
	p := g.probes
	if p == nil || errors.Is(err, ErrSuspended) || errors.Is(err, journal.ErrOther) {
		return nil
	}
	var failed *runtime.AskError
	for _, m := range ends(p.folders(), p.refused(jail.Op.Changes)) {
		if refused := p.files.Allow(m.op, m.path); refused != nil {
			failed = asAskError(refused)
		}
	}
	for _, l := range ends(p.looks, p.refused(func(jail.Op) bool { return true })) {
		if !p.files.Visible(l.path, true) { // or it led to a path granted since
			_ = p.files.Allow(l.op, l.path) // records the denial
		}
	}
	if failed == nil {
		return nil
	}
	return &runtime.EndError{Kind: failed.Kind, Message: failed.Message, Err: failed}
}

// folders returns the call's own folders that are still not allowed. It creates those that are allowed by now; a line
// may allow a folder without its parents.
func (p *probes) folders() (all []probe) {
	for _, m := range p.made {
		if !p.files.may(m.wanted) {
			all = append(all, m.wanted)
			continue
		}
		p.quietly(func() { p.Tree.Mkdir(m.guest) }) // fails below a denied parent, which fails the call
	}
	return all
}

// refused returns the effects that were denied at once, of some operations.
func (p *probes) refused(which func(jail.Op) bool) (all []probe) {
	for _, r := range p.files.refused {
		if which(r.op) {
			all = append(all, r)
		}
	}
	return all
}

// ends returns the paths, without duplicates, that lead to no other path of the list and to no denied path.
func ends(list, refused []probe) (left []probe) {
	for i, l := range list {
		same := func(o probe) bool { return o.path == l.path }
		leads := func(o probe) bool { return denylist.Below(o.path, l.path) }
		deeper := func(o probe) bool { return !same(o) && leads(o) }
		if !slices.ContainsFunc(list[:i], same) && !slices.ContainsFunc(list, deeper) && !slices.ContainsFunc(refused, leads) {
			left = append(left, l)
		}
	}
	return left
}
