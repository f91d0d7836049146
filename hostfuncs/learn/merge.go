package learn

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
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

// Merge joins needs, the oldest first, into the fewest lines that cover them all, sorted.
func Merge(needs []Need, places Places) []Need {
	needs = group(needs, func(n Need) string { return n.Line }, nil)
	needs = group(needs, pathBinding, commonFolder)
	needs = group(needs, folderOf, func(same []Need) string {
		if len(same) <= crowd {
			return ""
		}
		return folderOf(same[0]) + "/*"
	})
	needs = group(needs, withoutPlaces, allPlaces)
	needs = group(needs, withoutMethods, allMethods)
	needs = withoutPassed(withoutIncluded(needs), places)
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

// pathBinding is what follows the literal folder of an fs line with a {…:path} in it, with the operation.
func pathBinding(n Need) string {
	op, name, ok := fileLine(n.Line)
	at := strings.Index(name, "/{args.")
	if !ok || at < 0 || !strings.Contains(name, ":path}") {
		return ""
	}
	return op + name[at:]
}

// commonFolder is the line of the deepest folder that all lie in; "" if that is the root or the home.
func commonFolder(same []Need) string {
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
	if len(common) == 0 || len(common) == 1 && common[0] != workspace {
		return ""
	}
	op, name, _ := fileLine(same[0].Line)
	return "fs: " + op + " " + strings.Join(common, "/") + name[strings.Index(name, "/{args."):]
}

func fileLine(line string) (op, name string, ok bool) {
	rest, ok := strings.CutPrefix(line, "fs: ")
	op, name, _ = strings.Cut(rest, " ")
	return op, name, ok
}

// folderOf is a literal line without its last segment.
func folderOf(n Need) string {
	net, file := strings.HasPrefix(n.Line, "net: "), strings.HasPrefix(n.Line, "fs: ")
	at := strings.LastIndexByte(n.Line, '/')
	if !net && !file || at < 0 || strings.ContainsAny(n.Line[at:], "{*?") || strings.HasSuffix(n.Line[:at], "/") || !strings.Contains(n.Line[:at], "/") {
		return ""
	}
	return n.Line[:at]
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
func allPlaces(same []Need) string {
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
		return withoutPlaces(same[0])
	}
	return withoutPlaces(same[0]) + within(places)
}
