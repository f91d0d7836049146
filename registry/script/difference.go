package script

import (
	"maps"
	"slices"
	"strings"
)

// FileChange is the difference between two versions of one source file, or of one package in node_modules.
type FileChange struct {
	Path  string
	Lines []Line // changed lines with two unchanged ones around them; nil for a package
	Added int    // lines
	Gone  int
}

// Line is a line of a FileChange.
type Line struct {
	Sign byte // '+', '-' or ' '; 0 stands for lines that are left out
	Text string
}

// context is the number of unchanged lines that are shown around a change.
const context = 2

// Difference compares two versions of a script line by line; nil before is an empty one. Packages are counted.
func Difference(before, after *Source) []FileChange {
	old, now := before.texts(), after.texts()
	all := maps.Clone(old)
	maps.Copy(all, now)
	changes := map[string]*FileChange{}
	for path := range all {
		if old[path] == now[path] {
			continue
		}
		lines := compare(linesOf(old[path]), linesOf(now[path]))
		name := packageOf(path)
		c := changes[name]
		if c == nil {
			c = &FileChange{Path: name}
			changes[name] = c
		}
		for _, l := range lines {
			c.Added += count(l.Sign == '+')
			c.Gone += count(l.Sign == '-')
		}
		if name == path {
			c.Lines = around(lines)
		}
	}
	var sorted []FileChange
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		sorted = append(sorted, *changes[name])
	}
	return sorted
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// texts returns the files by path.
func (s *Source) texts() map[string]string {
	texts := map[string]string{}
	if s != nil {
		for _, f := range s.Files {
			texts[f.Path] = f.Text
		}
	}
	return texts
}

// packageOf returns the folder of the package that a file belongs to; the path itself for the author's own files.
func packageOf(path string) string {
	const modules = "node_modules/"
	i := strings.LastIndex(path, modules)
	if i < 0 {
		return path
	}
	rest := strings.SplitN(path[i+len(modules):], "/", 3)
	if strings.HasPrefix(rest[0], "@") && len(rest) > 1 {
		return path[:i+len(modules)] + rest[0] + "/" + rest[1]
	}
	return path[:i+len(modules)] + rest[0]
}

func linesOf(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// maxTable bounds the table of a comparison; larger changes are shown as all lines gone and all new.
const maxTable = 4 << 20

// compare returns the lines of both versions, with the fewest changes.
func compare(a, b []string) (lines []Line) {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	lines = signed(lines, ' ', a[:head])
	lines = append(lines, middle(a[head:len(a)-tail], b[head:len(b)-tail])...)
	return signed(lines, ' ', a[len(a)-tail:])
}

func signed(lines []Line, sign byte, texts []string) []Line {
	for _, text := range texts {
		lines = append(lines, Line{sign, text})
	}
	return lines
}

// middle compares by the longest common subsequence.
func middle(a, b []string) (lines []Line) {
	if len(a)*len(b) > maxTable {
		return signed(signed(nil, '-', a), '+', b)
	}
	longest := make([][]int32, len(a)+1)
	for i := range longest {
		longest[i] = make([]int32, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				longest[i][j] = longest[i+1][j+1] + 1
			} else {
				longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			lines = append(lines, Line{' ', a[i]})
			i, j = i+1, j+1
		case longest[i+1][j] >= longest[i][j+1]:
			lines = append(lines, Line{'-', a[i]})
			i++
		default:
			lines = append(lines, Line{'+', b[j]})
			j++
		}
	}
	return signed(signed(lines, '-', a[i:]), '+', b[j:])
}

// around leaves out unchanged lines that are far from a change.
func around(lines []Line) (near []Line) {
	keep := make([]bool, len(lines))
	for i, l := range lines {
		if l.Sign != ' ' {
			for j := max(i-context, 0); j <= min(i+context, len(lines)-1); j++ {
				keep[j] = true
			}
		}
	}
	for i, l := range lines {
		switch {
		case keep[i]:
			near = append(near, l)
		case len(near) > 0 && near[len(near)-1].Sign != 0 && slices.Contains(keep[i:], true):
			near = append(near, Line{})
		}
	}
	return near
}
