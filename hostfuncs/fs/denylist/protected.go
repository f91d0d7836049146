// Package denylist tells which paths no grant reaches, by whatever name: who may write the host's own files could grant
// itself the rest.
//
//	paths := protected.New([]string{"/home/me/.config/sallyport", "/home/me/.claude.json.bak-*"})
//	guard := paths.Guard() // for one call
//	guard.Covers("/home/me/link/config.yaml")
//
// This package is internal to Sallyport: it is not promised to others.
package denylist

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Paths are those that no grant reaches: as they were given, with links resolved, and each link on the way from one to the
// other. One that ends in * is every path that begins so, in the same folder.
type Paths []string

// maxHops is how many links lead from one path to another, as on Linux.
const maxHops = 40

// New returns the paths and where links lead from them. They need not exist.
func New(paths []string) Paths {
	var all Paths
	for _, p := range paths {
		abs, err := filepath.Abs(p)
		if err != nil {
			continue // there is no working folder, and then no relative path either
		}
		at := abs
		for range maxHops {
			if all = append(all, at); !all.follow(&at) {
				break
			}
		}
		if real, err := resolve(abs); err == nil {
			all = append(all, real)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// follow goes from a link to the path that it names, and adds the link by its name without links; false if there is none.
func (p *Paths) follow(at *string) bool {
	target, err := os.Readlink(*at)
	if err != nil {
		return false
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(*at)); err == nil {
		*at = filepath.Join(dir, filepath.Base(*at))
		*p = append(*p, *at)
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(*at), target)
	}
	*at = target
	return true
}

// resolve follows the links of a path; of one that ends in * those of its folder.
func resolve(path string) (string, error) {
	if !strings.HasSuffix(path, "*") {
		return filepath.EvalSymlinks(path)
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	return filepath.Join(dir, filepath.Base(path)), err
}

// names reports whether a protected path is this one, in any case.
func names(p, path string) bool {
	begin, many := strings.CutSuffix(p, "*")
	if !many || len(path) < len(begin) {
		return strings.EqualFold(p, path)
	}
	return strings.EqualFold(begin, path[:len(begin)]) && !strings.ContainsRune(path[len(begin):], filepath.Separator)
}

// Guard compares paths with the protected ones during one call: by name, and by device and inode, so
// that no other name of a folder or of a file in it leads around it. What it learns it keeps for the call;
// it serves one goroutine.
type Guard struct {
	paths Paths

	loaded bool
	own    []fs.FileInfo // the protected paths that exist
	above  []fs.FileInfo // the folders they lie in
	known  map[string]bool
	inside map[identity]bool // files of several names in protected folders; nil before somebody asks
	unsure bool              // there are too many to know them all
}

// Guard returns one for a call.
func (p Paths) Guard() *Guard { return &Guard{paths: p} }

// maxKnown bounds what a Guard keeps about folders.
const maxKnown = 4096

func (g *Guard) load() {
	if g.loaded {
		return
	}
	g.loaded, g.known = true, map[string]bool{}
	seen := map[string]bool{}
	for _, p := range g.paths {
		if info, err := os.Stat(p); err == nil {
			g.own = append(g.own, info)
		}
		for dir := filepath.Dir(p); !seen[dir]; dir = filepath.Dir(dir) {
			seen[dir] = true
			if info, err := os.Stat(dir); err == nil {
				g.above = append(g.above, info)
			}
		}
	}
}

// Covers reports whether path is a protected one or lies below one.
func (g *Guard) Covers(path string) bool {
	if len(g.paths) == 0 {
		return false
	}
	g.load()
	return g.owns(path) || g.folderCovered(filepath.Dir(path)) || g.shares(path)
}

// owns reports whether path itself is a protected one, by any name; case tells nothing apart, which
// protects a little too much where it does.
func (g *Guard) owns(path string) bool {
	return slices.ContainsFunc(g.paths, func(p string) bool { return names(p, path) }) || same(path, g.own)
}

// folderCovered reports whether the folder or one above it is protected.
func (g *Guard) folderCovered(dir string) bool {
	if covered, ok := g.known[dir]; ok {
		return covered
	}
	up := filepath.Dir(dir)
	covered := g.owns(dir) || up != dir && g.folderCovered(up)
	if len(g.known) >= maxKnown {
		clear(g.known)
	}
	g.known[dir] = covered
	return covered
}

// Leads reports whether a protected path lies below path: whoever moves that folder away can put
// another in its place.
func (g *Guard) Leads(path string) bool {
	if len(g.paths) == 0 {
		return false
	}
	g.load()
	return slices.ContainsFunc(g.paths, func(p string) bool { return Below(p, path) }) || same(path, g.above)
}

func same(path string, infos []fs.FileInfo) bool {
	info, err := os.Stat(path)
	return err == nil && slices.ContainsFunc(infos, func(o fs.FileInfo) bool { return os.SameFile(info, o) })
}

// Below reports whether path is dir or lies below it, by name in any case.
func Below(path, dir string) bool {
	rel, err := filepath.Rel(strings.ToLower(dir), strings.ToLower(path))
	return err == nil && filepath.IsLocal(rel)
}
