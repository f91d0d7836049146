// Package codecache manages a folder of compiled machine code: it verifies that only the current user owns it and can
// write to it, and bounds its size. Its files run outside any sandbox.
//
//	<dir>/modules/<id>  the outline of a module as it was rewritten for the compiler, with facts of it
//	<dir>/code/<mark>   the machine code of a rewritten module, compressed but for the most called
//
// Any number of processes may use one folder concurrently: entries are written to temporary files and renamed, and a
// missing entry is created again.
package codecache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// The folders in which former versions of the program kept machine code, marks of it, and the code that a process read.
const (
	former      = "wazero-*"
	formerMarks = "known"
	formerLoads = "load-*"
)

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

// entries lists the files of code and of modules, and those of former versions.
func (f Folder) entries() (all []string, err error) {
	for _, pattern := range []string{codes, modules, former, formerMarks} {
		found, err := filepath.Glob(filepath.Join(string(f), pattern, "*"))
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// RemoveCode removes the machine code of a mark, so that it is made again.
func (f Folder) RemoveCode(mark string) error {
	err := os.RemoveAll(f.codeFile(mark))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
