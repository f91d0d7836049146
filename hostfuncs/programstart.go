package hostfuncs

import (
	"io"
	"slices"

	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// A program that was not written for it cannot know that all of its calls begin with one start. A start with one of
// these effects, which are a part of each call, is given up, and each call then starts the program.
var (
	errAsksAtStart   = runtime.AskErrorf(runtime.KindDenied, "it asks for an effect while it starts")
	errFileAtStart   = runtime.AskErrorf(runtime.KindDenied, "it uses files while it starts")
	errRandomAtStart = runtime.AskErrorf(runtime.KindDenied, "it takes random numbers while it starts")
)

// calls returns the policy of the calls that begin with a start under this policy. It is p itself for any other.
func (p *Policy) calls() *Policy {
	if p.plugin.starts != nil {
		return p.plugin.starts
	}
	return p
}

// startsProgram reports whether all calls of a program will begin with the state at the end of this call.
func (g *Gate) startsProgram() bool { return g.program != nil && g.policy.plugin.starting }

// guardStart ends the start of a program at an effect that belongs to its calls.
func (g *Gate) guardStart(o *wasi.Options) {
	if !g.startsProgram() {
		return
	}
	p := g.policy.calls()
	o.Random = &seedOnly{Reader: o.Random}
	o.Tree = &unread{Tree: o.Tree, any: p.consultsAboutFiles() || slices.ContainsFunc(p.plugin.Grants.Lines(), isFile)}
}

// seedOnly is a source of random numbers for the seed of a language's runtime, which is the first read. Keys and names
// that the program makes of later ones would be the same in each call.
type seedOnly struct {
	io.Reader
	read bool
}

// Read returns once.
func (s *seedOnly) Read(b []byte) (int, error) {
	if s.read {
		runtime.Abort(errRandomAtStart)
	}
	s.read = true
	return s.Reader.Read(b)
}

// unread is a tree whose files a starting program must not find: a lookup that succeeds ends the start, but for those of
// the root and of the working directory, which are there in each call. If calls can find a file, each lookup ends it.
type unread struct {
	wasi.Tree
	any bool // calls may find something
}

func (u *unread) used(e wasi.Errno) wasi.Errno {
	if u.any || e == wasi.ESUCCESS {
		runtime.Abort(errFileAtStart)
	}
	return e
}

// Open fails, or ends the start.
func (u *unread) Open(path string, o wasi.OpenOptions) (wasi.File, wasi.Errno) {
	f, e := u.Tree.Open(path, o)
	if e == wasi.ESUCCESS && !u.any && path == "/" {
		return f, e
	}
	return f, u.used(e)
}

// Stat fails, or ends the start.
func (u *unread) Stat(path string, follow bool) (wasi.Stat, wasi.Errno) {
	s, e := u.Tree.Stat(path, follow)
	if e == wasi.ESUCCESS && !u.any && (path == "/" || path == workDir) {
		return s, e
	}
	return s, u.used(e)
}

// Mkdir fails, or ends the start.
func (u *unread) Mkdir(path string) wasi.Errno { return u.used(u.Tree.Mkdir(path)) }

// Rename fails, or ends the start.
func (u *unread) Rename(from, to string) wasi.Errno { return u.used(u.Tree.Rename(from, to)) }

// Unlink fails, or ends the start.
func (u *unread) Unlink(path string) wasi.Errno { return u.used(u.Tree.Unlink(path)) }

// Rmdir fails, or ends the start.
func (u *unread) Rmdir(path string) wasi.Errno { return u.used(u.Tree.Rmdir(path)) }

// Symlink fails, or ends the start.
func (u *unread) Symlink(target, path string) wasi.Errno { return u.used(u.Tree.Symlink(target, path)) }

// Readlink fails, or ends the start.
func (u *unread) Readlink(path string) (string, wasi.Errno) {
	target, e := u.Tree.Readlink(path)
	return target, u.used(e)
}

// Link fails, or ends the start.
func (u *unread) Link(from, to string, follow bool) wasi.Errno {
	return u.used(u.Tree.Link(from, to, follow))
}

// Chtimes fails, or ends the start.
func (u *unread) Chtimes(path string, t wasi.Times, follow bool) wasi.Errno {
	return u.used(u.Tree.Chtimes(path, t, follow))
}
