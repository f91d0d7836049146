// Package codecache keeps a folder of compiled machine code fit to be run: it belongs to us, nobody else can write to it,
// and it stays small. What lies in it is run outside any sandbox.
//
//	<dir>/wazero-…/…    an entry for each module, which the engine reads and writes
//	<dir>/known/<mark>  a module that was compiled in another process
//
// Any number of processes may use one folder at once: entries are written aside and renamed, and one that is gone is made
// again.
//
// This package is not promised to others; it may change with any version.
package codecache

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// known is the folder of marks.
const known = "known"

// Folder is a cache of compiled modules.
type Folder string

// Open makes a folder, with mode 0700, or makes sure that one belongs to us and nobody else can write to it.
func Open(dir string) (Folder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("cache folder: %w", err)
	}
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return "", fmt.Errorf("cache folder: %w", err)
	case !info.IsDir():
		return "", fmt.Errorf("cache folder %s: not a folder (a link is not followed)", dir)
	case !ownedByUs(info):
		return "", fmt.Errorf("cache folder %s: belongs to another user", dir)
	}
	return Folder(dir), restrict(dir, info)
}

// restrict takes the right to read from others. If they had the right to write, what is in the
// folder cannot be trusted.
func restrict(dir string, info fs.FileInfo) error {
	if !hasFileModes || info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("cache folder %s: others may write to it (mode %04o); remove it, or empty it and run chmod 700",
			dir, info.Mode().Perm())
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return fmt.Errorf("cache folder: %w", err)
	}
	return nil
}

// entries lists what the engine wrote.
func (f Folder) entries() ([]string, error) {
	return filepath.Glob(filepath.Join(string(f), "wazero-*", "*"))
}

// Empty removes every entry. A process that is reading one goes on reading it.
func (f Folder) Empty() error {
	entries, err := f.entries()
	for _, e := range entries {
		if rm := os.Remove(e); rm != nil && err == nil {
			err = rm
		}
	}
	return err
}

// Known reports whether a module was marked as compiled elsewhere: then it is in the cache, or has gone from there since.
func (f Folder) Known(mark string) bool {
	_, err := os.Lstat(filepath.Join(string(f), known, mark))
	return err == nil
}

// Mark notes that a module was compiled elsewhere.
func (f Folder) Mark(mark string) error {
	if err := os.MkdirAll(filepath.Join(string(f), known), 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(string(f), known, mark), nil, 0o600)
}
