package denylist

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// identity identifies a file regardless of its names.
type identity struct{ device, file uint64 }

// maxInside is the maximum number of files that a Guard examines in protected folders. Beyond it every hard-linked
// file is treated as protected.
const maxInside = 1 << 16

// shares reports whether path is a hard link of a file in a protected folder. Those folders are scanned at most once
// in a call, and only for a path that has several hard links.
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

// look records the hard-linked files in the protected folders. It examines at most left entries.
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
		return nil // an entry that cannot be read has no usable name
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
