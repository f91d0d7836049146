package extismfile

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// ErrOutside is wrapped by the error for a module that is not a file in the manifest's folder: the operator has to
// configure its path.
var ErrOutside = errors.New("it is for the operator to name such a place")

// digest parses a hash in Extism's form: SHA-256 in hex.
func digest(hash string) (string, error) {
	if hash == "" {
		return "", nil
	}
	raw, err := hex.DecodeString(hash)
	if err != nil || len(raw) != 32 {
		return "", fmt.Errorf("the manifest's hash %.80q is not a SHA-256 of 64 hex digits", hash)
	}
	return "sha256:" + hex.EncodeToString(raw), nil
}

// Module returns the absolute path of the module of the manifest at an absolute path. It must lie in the manifest's
// folder or below, also after symbolic links are resolved; a missing file is judged by its path. The error wraps
// ErrOutside if the module lies elsewhere.
func (m *Manifest) Module(manifest string) (string, error) {
	if m.Inline {
		return InlineOf(manifest), nil
	}
	if m.URL != "" {
		return "", fmt.Errorf("the manifest takes its module from %.200s: %w", m.URL, ErrOutside)
	}
	dir, path := filepath.Dir(manifest), filepath.FromSlash(m.Path)
	if strings.ContainsRune(path, 0) || !strings.EqualFold(filepath.Ext(path), ".wasm") {
		return "", fmt.Errorf("the manifest's path %.200q does not end in .wasm", m.Path)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	if !inside(dir, path) || !inside(real(dir), real(path)) {
		return "", fmt.Errorf("the manifest takes its module from %.200s, outside of its folder: %w", m.Path, ErrOutside)
	}
	return filepath.Clean(path), nil
}

// inside reports whether a path lies below a folder.
func inside(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel) && rel != "."
}

// maxLinks limits how many dangling links are followed; operating systems stop at 40 too.
const maxLinks = 40

// real resolves symbolic links, also dangling ones: a file created there later would be loaded.
func real(path string) string { return follow(path, maxLinks) }

func follow(path string, links int) string {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		return to
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	if to, err := os.Readlink(path); err == nil && links > 0 {
		if !filepath.IsAbs(to) {
			to = filepath.Join(parent, to)
		}
		return follow(to, links-1)
	}
	return filepath.Join(follow(parent, links), filepath.Base(path))
}
