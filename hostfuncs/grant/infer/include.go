package infer

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
)

// maxCompared bounds the pairwise comparison of lines. A person reads no more.
const maxCompared = 512

// compared is a need with its parsed line: as it is, and with its bindings replaced by wildcards.
type compared struct {
	Need
	line      grant.Grant
	set, open *grant.Set
}

func comparing(n Need) compared {
	c := compared{Need: n}
	line, err := grant.ParseLine(placed(n.Line))
	if err != nil {
		return c
	}
	c.line, c.set = line, grant.NewSet(line)
	anything := bindings.ReplaceAllStringFunc(withAddress.ReplaceAllString(n.Line, "https://**"), anyValue)
	if line, err = grant.ParseLine(placed(anything)); err == nil {
		c.open = grant.NewSet(line)
	}
	return c
}

// withoutIncluded drops lines that another line covers, and adds their calls to that one.
func withoutIncluded(needs []Need, places Places) []Need {
	if len(needs) > maxCompared {
		return needs
	}
	var left []compared
	for _, n := range needs {
		left = append(left, comparing(n))
	}
	for i := 0; i < len(left); {
		by := slices.IndexFunc(left, func(c compared) bool {
			return c.Line != left[i].Line && (!c.Spare || left[i].Spare) && c.includes(&left[i], places)
		})
		if by < 0 {
			i++
			continue
		}
		left[by].add(left[i].Need)
		left = slices.Delete(left, i, i+1)
	}
	out := make([]Need, len(left))
	for i, c := range left {
		out[i] = c.Need
	}
	return out
}

// includes reports whether c covers m: write includes read, a path of several segments may have one, and a star
// matches many. A line guessed from a denial is covered if the argument in it may have caused the denial.
func (c *compared) includes(m *compared, places Places) bool {
	own, name, file := fileLine(c.Line)
	if op, other, ok := fileLine(m.Line); ok && file && (op == own || op == "read") && (name == other || name == other+"/**") {
		return true
	}
	if strings.ReplaceAll(c.Line, ":path}", "}") == m.Line {
		return true
	}
	if c.set == nil || m.set == nil {
		return false
	}
	if m.Guessed && !c.Guessed && c.Tool == m.Tool && c.open != nil && c.open.Includes(m.line) {
		return true
	}
	return c.set.Includes(m.line) || places.spans(c.line, m.Line)
}

var (
	bindings    = regexp.MustCompile(`\{args\.[^}]*\}`)
	withAddress = regexp.MustCompile(`\{args\.[^}]*:url\}( \{within: .*)?`)
)

// anyValue returns the wildcard for any value of a binding.
func anyValue(binding string) string {
	if strings.Contains(binding, ":") {
		return "**"
	}
	return "*"
}

// placed replaces the workspace by its path inside plugins.
func placed(line string) string { return strings.Replace(line, " "+workspace, " "+seen, 1) }

// withoutPassed drops folders that follow no argument and were denied alone, if the same tool needed something below
// them: a grant below a folder allows traversing it.
func withoutPassed(needs []Need, places Places) []Need {
	return slices.DeleteFunc(slices.Clone(needs), func(n Need) bool {
		op, name, ok := fileLine(n.Line)
		return ok && op == "read" && n.Used+n.Tried == 0 && !strings.Contains(name, "{args.") && slices.ContainsFunc(needs, func(m Need) bool {
			_, other, ok := fileLine(m.Line)
			return ok && m.Tool == n.Tool && isAbove(places.whole(name), places.whole(other))
		})
	})
}

// Needed drops files that one call only probed on the way to others: the parent folders of a path, and its name in
// them. A granted path can be traversed to without a line.
func Needed(call []Need, places Places) []Need {
	return slices.DeleteFunc(slices.Clone(call), func(n Need) bool {
		op, name, ok := fileLine(n.Line)
		name = places.whole(name)
		return ok && op == "read" && n.Used+n.Tried == 0 && slices.ContainsFunc(call, func(m Need) bool {
			_, other, ok := fileLine(m.Line)
			other = places.whole(other)
			return ok && (isAbove(name, other) || path.Base(name) == path.Base(other) && isAbove(path.Dir(name), path.Dir(other)))
		})
	})
}

func isAbove(folder, name string) bool {
	return strings.HasPrefix(name, strings.TrimSuffix(folder, "/")+"/") && name != folder
}
