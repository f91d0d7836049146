package denylist

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// identity tells files apart, whatever their names.
type identity struct{ device, file uint64 }

// maxInside bounds the files that a Guard looks at in protected folders. With more, a file of several names is taken
// for one of them.
const maxInside = 1 << 16

// shares reports whether path is a second name of a file in a protected folder. Only for a file that has several names
// are those folders looked through, once in a call.
func (g *Guard) shares(path string) bool {
	id, several := identify(path)
	if !several {
		return false
	}
	if g.inside == nil {
		g.look(maxInside)
	}
	return g.unsure || g.inside[id]
}

// look notes the files of several names in the protected folders, of which it looks at so many entries.
func (g *Guard) look(left int) {
	g.inside = map[identity]bool{}
	note := func(path string, entry fs.DirEntry, err error) error {
		if left--; left < 0 {
			g.unsure = true
			return fs.SkipAll
		}
		if err == nil && entry.Type().IsRegular() {
			if id, several := identify(path); several {
				g.inside[id] = true
			}
		}
		return nil // what cannot be read has no name that could be
	}
	for _, p := range g.paths {
		if !strings.HasSuffix(p, "*") {
			_ = filepath.WalkDir(p, note)
			continue
		}
		entries, _ := os.ReadDir(filepath.Dir(p))
		for _, entry := range entries {
			if path := filepath.Join(filepath.Dir(p), entry.Name()); names(p, path) {
				_ = note(path, entry, nil)
			}
		}
	}
}
