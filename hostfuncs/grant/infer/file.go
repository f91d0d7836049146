package infer

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// workspace is the name of the operator's workspace folder in lines, and seen is its path inside plugins.
const (
	workspace = "{workspace}"
	seen      = "/workspace"
)

// fileLines proposes lines for "read ~/work/a/b". Parts that follow no argument stay literal. A folder that an
// argument names is granted with everything below it.
func fileLines(rest string, places Places, values []value) (all []string) {
	var spelled []string
	op, name, _ := strings.Cut(rest, " ")
	if in, ok := places.inWorkspace(plainPath(name, places.Home)); ok {
		name = escaped(in)
	}
	segments := strings.Split(name, "/")
	plain := make([]string, len(segments))
	for i, s := range segments {
		plain[i] = unescape(s)
	}
	for _, v := range values {
		if v.text == "." {
			continue
		}
		want := strings.Split(places.short(path.Clean(v.text)), "/")
		at := indexOf(plain, want)
		if at < 0 {
			continue
		}
		binding, end := "{"+v.name+":path}", at+len(want)
		switch {
		case isWhole(want): // whole paths bind together with the folder that contains them
			at = end - 1
		case len(want) == 1:
			binding = "{" + v.name + "}"
		}
		below := ""
		switch {
		case end == len(segments)-1 && segments[end] == "*": // the names in a folder
			below = "/*"
		case end < len(segments):
			below = "/**"
		}
		if folder := strings.Join(segments[:at], "/"); !places.wide(folder) {
			all = append(all, "fs: "+op+" "+folder+"/"+binding+below)
		}
		if folder := strings.Join(segments[:end], "/"); isWhole(want) && !places.wide(folder) {
			spelled = append(spelled, "fs: "+op+" "+folder+below)
		}
	}
	all = append(all, spelled...)
	if strings.HasPrefix(name, workspace) {
		all = append(all, "fs: "+op+" "+name)
	}
	return all
}

// escaped and unescape convert a path segment to the form of a line, and back.
func escaped(name string) string {
	head, rest, below := strings.Cut(name, "/")
	if !below {
		return head
	}
	return head + "/" + strings.NewReplacer("*", "{*}", "{", "{{}", "}", "{}}").Replace(rest)
}

func unescape(s string) string {
	if s == workspace {
		return s
	}
	return strings.NewReplacer("{*}", "*", "{{}", "{", "{}}", "}", "{ }", " ").Replace(s)
}

// plainPath returns the path of a literal line.
func plainPath(name, home string) string {
	name = unescape(name)
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		return strings.TrimSuffix(home, "/") + "/" + rest
	}
	return name
}

// inWorkspace converts a path below the workspace to the form of lines.
func (p Places) inWorkspace(name string) (string, bool) {
	if p.Workspace == "" {
		return name, false
	}
	rest, ok := strings.CutPrefix(name+"/", strings.TrimSuffix(p.Workspace, "/")+"/")
	return strings.TrimSuffix(workspace+"/"+rest, "/"), ok
}

// whole converts a path of a line to a host path.
func (p Places) whole(name string) string {
	if rest, ok := strings.CutPrefix(name, workspace); ok {
		return p.Workspace + rest
	}
	if rest, ok := strings.CutPrefix(name, "~"); ok {
		return p.Home + rest
	}
	return name
}

// wide reports whether a folder is too broad to bind a call's value in: the root and the folders directly below it,
// system folders, the home folder, and its parents and siblings. There, the caller could choose among all files.
func (p Places) wide(folder string) bool {
	at, home, work := folderAt(p.whole(folder)), folderAt(p.Home), folderAt(p.Workspace)
	switch {
	case p.Home != "" && isAbove(home, at), p.Workspace != "" && (at == work || isAbove(work, at)):
		return false
	case p.Home != "" && (isAbove(at, home) || path.Dir(at) == path.Dir(home)):
		return true
	}
	drive, rest, _ := strings.Cut(at, "/")
	first, below, _ := strings.Cut(rest, "/")
	return drive != "" && !strings.HasSuffix(drive, ":") || below == "" || isSystem(first)
}

func folderAt(name string) string { return path.Clean(filepath.ToSlash(name)) }

// isSystem reports whether a folder directly below the root belongs to an operating system.
func isSystem(name string) bool {
	return strings.HasPrefix(name, "lib") || slices.Contains([]string{
		"etc", "usr", "bin", "sbin", "boot", "dev", "proc", "sys", "run", "root", "var", "snap", "nix", "gnu",
		"system", "library", "private", "applications", "windows", "program files", "program files (x86)", "programdata", "recovery",
	}, strings.ToLower(name))
}

// short converts an argument value to a path as in lines: below the workspace, given as a host or plugin path, or
// below the home folder.
func (p Places) short(name string) string {
	if in, ok := p.inWorkspace(plainPath(name, p.Home)); ok {
		return in
	}
	if rest, ok := strings.CutPrefix(name+"/", seen+"/"); ok && p.Workspace != "" {
		return strings.TrimSuffix(workspace+"/"+rest, "/")
	}
	if rest, ok := strings.CutPrefix(name, strings.TrimSuffix(p.Home, "/")+"/"); ok && p.Home != "" {
		return "~/" + rest
	}
	return name
}

// isWhole reports whether the segments form a whole path, not one relative to a folder.
func isWhole(steps []string) bool { return steps[0] == "" || steps[0] == "~" || steps[0] == workspace }

// indexOf finds segments in a path: a whole path only at its beginning, others after the first segment.
func indexOf(segments, want []string) int {
	if isWhole(want) {
		if (len(want) > 1 || want[0] == workspace) && len(want) <= len(segments) && slices.Equal(segments[:len(want)], want) {
			return 0
		}
		return -1
	}
	for i := 1; i+len(want) <= len(segments); i++ {
		if slices.Equal(segments[i:i+len(want)], want) {
			return i
		}
	}
	return -1
}
