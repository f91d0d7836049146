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

// maxDescent is how many folders deep a granted one is looked for.
const maxDescent = 32

// Roots are the folders where what is granted begins, in order; none if nothing is granted. The folders
// above them are there only to lead to them, which the host shows by a time of zero.
func Roots() []string { return roots(Root, maxDescent) }

func roots(dir string, depth int) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	if depth == 0 || !leadsOn(dir) {
		return []string{dir}
	}
	var found []string
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.IsDir() {
			found = append(found, roots(path, depth-1)...)
		} else {
			found = append(found, path)
		}
	}
	return found
}

// leadsOn tells a folder that only leads to granted ones.
func leadsOn(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.ModTime().Unix() == 0
}

// begins says where what is granted begins.
func begins() string { return strings.Join(Roots(), " and ") }

// Clean makes a path absolute. A relative one is below a granted folder; a Windows path is
// turned into the form in which it is seen here: C:\x is /c/x.
func Clean(path string) string {
	path = strings.TrimPrefix(strings.TrimSpace(path), "file://")
	if len(path) >= 2 && path[1] == ':' && (len(path) == 2 || path[2] == '\\' || path[2] == '/') {
		path = "/" + strings.ToLower(path[:1]) + strings.ReplaceAll(path[2:], `\`, "/")
	}
	if !filepath.IsAbs(path) {
		path = below(path)
	}
	return filepath.Clean(path)
}

// below is where a relative path is: below the first granted folder that has it, else below the first.
func below(path string) string {
	all := Roots()
	for _, dir := range all {
		if _, err := os.Lstat(filepath.Join(dir, path)); err == nil {
			return filepath.Join(dir, path)
		}
	}
	return filepath.Join(append(all, Root)[0], path)
}

// Nothing tells whether there is nothing to see at all.
func Nothing() bool {
	all := Roots()
	return len(all) == 0 || len(all) == 1 && all[0] == Root && isEmpty(Root)
}

func isEmpty(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err != nil || len(entries) == 0
}

// Explain makes an error of the file system one that says what is the matter. What would allow it the host adds.
func Explain(path string, err error) error {
	switch {
	case err == nil:
		return nil
	case Nothing():
		return errors.New("no folder is granted to this plugin") // the host says what would
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s does not exist or is not granted; what is granted begins at %s", path, begins())
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s cannot be used like this: it is no ordinary file, or is granted for reading only", path)
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	return fmt.Errorf("%s: %w", path, err)
}
