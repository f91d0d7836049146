package script

import (
	"fmt"
	"maps"
	"path"
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
	if before != nil && before.Entry != after.Entry {
		old[after.Entry] = fmt.Sprintf("(the script is %q)\n", before.Entry) + old[after.Entry]
		now[after.Entry] = fmt.Sprintf("(the script is %q)\n", after.Entry) + now[after.Entry]
	}
	all := maps.Clone(old)
	maps.Copy(all, now)
	changes := map[string]*FileChange{}
	for file := range all {
		if old[file] == now[file] {
			continue
		}
		lines := compare(linesOf(old[file]), linesOf(now[file]))
		name := packageOf(file)
		c := changes[name]
		if c == nil {
			c = &FileChange{Path: name}
			changes[name] = c
		}
		for _, l := range lines {
			c.Added += count(l.Sign == '+')
			c.Gone += count(l.Sign == '-')
		}
		if name == file {
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

// texts returns the files by path. Behind a file are the imports that lead to other files than their words: a container
// has the words and the files apart, and its author can have made it by hand.
func (s *Source) texts() map[string]string {
	texts := map[string]string{}
	if s == nil {
		return texts
	}
	for _, f := range s.Files {
		texts[f.Path] = f.Text
		for _, words := range slices.Sorted(maps.Keys(f.Imports)) {
			if to := f.Imports[words]; !leads(path.Dir(f.Path), words, to) {
				texts[f.Path] = fmt.Sprintf("%s\n(import %q is %q)\n", strings.TrimSuffix(texts[f.Path], "\n"), words, to)
			}
		}
	}
	return texts
}

// leads reports whether an import in a folder leads to the file that its words name, as usual resolution does.
func leads(dir, words, to string) bool {
	if !strings.HasPrefix(words, "./") && !strings.HasPrefix(words, "../") && words != "." && words != ".." {
		return strings.Contains("/"+to, "/node_modules/"+packageName(words)+"/")
	}
	stem := path.Join(dir, words)
	if stem == "." {
		return strings.HasPrefix(to, "index.")
	}
	for _, extension := range []string{".js", ".mjs", ".cjs"} { // "./x.js" may be x.ts
		if name, ok := strings.CutSuffix(stem, extension); ok && path.Ext(to) != "" && strings.TrimSuffix(to, path.Ext(to)) == name {
			return true
		}
	}
	return to == stem || strings.HasPrefix(to, stem+"/") || strings.TrimSuffix(to, path.Ext(to)) == stem
}

// packageName returns the package of an import: the first part of its words, or two with a scope.
func packageName(words string) string {
	parts := strings.SplitN(words, "/", 3)
	if strings.HasPrefix(words, "@") && len(parts) > 1 {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}

// packageOf returns the folder of the package that a file belongs to; the path itself for the author's own files.
func packageOf(file string) string {
	const modules = "node_modules/"
	i := strings.LastIndex(file, modules)
	if i < 0 {
		return file
	}
	return file[:i+len(modules)] + packageName(file[i+len(modules):])
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
