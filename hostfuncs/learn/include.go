package learn

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
)

// maxCompared bounds the lines that are compared each with each; nobody reads more.
const maxCompared = 512

// compared is a need with its line as it was read: by itself, and with any value in place of its bindings.
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

// withoutIncluded leaves out lines that say nothing beside another one, which takes over their calls.
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

// includes reports whether c allows what m does: to write is to read, a path of several steps may have one, a star
// stands for many. A line that was guessed from a refusal is included if the call's argument may have been what
// refused it.
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

// anyValue is the pattern for whatever value a binding may have.
func anyValue(binding string) string {
	if strings.Contains(binding, ":") {
		return "**"
	}
	return "*"
}

// placed writes the workspace as a folder, which it is on both sides.
func placed(line string) string { return strings.Replace(line, " "+workspace, " "+seen, 1) }

// withoutPassed leaves out folders that follow no argument and were refused alone, where the same tool needed
// something below: whoever goes there may pass.
func withoutPassed(needs []Need, places Places) []Need {
	return slices.DeleteFunc(slices.Clone(needs), func(n Need) bool {
		op, name, ok := fileLine(n.Line)
		return ok && op == "read" && n.Used+n.Tried == 0 && !strings.Contains(name, "{args.") && slices.ContainsFunc(needs, func(m Need) bool {
			_, other, ok := fileLine(m.Line)
			return ok && m.Tool == n.Tool && isAbove(places.whole(name), places.whole(other))
		})
	})
}

// Needed leaves out of what one call did the files that were only looked for on the way to others: the folders above
// one, and its name in those folders. What leads to something that is granted can be passed without a line.
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
