// Package denylist is the denylist of host paths that no grant can reach, by any name: a plugin that could write the
// host's own files could extend its grants.
//
//	paths := denylist.New([]string{"/home/me/.config/sallyport", "/home/me/.claude.json.bak-*"})
//	guard := paths.Guard() // for one call
//	guard.Covers("/home/me/link/config.yaml")
package denylist

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Paths are the denied paths: as given, with links resolved, and each link on the way from one to the other. One that
// ends in * denies every path with that prefix in the same folder.
type Paths []string

// maxHops is the maximum number of links from one path to another, as on Linux.
const maxHops = 40

// New returns the given paths and the targets of their links. They need not exist.
func New(paths []string) Paths {
	var all Paths
	for _, p := range paths {
		abs, err := filepath.Abs(p)
		if err != nil {
			continue // there is no working directory for a relative path
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

// follow replaces a path that is a link by its target, and adds the link's own path with the links of its folder
// resolved. It returns false if the path is no link.
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

// resolve resolves the links of a path. Of one that ends in *, it resolves those of its folder.
func resolve(path string) (string, error) {
	if !strings.HasSuffix(path, "*") {
		return filepath.EvalSymlinks(path)
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	return filepath.Join(dir, filepath.Base(path)), err
}

// names reports whether a protected path matches path, ignoring case.
func names(p, path string) bool {
	begin, many := strings.CutSuffix(p, "*")
	if !many || len(path) < len(begin) {
		return strings.EqualFold(p, path)
	}
	return strings.EqualFold(begin, path[:len(begin)]) && !strings.ContainsRune(path[len(begin):], filepath.Separator)
}

// Guard compares paths with the protected ones during one call: by name, and by device and inode, so that no alias of
// a folder or of a file in it is missed. It caches results for the call and serves one goroutine.
type Guard struct {
	paths Paths

	loaded bool
	own    []fs.FileInfo // the protected paths that exist
	above  []fs.FileInfo // their parent folders, up to the root
	known  map[string]bool
	inside map[identity]bool // hard-linked files in protected folders; nil until first used
	unsure bool              // there were too many files to examine
}

// Guard returns a guard for one call.
func (p Paths) Guard() *Guard { return &Guard{paths: p} }

// maxKnown is the maximum number of folders in the cache of a Guard.
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

// Covers reports whether path is protected or below a protected path.
func (g *Guard) Covers(path string) bool {
	if len(g.paths) == 0 {
		return false
	}
	g.load()
	return g.owns(path) || g.folderCovered(filepath.Dir(path)) || g.shares(path)
}

// owns reports whether path itself is a protected one, by any name. Case is ignored, which denies slightly too much on
// a case-sensitive file system.
func (g *Guard) owns(path string) bool {
	return slices.ContainsFunc(g.paths, func(p string) bool { return names(p, path) }) || same(path, g.own)
}

// folderCovered reports whether the folder or a parent is protected.
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

// Leads reports whether a protected path is below path: if such a folder is moved away, a new one can be put in its
// place.
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

// Below reports whether path is dir or below it, by name, ignoring case.
func Below(path, dir string) bool {
	rel, err := filepath.Rel(strings.ToLower(dir), strings.ToLower(path))
	return err == nil && filepath.IsLocal(rel)
}
