package codecache

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

// staleTemporary is the age at which a temporary file counts as abandoned.
const staleTemporary = time.Hour

// entry is one file of the cache.
type entry struct {
	path string
	info fs.FileInfo
}

// Trim removes abandoned temporary files and, if the entries exceed max bytes, the oldest ones until a quarter of max
// is free. Other processes may trim concurrently.
func (f Folder) Trim(max int64) error {
	all, size, err := f.whole()
	if err != nil || size <= max {
		return err
	}
	slices.SortFunc(all, func(a, b entry) int {
		return cmp.Or(a.info.ModTime().Compare(b.info.ModTime()), strings.Compare(a.path, b.path))
	})
	for _, old := range all {
		if size <= max-max/4 {
			break
		}
		if err := os.Remove(old.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		size -= old.info.Size()
	}
	return nil
}

// whole lists the entries and their total size in bytes, and removes abandoned temporary files.
func (f Folder) whole() (all []entry, size int64, err error) {
	paths, err := f.entries()
	for _, path := range paths {
		info, err := os.Lstat(path)
		switch {
		case err != nil: // already removed
		case strings.HasSuffix(path, ".tmp") && time.Since(info.ModTime()) > staleTemporary:
			_ = os.Remove(path)
		default:
			all = append(all, entry{path, info})
			size += info.Size()
		}
	}
	return all, size, err
}
