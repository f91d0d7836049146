// Package granted finds the folders that the operator granted to a plugin, resolves paths in them, and explains
// errors for other paths.
package granted

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Root is the top of the file system.
const Root = "/"

// workspace is a folder that always exists. It is empty unless a line grants {workspace}.
const workspace = "/workspace"

// maxDescent bounds the depth at which granted folders are searched.
const maxDescent = 32

// Roots returns the topmost granted folders, in order, or the root if nothing is granted. The host also shows the
// folders above them, as traversal folders with a modification time of zero. A granted file that does not exist yet
// is represented by the last folder above it.
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
	if len(entries) == 0 && dir != workspace {
		found = []string{dir}
	}
	return found
}

// leadsOn reports whether a folder is only a traversal folder.
func leadsOn(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.ModTime().Unix() == 0
}

// begins lists the topmost granted folders in words.
func begins() string { return strings.Join(Roots(), " and ") }

// Clean makes a path absolute. A relative one is resolved below a granted folder, or as the end of a granted path. A
// Windows path is converted to the form of the sandbox: C:\x is /c/x. A path that begins with ~ is an error: plugins
// do not know the home folder.
func Clean(path string) (string, error) {
	path = strings.TrimPrefix(strings.TrimSpace(path), "file://")
	if path == "~" || strings.HasPrefix(path, "~/") {
		return "", fmt.Errorf("plugins are not told where ~ is: write the whole path in place of %s", path)
	}
	if len(path) >= 2 && path[1] == ':' && (len(path) == 2 || path[2] == '\\' || path[2] == '/') {
		path = "/" + strings.ToLower(path[:1]) + strings.ReplaceAll(path[2:], `\`, "/")
	}
	if !filepath.IsAbs(path) {
		path = below(path)
	}
	return filepath.Clean(path), nil
}

// below resolves a relative path: below the first granted folder that contains it, else as a granted path that ends
// with it, else below the first granted folder, or below the workspace if there is none.
func below(path string) string {
	all := Roots()
	for _, dir := range all {
		if holds(dir, path) {
			return filepath.Join(dir, path)
		}
	}
	path = filepath.Clean(path)
	for _, dir := range all {
		if whole, ok := joined(dir, path); ok {
			return whole
		}
	}
	return filepath.Join(append(all, workspace)[0], path)
}

// holds reports whether a folder contains a path. It lists the folder first: probing an invisible path would be
// recorded as a denial.
func holds(dir, path string) bool {
	first, _, _ := strings.Cut(filepath.Clean(path), "/")
	entries, err := os.ReadDir(dir)
	if err != nil || !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return first == "." || first == ".." || e.Name() == first }) {
		return false
	}
	_, err = os.Lstat(filepath.Join(dir, path))
	return err == nil
}

// joined overlaps a path with the end of a folder: a line with a bound argument grants exactly the path of the call,
// /work/a/b for the argument a/b. The folder must end with the whole path or, for a path that does not exist yet,
// with its beginning.
func joined(dir, path string) (string, bool) {
	if strings.HasSuffix(dir, "/"+path) {
		return dir, true
	}
	if !leadsOn(dir) {
		return "", false
	}
	parts := strings.Split(path, "/")
	for n := len(parts) - 1; n > 0; n-- {
		if strings.HasSuffix(dir, "/"+strings.Join(parts[:n], "/")) {
			return filepath.Join(dir, filepath.Join(parts[n:]...)), true
		}
	}
	return "", false
}

// Nothing reports whether no file is visible.
func Nothing() bool {
	all := Roots()
	return len(all) == 0 || len(all) == 1 && all[0] == Root && isEmpty(Root)
}

func isEmpty(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err != nil || len(entries) == 0
}

// Explain converts an error of the file system to one that explains its cause. The host adds the line that would
// allow the access.
func Explain(path string, err error) error {
	switch {
	case err == nil:
		return nil
	case Nothing():
		return errors.New("nothing that is there is granted to this plugin") // the host adds the line
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s does not exist or is not granted; grants begin at %s", path, begins())
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s cannot be used like this: it is no ordinary file, or is granted for reading only", path)
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	return fmt.Errorf("%s: %w", path, err)
}
