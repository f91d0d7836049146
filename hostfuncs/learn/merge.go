package learn

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
)

// Need is one line that calls needed.
type Need struct {
	Line    string
	Call    string // the first that needed it
	Tool    string // what was called then
	Used    int    // how often it was allowed
	Refused int    // how often it was not
	Tried   int    // how often it was allowed in a call that only tries, so that nothing was done
	// Spare says that it was refused, and that each call which was refused it succeeded all the same.
	Spare bool
	// Guessed says that only the refusal is known, not whether the effect followed an argument.
	Guessed bool
}

// crowd is how many lines that differ in their last segment alone become one with a star: a plugin that reads
// so many files of a folder reads the folder.
const crowd = 8

// Merge joins needs, the oldest first, into the fewest lines that cover them all, sorted. What one of the plugin's lines
// allows already is not joined into what none of them allows; nil is no lines.
func Merge(needs []Need, places Places, lines *grant.Set) []Need {
	m := merging{places, lines}
	needs = group(needs, func(n Need) string { return n.Line }, nil)
	needs = group(needs, m.pathBinding, m.commonFolder)
	needs = group(needs, folderOf, m.allOfFolder)
	needs = group(needs, withoutPlaces, m.allPlaces)
	needs = group(needs, withoutMethods, allMethods)
	needs = withoutPassed(withoutIncluded(needs, places), places)
	slices.SortFunc(needs, func(a, b Need) int { return cmp.Compare(a.Line, b.Line) })
	return needs
}

// add takes the calls of another need into one.
func (n *Need) add(other Need) {
	n.Used, n.Refused, n.Tried = n.Used+other.Used, n.Refused+other.Refused, n.Tried+other.Tried
	n.Spare, n.Guessed = n.Spare && other.Spare, n.Guessed && other.Guessed
}

// group makes one need of those with the same key; line says which line that has, "" leaves them alone, and a nil
// line takes the first's. What has no key stays.
func group(needs []Need, key func(Need) string, line func([]Need) string) []Need {
	groups := map[string][]Need{}
	var out []Need
	for _, n := range needs {
		if k := key(n); k != "" {
			groups[k] = append(groups[k], n)
		} else {
			out = append(out, n)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(groups)) {
		same := groups[k]
		joined := same[0].Line
		if line != nil && len(same) > 1 {
			joined = line(same)
		}
		if joined == "" {
			out = append(out, same...)
			continue
		}
		n := same[0]
		n.Line = joined
		for _, other := range same[1:] {
			n.add(other)
		}
		out = append(out, n)
	}
	return out
}

// pathBinding is what follows the literal folder of an fs line with a {…:path} in it, with the operation, and the line
// of the plugin that allows it.
func (m *merging) pathBinding(n Need) string {
	op, name, ok := fileLine(n.Line)
	at := strings.Index(name, "/{args.")
	if !ok || at < 0 || !strings.Contains(name, ":path}") {
		return ""
	}
	return op + name[at:] + " " + strconv.Itoa(m.allowing(n.Line))
}

// merging is what lines are joined by.
type merging struct {
	places Places
	lines  *grant.Set
}

// stays is the joined line; "" if some of what it joins is allowed by a line of the plugin, and all of it by none.
func (m *merging) stays(same []Need, joined string) string {
	if joined == "" || m.allowed(joined) || !slices.ContainsFunc(same, func(n Need) bool { return m.allowed(n.Line) }) {
		return joined
	}
	return ""
}

func (m *merging) allowed(line string) bool { return m.allowing(line) >= 0 }

// allowing is the first line of the plugin that allows all that a line does; -1 if there is none.
func (m *merging) allowing(line string) int {
	return slices.IndexFunc(m.lines.Grants(), func(g grant.Grant) bool { return m.places.spans(g, line) })
}

// spans reports whether a line allows all that another one does, whatever a call's values are.
func (p Places) spans(g grant.Grant, line string) bool {
	other, err := grant.ParseLine(line)
	if err != nil {
		return false
	}
	both := grant.NewSet(g, other).At("", p.Workspace).Grants()
	return both[0].Spans(both[1], grant.Places{Home: p.Home})
}

// allOfFolder is the line of a folder of which there is a crowd; "" if there is none.
func (m *merging) allOfFolder(same []Need) string {
	all := folderOf(same[0])
	if _, name, file := fileLine(strings.TrimSuffix(all, "/*")); len(same) <= crowd || file && m.places.wide(name) {
		return ""
	}
	return m.stays(same, all)
}

// commonFolder is the line of the deepest folder that all lie in; "" if that is the root, the home, or above it.
func (m *merging) commonFolder(same []Need) string {
	var common []string
	for i, n := range same {
		_, name, _ := fileLine(n.Line)
		folder := strings.Split(name[:strings.Index(name, "/{args.")], "/")
		if i == 0 {
			common = folder
		}
		shared := 0
		for shared < len(common) && shared < len(folder) && common[shared] == folder[shared] {
			shared++
		}
		common = common[:shared]
	}
	folder := strings.Join(common, "/")
	if m.places.wide(folder) {
		return ""
	}
	op, name, _ := fileLine(same[0].Line)
	return m.stays(same, "fs: "+op+" "+folder+name[strings.Index(name, "/{args."):])
}

func fileLine(line string) (op, name string, ok bool) {
	rest, ok := strings.CutPrefix(line, "fs: ")
	op, name, _ = strings.Cut(rest, " ")
	return op, name, ok
}

// folderOf is a literal line with a star for its last segment; a lone ? behind that stays.
func folderOf(n Need) string {
	net, file := strings.HasPrefix(n.Line, "net: "), strings.HasPrefix(n.Line, "fs: ")
	line, end := n.Line, ""
	if rest, lone := strings.CutSuffix(line, "?"); net && lone {
		line, end = rest, "?"
	}
	at := strings.LastIndexByte(line, '/')
	if !net && !file || at < 0 || strings.ContainsAny(line[at:], "{*?") || strings.HasSuffix(line[:at], "/") || !strings.Contains(line[:at], "/") {
		return ""
	}
	return line[:at] + "/*" + end
}

// withoutMethods is a net line as it is for any method, where they can be joined.
func withoutMethods(n Need) string {
	rest, ok := strings.CutPrefix(n.Line, "net: ")
	_, address, found := strings.Cut(rest, " ")
	if !ok || !found {
		return ""
	}
	return address
}

func allMethods(same []Need) string {
	var methods []string
	for _, n := range same {
		list, _, _ := strings.Cut(strings.TrimPrefix(n.Line, "net: "), " ")
		methods = append(methods, strings.Split(list, ",")...)
	}
	slices.Sort(methods)
	return "net: " + strings.Join(slices.Compact(methods), ",") + " " + withoutMethods(same[0])
}

// withoutPlaces is a line as it is for any of the places that it is cut to; "" if it is cut to none.
func withoutPlaces(n Need) string {
	head, _, cut := strings.Cut(n.Line, withinStart)
	if !cut {
		return ""
	}
	return head
}

// allPlaces is the line for all of the places, or where there is a crowd of them, for any.
func (m *merging) allPlaces(same []Need) string {
	var places []string
	for _, n := range same {
		_, list, _ := strings.Cut(n.Line, withinStart)
		for place := range strings.SplitSeq(strings.TrimSuffix(list, withinEnd), ", ") {
			if text, err := strconv.Unquote(place); err == nil {
				places = append(places, text)
			}
		}
	}
	slices.Sort(places)
	if places = slices.Compact(places); len(places) > crowd {
		if any := m.stays(same, withoutPlaces(same[0])); any != "" {
			return any
		}
	}
	return withoutPlaces(same[0]) + within(places)
}
