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
	out := &Set{lines: s.Lines()}
	for _, c := range s.ceilings() {
		out.ceiling = append(out.ceiling, c.At(plugin, folder))
	}
	for i := range out.lines {
		if r, ok := out.lines[i].rule.(placed); ok {
			out.lines[i].rule = r.at(plugin, folder)
		}
	}
	return out
}

func (r *netRule) at(plugin, _ string) rule {
	out := *r
	out.host, out.path, out.query = r.host.name(plugin), r.path.name(plugin), named(r.query, plugin)
	return &out
}

func (r *fsRule) at(plugin, folder string) rule {
	out := *r
	out.path = r.path.name(plugin)
	if r.base == workspace && folder != "" {
		out.replaceBase(literals(steps(folder)))
	}
	out.folded = out.path.fold()
	return &out
}

// replaceBase replaces the base of the pattern by a folder.
func (r *fsRule) replaceBase(folder pattern) {
	r.base, r.folder, r.path = "", len(folder), slices.Concat(folder, r.path)
	r.folded = r.path.fold()
}

// startsAt reports whether the line is an fs line with that base.
func (g *Grant) startsAt(b base) bool {
	r := g.fs()
	return r != nil && r.base == b
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
func (l Lines) UsesWorkspace() (line int, uses bool) {
	for _, g := range l {
		if g.startsAt(workspace) {
			return g.Line, true
		}
	}
	return 0, false
}

// NeedsRoots reports whether lines depend on the client's folders.
func (l Lines) NeedsRoots() bool {
	return slices.ContainsFunc(l, func(g Grant) bool { return g.startsAt(roots) })
}

// maxRoots is the maximum number of client folders that are used, since each produces a line.
const maxRoots = 64

// WithRoots returns the set with {roots} replaced by absolute paths, limited to the patterns in within. Without
// folders, lines with {roots} are removed.
func (s *Set) WithRoots(folders []string) *Set {
	out := &Set{ceiling: s.ceilings()}
	for _, g := range s.all() {
		if !g.startsAt(roots) {
			out.lines = append(out.lines, g)
			continue
		}
		for _, folder := range folders[:min(len(folders), maxRoots)] {
			if path.IsAbs(toSlash(folder)) || isDrive(folder) {
				line, r := g, *g.fs()
				r.replaceBase(allBound(steps(folder)))
				line.rule = &r
				out.lines = append(out.lines, line)
			}
		}
	}
	return out
}
