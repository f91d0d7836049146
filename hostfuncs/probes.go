package hostfuncs

import (
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/journal"
	"github.com/sallyport-mcp/sallyport/hostfuncs/protected"
	"github.com/sallyport-mcp/sallyport/hostfuncs/tree"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// probes is the tree of a call whose operator may be asked. A program that writes a file looks first at the folders on
// the way, and makes those that it does not find; asked about each, a person would answer one question after the other
// and never see the one that matters. So what is refused to a look, or to the making of a folder, waits until the call
// is over: looks find nothing, and a folder is made for the call alone, whatever the host has there.
//
//	stat ~/work/new         ── nothing there
//	mkdir ~/work/new        ── made, for this call
//	open ~/work/new/a.txt   ── refused: "may it write ~/work/new/a.txt?"
//
// When the call is over, what leads to something that was refused is forgotten; of the rest the deepest is refused then,
// and a call whose folder was refused has failed. No question and no answer here depends on what the host has where
// nothing is granted.
type probes struct {
	wasi.Tree
	files *files
	looks []probe
	made  []madeFolder

	grow    func() // shows what was granted since the call began
	waiting bool   // a file is being opened: a question about it is waited for
	grown   bool   // and was answered with yes
}

// madeFolder is one that is the call's alone.
type madeFolder struct {
	guest  string // its path as the guest knows it
	wanted probe  // what was refused about it
}

var _ wasi.Tree = (*probes)(nil)

// maxProbes bounds what is kept of looks and folders, which are compared with each other at the end: beyond it each is
// refused when it comes.
const maxProbes = 64

// quietly does something and returns what was refused in it.
func (p *probes) quietly(do func()) (refused []probe) {
	p.files.hold = func(l probe) { refused = append(refused, l) }
	defer func() { p.files.hold = nil }()
	do()
	return refused
}

// Stat finds what was made for the call, and nothing where nothing is granted.
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

// maxAnswers is how many questions one opening may wait for: a link may lead to another file.
const maxAnswers = 4

// Open waits for the answer to a question about the file, where calls wait, and then goes on. A file that is to be made
// in a folder which was made for the call is asked about without a look at the host.
func (p *probes) Open(name string, o wasi.OpenOptions) (f wasi.File, e wasi.Errno) {
	p.waiting = true
	defer func() { p.waiting = false }()
	if host, below := p.inMade(name); o.Create && below {
		if !p.granted(probe{tree.Write, host}) || !p.build(path.Dir(path.Clean(name))) {
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

// settle shows what an answer has just allowed, and reports whether there was one.
func (p *probes) settle() bool {
	grown := p.grown
	if p.grown = false; grown {
		p.grow()
	}
	return grown
}

// granted reports whether an effect is allowed, now or by an answer that it waits for. It is none yet: the tree counts
// it when it comes.
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

// build makes the folders that were made for the call, now that something in them is granted, and reports whether it
// may: a line that allows a file need not allow the folders on the way.
func (p *probes) build(dir string) bool {
	leads := func(m madeFolder) bool { return m.guest == dir || strings.HasPrefix(dir, m.guest+"/") }
	for _, m := range p.made {
		if !leads(m) {
			continue
		}
		mkdir := func() { p.Tree.Mkdir(m.guest) } // those that are there stay
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

// inMade is the host path of what would be in a folder that was made for the call.
func (p *probes) inMade(name string) (host string, below bool) {
	name = path.Clean(name)
	for _, m := range p.made {
		if rest, found := strings.CutPrefix(name, m.guest+"/"); found {
			return filepath.Join(m.wanted.path, filepath.FromSlash(rest)), true
		}
	}
	return "", false
}

// Mkdir makes what nobody allows for the call alone.
func (p *probes) Mkdir(name string) (e wasi.Errno) {
	if p.isMade(name) {
		return wasi.EEXIST
	}
	if len(p.made) >= maxProbes || !p.mayWant() || strings.Contains(name+"/", "/../") {
		return p.Tree.Mkdir(name)
	}
	m := madeFolder{guest: path.Clean(name)}
	if host, below := p.inMade(name); below {
		m.wanted = probe{tree.Make, host}
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

// mayWant reports whether the plugin announced that it writes files. It is the same for each path: what is made for
// the call tells nothing about the host.
func (p *probes) mayWant() bool {
	return !p.files.gate.call.ReadOnly && slices.ContainsFunc(p.files.gate.policy.wants, func(w Want) bool {
		return strings.HasPrefix(w.line(), "fs: write ")
	})
}

// Rmdir removes what was made for the call.
func (p *probes) Rmdir(name string) wasi.Errno {
	i := slices.IndexFunc(p.made, func(m madeFolder) bool { return m.guest == path.Clean(name) })
	if i < 0 {
		return p.Tree.Rmdir(name)
	}
	p.made = slices.Delete(p.made, i, i+1)
	return wasi.ESUCCESS
}

// isMade reports whether a path is a folder that was made for the call, or leads to one.
func (p *probes) isMade(name string) bool {
	name = path.Clean(name)
	return slices.ContainsFunc(p.made, func(m madeFolder) bool { return m.guest == name || strings.HasPrefix(m.guest, name+"/") })
}

// Conclude refuses what a call looked for in vain, now that it is over with err, nil for an answer: what led to nothing
// that was refused by itself. It is called once, before the answer is given. The error, an *runtime.EndError, is for a
// call with an answer: a folder that it counts on was not granted.
func (g *Gate) Conclude(err error) error {
	p := g.probes
	if p == nil || errors.Is(err, ErrSuspended) || errors.Is(err, journal.ErrOther) {
		return nil
	}
	var failed *runtime.AskError
	for _, m := range ends(p.folders(), p.refused(tree.Op.Changes)) {
		if refused := p.files.Allow(m.op, m.path); refused != nil {
			failed = asAskError(refused)
		}
	}
	for _, l := range ends(p.looks, p.refused(func(tree.Op) bool { return true })) {
		if !p.files.Visible(l.path, true) { // or it led to what was granted meanwhile
			_ = p.files.Allow(l.op, l.path) // it is recorded
		}
	}
	if failed == nil {
		return nil
	}
	return &runtime.EndError{Kind: failed.Kind, Message: failed.Message, Err: failed}
}

// folders are those of the call's own that are still not allowed: one below may be, by a line that does not allow those
// on the way to it. Those that are allowed by now are made.
func (p *probes) folders() (all []probe) {
	for _, m := range p.made {
		if !p.files.may(m.wanted) {
			all = append(all, m.wanted)
			continue
		}
		p.quietly(func() { p.Tree.Mkdir(m.guest) }) // not where one on the way is refused, which fails the call
	}
	return all
}

// refused is what was refused by itself, of some operations.
func (p *probes) refused(which func(tree.Op) bool) (all []probe) {
	for _, r := range p.files.refused {
		if which(r.op) {
			all = append(all, r)
		}
	}
	return all
}

// ends are the paths of which none leads to another, or to one of those that were refused, each once.
func ends(list, refused []probe) (left []probe) {
	for i, l := range list {
		same := func(o probe) bool { return o.path == l.path }
		leads := func(o probe) bool { return protected.Below(o.path, l.path) }
		deeper := func(o probe) bool { return !same(o) && leads(o) }
		if !slices.ContainsFunc(list[:i], same) && !slices.ContainsFunc(list, deeper) && !slices.ContainsFunc(refused, leads) {
			left = append(left, l)
		}
	}
	return left
}
