package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// root is where all paths begin.
const root = "/"

// maxDescent is how many folders deep the first granted one is looked for.
const maxDescent = 16

// clean makes a path absolute. A relative one is below the first granted folder; a Windows path is
// turned into the form in which it is seen here: C:\x is /c/x.
func clean(path string) string {
	path = strings.TrimPrefix(strings.TrimSpace(path), "file://")
	if len(path) >= 2 && path[1] == ':' && (len(path) == 2 || path[2] == '\\' || path[2] == '/') {
		path = "/" + strings.ToLower(path[:1]) + path[2:]
	}
	path = strings.ReplaceAll(path, `\`, "/")
	if !filepath.IsAbs(path) {
		path = filepath.Join(base(), path)
	}
	return filepath.Clean(path)
}

// base is the first folder, from the root down, in which there is more than one folder: where what is
// granted begins, as far as can be seen.
func base() string {
	dir := root
	for range maxDescent {
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 1 || !entries[0].IsDir() {
			break
		}
		dir = filepath.Join(dir, entries[0].Name())
	}
	return dir
}

// nothingGranted tells whether there is nothing to see at all.
func nothingGranted() bool {
	entries, err := os.ReadDir(root)
	return err != nil || len(entries) == 0
}

// explain makes an error of the file system one that says what to do.
func explain(path string, err error) error {
	switch {
	case err == nil:
		return nil
	case nothingGranted():
		return errors.New("no folder is granted to this plugin; its operator can grant one with a line such as\n- fs: read ~/work/**")
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s does not exist or is not granted; what is granted begins at %s", path, base())
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s may not be used like this; to write, the operator needs a line such as\n- fs: write %s/**", path, filepath.Dir(path))
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	return fmt.Errorf("%s: %w", path, err)
}
