// Package granted is what plugins that read files share: where the granted files begin, and what to say
// when a file is not among them.
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

// Root is where all paths begin.
const Root = "/"

// workspace is a folder that is always there, with nothing in it if no line grants {workspace}.
const workspace = "/workspace"

// maxDescent is how many folders deep a granted one is looked for.
const maxDescent = 32

// Roots are the folders where what is granted begins, in order; the root alone if nothing is granted. The folders
// above them are there only to lead to them, which the host shows by a time of zero. Where a file is granted that is
// not there yet, the last folder that leads to it stands for it.
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

// leadsOn tells a folder that only leads to granted ones.
func leadsOn(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.ModTime().Unix() == 0
}

// begins says where what is granted begins.
func begins() string { return strings.Join(Roots(), " and ") }

// Clean makes a path absolute. A relative one is below a granted folder, or is the end of what is granted; a Windows
// path is turned into the form in which it is seen here: C:\x is /c/x. One that begins with ~ is an error: plugins are not
// told where the home is.
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

// below is where a relative path is: below the first granted folder that has it, else what is granted itself if
// that ends in the path, else below the first granted folder; without any, in the working folder.
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

// holds tells whether a path is below a folder. The folder is listed first: to look for what it does not show would
// be a refusal, and nothing was missing.
func holds(dir, path string) bool {
	first, _, _ := strings.Cut(filepath.Clean(path), "/")
	entries, err := os.ReadDir(dir)
	if err != nil || !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return first == "." || first == ".." || e.Name() == first }) {
		return false
	}
	_, err = os.Lstat(filepath.Join(dir, path))
	return err == nil
}

// joined lays a path over the end of a folder where the two are alike: a line with a value of the call grants the
// very path that the call is about, /work/a/b for the argument a/b. All of the path has to be there, or, of what is
// only going to be, its beginning.
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
		return errors.New("nothing that is there is granted to this plugin") // the host says what would
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
