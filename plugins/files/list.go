package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	sallyport "github.com/sallyport-mcp/sallyport/pdk/go"
	"github.com/sallyport-mcp/sallyport/plugins/internal/granted"
)

// maxEntries bounds a list, to keep it readable.
const maxEntries = 1000

type listArgs struct {
	Path   string `json:"path,omitempty" doc:"the folder; where the granted files begin if absent"`
	Depth  int    `json:"depth" doc:"how many levels to show" minimum:"1" maximum:"20" default:"1"`
	Hidden bool   `json:"hidden,omitempty" doc:"names that begin with a dot too"`
}

// list returns one line per entry: size, time and path, or the path with a slash for a folder.
func list(_ *sallyport.Call, a listArgs) (string, error) {
	if all := granted.Roots(); a.Path == "" && len(all) > 1 {
		return "granted:\n" + strings.Join(all, "\n"), nil
	}
	dir, err := granted.Clean(a.Path)
	if err != nil {
		return "", err
	}
	// opening the folder first makes a denial name the line that would allow it
	if f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY, 0); err == nil {
		_ = f.Close()
	} else if errors.Is(err, fs.ErrNotExist) {
		return "", granted.Explain(dir, err)
	}
	info, err := os.Stat(dir)
	if err == nil && granted.Nothing() {
		err = fs.ErrNotExist
	}
	if err != nil {
		return "", granted.Explain(dir, err)
	}
	if !info.IsDir() {
		return line(dir, info), nil
	}
	l := lister{dir: dir, depth: a.Depth, hidden: a.Hidden}
	if err := filepath.WalkDir(dir, l.visit); err != nil {
		return "", granted.Explain(dir, err)
	}
	return l.text(), nil
}

type lister struct {
	dir    string
	depth  int
	hidden bool
	lines  []string
	more   bool
}

func (l *lister) visit(path string, d fs.DirEntry, err error) error {
	if path == l.dir {
		return err
	}
	if err != nil { // a folder that cannot be opened is still listed
		return nil
	}
	if !l.hidden && strings.HasPrefix(d.Name(), ".") {
		return skip(d)
	}
	if len(l.lines) == maxEntries {
		l.more = true
		return fs.SkipAll
	}
	rel, err := filepath.Rel(l.dir, path)
	if err != nil {
		return err
	}
	info, err := d.Info()
	if err != nil { // removed meanwhile
		return nil
	}
	l.lines = append(l.lines, line(rel, info))
	if d.IsDir() && strings.Count(rel, "/")+1 >= l.depth {
		return fs.SkipDir
	}
	return nil
}

func (l *lister) text() string {
	head := l.dir + ":\n"
	if len(l.lines) == 0 {
		return head + "(empty)"
	}
	if l.more {
		l.lines = append(l.lines, fmt.Sprintf("… more than %d entries; list a folder below, or less deep", maxEntries))
	}
	return head + strings.Join(l.lines, "\n")
}

func skip(d fs.DirEntry) error {
	if d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

func line(path string, info fs.FileInfo) string {
	when := info.ModTime().UTC().Format("2006-01-02 15:04")
	switch {
	case info.IsDir():
		return fmt.Sprintf("%10s  %s  %s/", "", when, path)
	case info.Mode()&fs.ModeSymlink != 0:
		return fmt.Sprintf("%10s  %s  %s (link)", "", when, path)
	}
	return fmt.Sprintf("%10d  %s  %s", info.Size(), when, path)
}
