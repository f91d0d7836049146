package main

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-git/go-billy/v5"
)

// tree is a read-only folder for go-git.
type tree struct{ dir string }

var _ billy.Filesystem = tree{}

func (t tree) path(name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(t.dir, name)
}

// Open opens a file for reading.
func (t tree) Open(name string) (billy.File, error) { return t.OpenFile(name, os.O_RDONLY, 0) }

// OpenFile opens a file. It fails for flags other than read-only.
func (t tree) OpenFile(name string, flag int, _ fs.FileMode) (billy.File, error) {
	if flag&(os.O_WRONLY|os.O_RDWR|os.O_CREATE|os.O_TRUNC) != 0 {
		return nil, billy.ErrReadOnly
	}
	f, err := os.Open(t.path(name))
	if err != nil {
		return nil, err
	}
	return file{f}, nil
}

// Stat returns the description of a file.
func (t tree) Stat(name string) (fs.FileInfo, error) { return os.Stat(t.path(name)) }

// Lstat returns the description of a file, without following a link.
func (t tree) Lstat(name string) (fs.FileInfo, error) { return os.Lstat(t.path(name)) }

// Readlink returns the target of a link.
func (t tree) Readlink(name string) (string, error) { return os.Readlink(t.path(name)) }

// ReadDir returns the entries of a folder.
func (t tree) ReadDir(name string) ([]fs.FileInfo, error) {
	entries, err := os.ReadDir(t.path(name))
	if err != nil {
		return nil, err
	}
	infos := make([]fs.FileInfo, 0, len(entries))
	for _, e := range entries {
		if info, err := e.Info(); err == nil { // fails for an entry that was removed meanwhile
			infos = append(infos, info)
		}
	}
	return infos, nil
}

// Join joins path elements.
func (t tree) Join(elem ...string) string { return filepath.Join(elem...) }

// Chroot returns a folder below this one.
func (t tree) Chroot(name string) (billy.Filesystem, error) { return tree{t.path(name)}, nil }

// Root returns the path of the folder.
func (t tree) Root() string { return t.dir }

// Create, Rename, Remove, MkdirAll, Symlink and TempFile fail: the folder is read-only.
func (t tree) Create(string) (billy.File, error)           { return nil, billy.ErrReadOnly }
func (t tree) Rename(string, string) error                 { return billy.ErrReadOnly }
func (t tree) Remove(string) error                         { return billy.ErrReadOnly }
func (t tree) MkdirAll(string, fs.FileMode) error          { return billy.ErrReadOnly }
func (t tree) Symlink(string, string) error                { return billy.ErrReadOnly }
func (t tree) TempFile(string, string) (billy.File, error) { return nil, billy.ErrReadOnly }

// file is an open file. Locking has no effect, since it is read-only.
type file struct{ *os.File }

func (file) Lock() error               { return nil }
func (file) Unlock() error             { return nil }
func (file) Write([]byte) (int, error) { return 0, billy.ErrReadOnly }
func (file) Truncate(int64) error      { return billy.ErrReadOnly }
