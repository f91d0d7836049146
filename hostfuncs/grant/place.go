package grant

import (
	"path"
	"slices"
)

// Workspace is the name below / under which plugins see the folder of {workspace}.
const Workspace = "workspace"

// At returns the set for one plugin, with {plugin} and {workspace} replaced by its name and an absolute folder, in its
// ceilings too. With an empty folder, lines with {workspace} cover nothing.
func (s *Set) At(plugin, folder string) *Set {
	out := &Set{grants: s.Grants()}
	for _, c := range s.ceilings() {
		out.ceiling = append(out.ceiling, c.At(plugin, folder))
	}
	for i := range out.grants {
		g := &out.grants[i]
		g.net.host, g.net.path = g.net.host.name(plugin), g.net.path.name(plugin)
		g.net.query = named(g.net.query, plugin)
		g.fs.path = g.fs.path.name(plugin)
		if g.fs.base == workspace && folder != "" {
			at := literals(steps(folder))
			g.fs.base, g.fs.folder, g.fs.path = "", len(at), slices.Concat(at, g.fs.path)
		}
		g.fs.folded = g.fs.path.fold()
	}
	return out
}

func (p pattern) name(plugin string) pattern {
	out := slices.Clone(p)
	for i := range out {
		if out[i].plugin {
			out[i] = segment{glob: glob{plugin}}
		}
	}
	return out
}

func named(query []param, plugin string) []param {
	out := slices.Clone(query)
	for i := range out {
		if out[i].plugin {
			out[i] = param{key: out[i].key, value: glob{plugin}}
		}
	}
	return out
}

// UsesWorkspace returns the first line that needs a workspace, 0 and false if there is none.
func (s *Set) UsesWorkspace() (line int, uses bool) {
	for _, g := range s.all() {
		if g.fs.base == workspace {
			return g.Line, true
		}
	}
	return 0, false
}

// NeedsRoots reports whether lines depend on the client's folders.
func (s *Set) NeedsRoots() bool {
	return slices.ContainsFunc(s.all(), func(g Grant) bool { return g.fs.base == roots })
}

// maxRoots is the maximum number of client folders that are used, since each produces a line.
const maxRoots = 64

// WithRoots returns the set with {roots} replaced by absolute paths, limited to the patterns in within. Without
// folders, lines with {roots} are removed.
func (s *Set) WithRoots(folders []string) *Set {
	out := &Set{ceiling: s.ceilings()}
	for _, g := range s.all() {
		if g.fs.base != roots {
			out.grants = append(out.grants, g)
			continue
		}
		for _, folder := range folders[:min(len(folders), maxRoots)] {
			if path.IsAbs(toSlash(folder)) || isDrive(folder) {
				g := g
				at := allBound(steps(folder))
				g.fs.base, g.fs.folder, g.fs.path = "", len(at), slices.Concat(at, g.fs.path)
				g.fs.folded = g.fs.path.fold()
				out.grants = append(out.grants, g)
			}
		}
	}
	return out
}
