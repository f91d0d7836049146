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

// staleTemporary is when a file that was not renamed to an entry belongs to nobody any more.
const staleTemporary = time.Hour

// entry is one file of the cache.
type entry struct {
	path string
	info fs.FileInfo
}

// Trim removes the oldest entries when there are more than so many bytes, until a quarter is free, and what was left half
// done. Other processes may do the same at once.
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

// whole lists the entries and how many bytes they have, and removes those that nobody finishes any more.
func (f Folder) whole() (all []entry, size int64, err error) {
	paths, err := f.entries()
	for _, path := range paths {
		info, err := os.Lstat(path)
		switch {
		case err != nil: // gone already
		case strings.HasSuffix(path, ".tmp") && time.Since(info.ModTime()) > staleTemporary:
			_ = os.Remove(path)
		default:
			all = append(all, entry{path, info})
			size += info.Size()
		}
	}
	return all, size, err
}
