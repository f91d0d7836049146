package infer

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
)

// Need is one line that calls needed, with its use.
type Need struct {
	Line    string
	Call    string // ID of the first call that needed it
	Tool    string // tool of that call
	Used    int    // times allowed
	Refused int    // times denied
	Tried   int    // times allowed in a dry run, without effect
	// Spare reports that it was denied, and that each such call succeeded all the same.
	Spare bool
	// Guessed reports that only the denial is known, not whether the effect followed an argument.
	Guessed bool
}

// crowd is the number of lines, differing only in their last segment, that merge into one with a star: a plugin that
// reads as many files of a folder reads the folder.
const crowd = 8

// Merge joins needs, oldest first, into the fewest lines that cover them all, sorted. A line that the plugin's lines
// already allow is not merged into a broader one that they do not. lines may be nil.
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

// add adds the calls of another need.
func (n *Need) add(other Need) {
	n.Used, n.Refused, n.Tried = n.Used+other.Used, n.Refused+other.Refused, n.Tried+other.Tried
	n.Spare, n.Guessed = n.Spare && other.Spare, n.Guessed && other.Guessed
}

// group merges needs with equal keys. line returns the merged line, or "" to leave them separate. A nil line keeps
// the first need's line. Needs with an empty key stay.
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

// pathBinding returns the key of an fs line with a {…:path} binding: the part after the literal folder, the
// operation, and the index of the plugin's line that allows it.
func (m *merging) pathBinding(n Need) string {
	op, name, ok := fileLine(n.Line)
	at := strings.Index(name, "/{args.")
	if !ok || at < 0 || !strings.Contains(name, ":path}") {
		return ""
	}
	return op + name[at:] + " " + strconv.Itoa(m.allowing(n.Line))
}

// merging is the state of one Merge.
type merging struct {
	places Places
	lines  *grant.Set
}

// stays returns the merged line, or "" if the plugin's lines allow some of its parts but not the whole.
func (m *merging) stays(same []Need, joined string) string {
	if joined == "" || m.allowed(joined) || !slices.ContainsFunc(same, func(n Need) bool { return m.allowed(n.Line) }) {
		return joined
	}
	return ""
}

func (m *merging) allowed(line string) bool { return m.allowing(line) >= 0 }

// allowing returns the index of the first line of the plugin that covers a line, or -1.
func (m *merging) allowing(line string) int {
	return slices.IndexFunc(m.lines.Lines(), func(g grant.Grant) bool { return m.places.spans(g, line) })
}

// spans reports whether a line covers another for all argument values.
func (p Places) spans(g grant.Grant, line string) bool {
	other, err := grant.ParseLine(line)
	if err != nil {
		return false
	}
	both := grant.NewSet(g, other).At("", p.Workspace).Lines()
	return both[0].Spans(both[1], grant.Places{Home: p.Home})
}

// allOfFolder returns the wildcard line of a folder with a crowd of lines, or "".
func (m *merging) allOfFolder(same []Need) string {
	all := folderOf(same[0])
	if _, name, file := fileLine(strings.TrimSuffix(all, "/*")); len(same) <= crowd || file && m.places.wide(name) {
		return ""
	}
	return m.stays(same, all)
}

// commonFolder returns the line of the deepest common folder, or "" if that folder is too broad (see wide).
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

// folderOf returns a literal line with a star as its last segment. A lone trailing ? stays.
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

// withoutMethods returns a net line without its methods, as a key for merging methods.
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

// withoutPlaces returns a line without its within option, or "" if it has none.
func withoutPlaces(n Need) string {
	head, _, cut := strings.Cut(n.Line, withinStart)
	if !cut {
		return ""
	}
	return head
}

// allPlaces returns the line for all the places, or for any if there is a crowd of them.
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
