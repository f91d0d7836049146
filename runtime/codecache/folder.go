// Package codecache manages a folder of compiled machine code: it verifies that only the current user owns it and can
// write to it, and bounds its size. Its files run outside any sandbox.
//
//	<dir>/wazero-…/…    an entry for each module, read and written by the engine
//	<dir>/modules/<id>  a module as it was rewritten for the compiler, with facts of it
//	<dir>/known/<mark>  a module that was compiled in a separate process
//
// Any number of processes may use one folder concurrently: entries are written to temporary files and renamed, and a
// missing entry is created again.
package codecache

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// known is the folder of marks.
const known = "known"

// Folder is the path of a cache of compiled modules.
type Folder string

// Open creates a folder with mode 0700, or verifies that an existing one is owned by the current user and not writable
// by others.
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

// restrict removes the permissions of others. If others could write, the contents are untrusted, and it fails.
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

// entries lists the files of compiled and of rewritten modules.
func (f Folder) entries() ([]string, error) {
	compiled, err := filepath.Glob(filepath.Join(string(f), "wazero-*", "*"))
	if err != nil {
		return nil, err
	}
	rewritten, err := filepath.Glob(filepath.Join(string(f), modules, "*"))
	return append(compiled, rewritten...), err
}

// Empty removes every entry. Processes with an open entry can continue to read it.
func (f Folder) Empty() error {
	entries, err := f.entries()
	for _, e := range entries {
		if rm := os.Remove(e); rm != nil && err == nil {
			err = rm
		}
	}
	return err
}

// Known reports whether a module was marked as compiled by a separate process. It is in the cache, unless it was
// removed since.
func (f Folder) Known(mark string) bool {
	_, err := os.Lstat(filepath.Join(string(f), known, mark))
	return err == nil
}

// Mark records that a module was compiled by a separate process.
func (f Folder) Mark(mark string) error {
	if err := os.MkdirAll(filepath.Join(string(f), known), 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(string(f), known, mark), nil, 0o600)
}
