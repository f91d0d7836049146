package learn

import (
	"path"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
)

// Folder is the line for the folder below which lie all the files that lines of one call name for reading; empty if
// there are fewer than two, or the folder is too wide to be suggested, or a star would not reach each of them: what holds
// keys is spelled out or refused.
func Folder(lines []string, p Places) string {
	if len(lines) < 2 {
		return ""
	}
	var names []string
	for _, line := range lines {
		name, is := strings.CutPrefix(line, "fs: read ")
		if name = strings.TrimSuffix(name, "/*"); !is || strings.Contains(name, "**") {
			return ""
		}
		names = append(names, name)
	}
	folder := names[0]
	for _, name := range names {
		for folder != "." && folder != "/" && name != folder && !strings.HasPrefix(name, folder+"/") {
			folder = path.Dir(folder)
		}
	}
	if !strings.ContainsAny(folder, "/") || p.wide(folder) || p.hidden(folder) {
		return ""
	}
	line, err := grant.ParseLine("fs: read " + folder + "/**")
	if err != nil {
		return ""
	}
	all := grant.NewSet(line)
	for _, name := range names {
		if one, err := grant.ParseLine("fs: read " + name); err != nil || !all.Includes(one) {
			return ""
		}
	}
	return line.String()
}

// hidden reports whether a folder is one of settings, right below the home.
func (p Places) hidden(folder string) bool {
	at := folderAt(p.whole(folder))
	return p.Home != "" && path.Dir(at) == folderAt(p.Home) && strings.HasPrefix(path.Base(at), ".")
}
