package runtime

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tetratelabs/wazero"
)

// openCache opens the folder of compiled machine code, or a cache in memory if dir is empty. Any
// number of processes may use one folder at once: entries are written aside and renamed.
func openCache(dir string) (wazero.CompilationCache, error) {
	if dir == "" {
		return wazero.NewCompilationCache(), nil
	}
	if err := privateFolder(dir); err != nil {
		return nil, err
	}
	c, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return nil, fmt.Errorf("cache folder: %w", err)
	}
	return c, nil
}

// privateFolder makes sure that dir is a folder of ours that nobody else can write. What lies in it
// is run as machine code, outside any sandbox.
func privateFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("cache folder: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("cache folder: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("cache folder %s: not a folder (a link is not followed)", dir)
	}
	if !ownedByUs(info) {
		return fmt.Errorf("cache folder %s: belongs to another user", dir)
	}
	return restrict(dir, info)
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

// emptyCache removes every entry. A process that is reading one goes on reading it.
func emptyCache(dir string) error {
	entries, err := filepath.Glob(filepath.Join(dir, "wazero-*", "*"))
	for _, e := range entries {
		if rm := os.Remove(e); rm != nil && err == nil {
			err = rm
		}
	}
	return err
}
