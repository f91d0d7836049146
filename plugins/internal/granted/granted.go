// Package granted is what plugins that read files share: where the granted files begin, and what to say
// when a file is not among them.
package granted

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Root is where all paths begin.
const Root = "/"

// maxDescent is how many folders deep the first granted one is looked for.
const maxDescent = 16

// Clean makes a path absolute. A relative one is below the first granted folder; a Windows path is
// turned into the form in which it is seen here: C:\x is /c/x.
func Clean(path string) string {
	path = strings.TrimPrefix(strings.TrimSpace(path), "file://")
	if len(path) >= 2 && path[1] == ':' && (len(path) == 2 || path[2] == '\\' || path[2] == '/') {
		path = "/" + strings.ToLower(path[:1]) + strings.ReplaceAll(path[2:], `\`, "/")
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(Base(), path)
	}
	return filepath.Clean(path)
}

// Base is the first folder, from the root down, in which there is more than one folder: where what is
// granted begins, as far as can be seen.
func Base() string {
	dir := Root
	for range maxDescent {
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 1 || !entries[0].IsDir() {
			break
		}
		dir = filepath.Join(dir, entries[0].Name())
	}
	return dir
}

// Nothing tells whether there is nothing to see at all.
func Nothing() bool {
	entries, err := os.ReadDir(Root)
	return err != nil || len(entries) == 0
}

// Explain makes an error of the file system one that says what to do.
func Explain(path string, err error) error {
	switch {
	case err == nil:
		return nil
	case Nothing():
		return errors.New("no folder is granted to this plugin; its operator can grant one with a line such as\n- fs: read ~/work/**")
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s does not exist or is not granted; what is granted begins at %s", path, Base())
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s may not be used like this; to write, the operator needs a line such as\n- fs: write %s/**", path, filepath.Dir(path))
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	return fmt.Errorf("%s: %w", path, err)
}
