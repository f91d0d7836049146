package overlay

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// spot is a place in the view of the call.
type spot struct {
	jail.Spot
	node *node // the change by the call; nil if there is none
}

// was returns the host's object at a place, regardless of changes by the call.
func (s *spot) was() fs.FileInfo {
	if s.node != nil {
		return s.node.was
	}
	return s.Info
}

// there reports whether an object exists at the place.
func (s *spot) there() bool {
	if s.node != nil {
		return s.node.kind != gone
	}
	return s.Spot.There()
}

// since returns the time of the last change of the object, in nanoseconds since 1970.
func (s *spot) since() int64 {
	switch {
	case s.node != nil && s.node.since != 0:
		return withTimes(wasi.Stat{Mtime: s.node.since}, s.node.times).Mtime
	case s.Info != nil:
		return s.Info.ModTime().UnixNano()
	}
	return 0
}

func (s *spot) isDir() bool {
	if s.node != nil {
		return s.node.isDir()
	}
	return s.Spot.Dir
}

func (s *spot) isLink() bool {
	if s.node != nil {
		return s.node.kind == link
	}
	return s.Spot.Link()
}

// regular reports whether the object is a regular file.
func (s *spot) regular() bool {
	if s.node != nil {
		return s.node.kind == file
	}
	return s.Info != nil && s.Info.Mode().IsRegular()
}

// child returns the place of a name in a folder created by the call.
func (s *spot) child(name string) jail.Spot {
	return jail.Spot{Guest: path.Join(s.Guest, name), Host: filepath.Join(s.Host, name), Real: filepath.Join(s.Real, name)}
}

// sameFile reports whether both places are names of one file, for which a rename does nothing.
func sameFile(a, b *spot) bool {
	if a.node != nil && b.node != nil {
		return a.node.file != nil && a.node.file == b.node.file
	}
	return a.node == nil && b.node == nil && a.Info != nil && b.Info != nil && os.SameFile(a.Info, b.Info)
}
