package codecache

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// staleTemporary is the age at which a temporary file counts as abandoned.
	staleTemporary = time.Hour
	// staleLoads is the age at which the folder of a process of a former version counts as abandoned.
	staleLoads = 24 * time.Hour
	// touchAfter is the age at which the record of the last use, a file's mtime, is renewed.
	touchAfter = 24 * time.Hour
)

// entry is one file of the cache.
type entry struct {
	path string
	info fs.FileInfo
}

// Trim removes abandoned temporary files and, if the entries exceed max bytes, the longest unused ones until a quarter of
// max is free. Other processes may trim concurrently.
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

// Prune removes the entries that were not used for a time, and all of former versions of the program. It returns the
// number and the size of the files that it removed, and the size of those that stay.
func (f Folder) Prune(unused time.Duration) (files int, freed, left int64, err error) {
	all, left, err := f.whole()
	for _, e := range all {
		if in := filepath.Base(filepath.Dir(e.path)); (in == codes || in == modules) && time.Since(e.info.ModTime()) < unused {
			continue
		}
		if rm := os.Remove(e.path); rm != nil {
			err = errors.Join(err, rm)
			continue
		}
		files, freed, left = files+1, freed+e.info.Size(), left-e.info.Size()
		_ = os.Remove(filepath.Dir(e.path)) // a folder of a former version that is empty now; others are created again
	}
	return files, freed, left, err
}

// whole lists the entries and their total size in bytes, and removes abandoned temporary files and folders.
func (f Folder) whole() (all []entry, size int64, err error) {
	f.abandoned()
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

// abandoned removes the folders of processes that did not end by themselves.
func (f Folder) abandoned() {
	found, _ := filepath.Glob(filepath.Join(string(f), formerLoads))
	for _, dir := range found {
		if info, err := os.Lstat(dir); err == nil && info.IsDir() && time.Since(info.ModTime()) > staleLoads {
			_ = os.RemoveAll(dir)
		}
	}
}

// touch records the use of a file.
func touch(path string, info fs.FileInfo) {
	if now := time.Now(); now.Sub(info.ModTime()) > touchAfter {
		_ = os.Chtimes(path, now, now) // on failure it may be removed, and made again
	}
}
