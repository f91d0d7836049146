// Package fstest provides helpers for tests of host files.
package fstest

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// List lists a folder of the host at all depths, sorted: "name=content", "folder/", "link->target".
func List(t testing.TB, dir string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		switch {
		case d.IsDir():
			list = append(list, name+"/")
		case d.Type()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(path)
			list = append(list, name+"->"+target)
		default:
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			list = append(list, name+"="+string(text))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(list)
	return list
}
