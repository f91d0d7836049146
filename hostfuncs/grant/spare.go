package grant

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

// spareText lists the paths that a line must contain literally, with the reason for each.
//
//go:embed spare.txt
var spareText string

// spared is the parsed list.
type spared struct {
	groups []spareGroup
	run    [2]*spareNode // for writing: in any folder, below the home
	key    *spareNode    // for reading and writing, below the home
	git    *spareNode    // paths of a repository that may be written
	not    *spareNode    // exceptions from git
}

// spareGroup contains entries of one kind and place, with their common reason.
type spareGroup struct {
	kind, where, reason string
	entries             []string
}

// spareNode is a step of entries: a name, or a text with stars.
type spareNode struct {
	names map[string]*spareNode
	globs []spareGlob
	ends  bool // an entry ends here
}

type spareGlob struct {
	glob glob
	next *spareNode
}

// The places of an entry.
const (
	anywhere = iota
	inHome
)

// spares parses the list once.
var spares = sync.OnceValue(func() *spared {
	s := &spared{groups: readSpares(spareText), run: [2]*spareNode{{}, {}}, key: &spareNode{}, git: &spareNode{}, not: &spareNode{}}
	for _, g := range s.groups {
		to := map[string]*spareNode{"run any": s.run[anywhere], "run home": s.run[inHome], "key home": s.key, "git any": s.git, "not any": s.not}[g.kind+" "+g.where]
		for _, e := range g.entries {
			to.add(strings.Split(e, "/"))
		}
	}
	return s
})

// readSpares splits the list into its groups.
func readSpares(text string) (groups []spareGroup) {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "" || line[0] == '#':
		case strings.HasPrefix(line, "  "):
			last := &groups[len(groups)-1]
			last.entries = append(last.entries, line[2:])
		default:
			head, reason, _ := strings.Cut(line, ": ")
			kind, where, _ := strings.Cut(head, " ")
			groups = append(groups, spareGroup{kind: kind, where: where, reason: reason})
		}
	}
	return groups
}

func (n *spareNode) add(steps []string) {
	if len(steps) == 0 {
		n.ends = true
		return
	}
	n.child(steps[0]).add(steps[1:])
}

// child returns the node for one step, and creates it if there is none.
func (n *spareNode) child(step string) *spareNode {
	if n.names == nil {
		n.names = map[string]*spareNode{}
	}
	if n.names[step] == nil {
		next := &spareNode{}
		if n.names[step] = next; strings.Contains(step, "*") {
			n.globs = append(n.globs, spareGlob{splitStars(step), next})
		}
	}
	return n.names[step]
}

// match compares a path with the entries. found is the number of steps of the shortest entry that is the path or above
// it, 0 if there is none. leads reports whether entries are below the path.
func (n *spareNode) match(path []string) (found int, leads bool) {
	if n.ends {
		return 0, false
	}
	if len(path) == 0 {
		return 0, len(n.names) > 0
	}
	take := func(next *spareNode) {
		if next.ends {
			found = 1
			return
		}
		rest, on := next.match(path[1:])
		if rest > 0 && (found == 0 || rest+1 < found) {
			found = rest + 1
		}
		leads = leads || on
	}
	if next := n.names[path[0]]; next != nil {
		take(next)
	}
	for _, g := range n.globs {
		if g.glob.match(path[0]) {
			take(g.next)
		}
	}
	return found, leads
}

// needs marks the steps of a path that a line must contain literally. folded are the same in lower case.
func (p Places) needs(op Op, plain, folded []string) []need {
	needs := make([]need, len(plain))
	home := foldAll(steps(p.real(p.Home)))
	if path, ok := below(folded, home); ok && p.Home != "" {
		markHome(op, path, needs[len(folded)-len(path):])
	}
	if op == Write {
		if _, above := below(home, folded); above && p.Home != "" && len(folded) > 0 {
			needs[len(folded)-1] = needLiteral
		}
		markRun(folded, needs)
		p.markRepository(plain, folded, needs)
	}
	return needs
}

// markHome marks the paths below the home that programs use. For writing, the folders above them are marked too, so
// that they cannot be moved to an unknown path.
func markHome(op Op, path []string, needs []need) {
	lists := []*spareNode{spares().key}
	if op == Write {
		lists = append(lists, spares().run[inHome])
	}
	for _, list := range lists {
		found, leads := list.match(path)
		mark(needs[:found])
		if leads && op == Write && len(path) > 0 {
			needs[len(path)-1] = needLiteral
		}
	}
}

// markRun marks paths from which a program may later run code.
func markRun(path []string, needs []need) {
	for i := range path {
		found, _ := spares().run[anywhere].match(path[i:])
		mark(needs[i : i+found])
	}
}

// Leads reports whether a link at a path would give other names to files that programs run by themselves: paths below
// it must be literal, or it is in a repository. A decision on the link's own name and on the names in its folder is
// not enough, since the folder can be filled at any time after the link was made.
func (p Places) Leads(name string) bool {
	path := foldAll(steps(p.real(name)))
	if slices.Contains(path, ".git") {
		return true
	}
	for i := range path {
		if _, leads := spares().run[anywhere].match(path[i:]); leads {
			return true
		}
	}
	below, ok := below(path, foldAll(steps(p.real(p.Home))))
	if !ok || p.Home == "" {
		return false
	}
	_, runs := spares().run[inHome].match(below)
	_, keys := spares().key.match(below)
	return runs || keys
}

func mark(needs []need) {
	for i := range needs {
		needs[i] = needLiteral
	}
}

// markRepository marks all of a repository but its data; the folder of one as a whole, so that none that was prepared
// elsewhere can be moved there; and HEAD, without which a folder is no repository.
func (p Places) markRepository(steps, folded []string, needs []need) {
	top := slices.Index(folded, ".git")
	bare := false
	if i := p.bare(steps, top); i >= 0 {
		top, bare = i, true
	}
	last := len(folded) - 1
	if top < 0 {
		if last >= 0 && folded[last] == "head" {
			needs[last] = needLiteral
		}
		return
	}
	if n := unspared(folded[top+1:], bare); n >= 0 {
		mark(needs[top : top+1+n])
	}
}

// unspared returns the number of steps in a repository, from its first, that a line must contain literally; -1 if the
// path is data. In a bare repository HEAD must be literal.
func unspared(path []string, bare bool) int {
	if len(path) == 0 || bare && path[0] == "head" {
		return len(path)
	}
	if n, _ := spares().not.match(path); n > 0 {
		return n
	}
	if n, _ := spares().git.match(path); n == 0 {
		return 1
	}
	names := path[0] == "refs" || path[0] == "logs" // of branches, also HEAD
	for i, step := range path[1:] {
		if step == ".git" || !names && step == "head" || names && (step == "objects" || step == "commondir") {
			return i + 2
		}
	}
	return -1
}

// bare returns the index in a path of a repository folder without the name .git, -1 if there is none. Those below
// index below are not examined.
func (p Places) bare(steps []string, below int) int {
	if p.Repository == nil {
		return -1
	}
	for i := range steps {
		if i == below || i == len(steps)-1 {
			break
		}
		if folder := strings.Join(steps[:i+1], "/"); p.Repository(rooted(folder)) {
			return i
		}
	}
	return -1
}

// rooted returns the absolute path of its steps on this system.
func rooted(path string) string {
	if isDrive(path + "/") {
		return path
	}
	return "/" + path
}
