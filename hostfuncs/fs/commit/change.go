package commit

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// Prefix is the prefix of the names of temporaries.
const Prefix = ".sallyport-"

// ErrConflict is in the chain of a *PathError if the path was changed by others.
var ErrConflict = errors.New("another program changed it")

// ErrOwner is in the chain of a *PathError if the file belongs to another user: a new file in its place would not keep
// that owner.
var ErrOwner = errors.New("it belongs to another user, whom a new file would not keep")

// PathError names the path at which a landing failed. No change of the set has landed.
type PathError struct {
	Path string
	Err  error
}

// Error returns the path and the cause.
func (e *PathError) Error() string { return fmt.Sprintf("%s: %v", e.Path, e.Err) }

// Unwrap returns the cause.
func (e *PathError) Unwrap() error { return e.Err }

// Change is the change of one path. Exactly one of Put, Remove and Touch is set.
type Change struct {
	Folder *os.Root // parent folder of the name, which the caller closes
	Path   string   // absolute, without links
	Name   string   // in Folder

	Put    *Entry // object to create
	Remove bool   // the object is removed
	Touch  *Times // only the times change

	// Was is the object that the call found there; nil for none. With Check a different object is a conflict.
	Was   fs.FileInfo
	Check bool
}

// Times are access and modification time. A nil one is not changed.
type Times struct{ Access, Modify *time.Time }

// Entry is a file, a folder with its entries, or a symbolic link. Hard links of one file are one pointer.
type Entry struct {
	Dir    bool
	Target string // of a link; empty if the entry is none

	Content io.ReaderAt // of a file, Size bytes; nil if From is set
	Size    int64
	From    *Source // existing file to move

	Like     fs.FileInfo // source of mode and owner; nil for those of a new file
	Times    Times
	Children []Child
}

// Child is an entry of a new folder.
type Child struct {
	Name  string
	Entry *Entry
}

// Source is a file of the host.
type Source struct {
	Folder *os.Root
	Name   string
	Path   string
	Was    fs.FileInfo // must be unchanged
}

// changed reports whether a file was replaced, or differs in size or modification time.
func changed(was, now fs.FileInfo) bool {
	if was == nil || now == nil {
		return was != now
	}
	if !os.SameFile(was, now) || was.Mode().Type() != now.Mode().Type() {
		return true
	}
	return !was.IsDir() && (was.Size() != now.Size() || !was.ModTime().Equal(now.ModTime()))
}

// stat returns the object at a name without following links; nil for none.
func stat(root *os.Root, name string) (fs.FileInfo, error) {
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return info, err
}

// check returns ErrConflict if others changed a path or a source.
func check(changes []Change) error {
	for i := range changes {
		c := &changes[i]
		if c.Check {
			if err := unchanged(c.Folder, c.Name, c.Path, c.Was); err != nil {
				return err
			}
		}
		if c.Put != nil {
			if err := c.Put.check(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *Entry) check() error {
	if f := e.From; f != nil {
		if err := unchanged(f.Folder, f.Name, f.Path, f.Was); err != nil {
			return err
		}
	}
	for _, c := range e.Children {
		if err := c.Entry.check(); err != nil {
			return err
		}
	}
	return nil
}

func unchanged(root *os.Root, name, path string, was fs.FileInfo) error {
	now, err := stat(root, name)
	if err != nil {
		return &PathError{path, err}
	}
	if changed(was, now) {
		return &PathError{path, ErrConflict}
	}
	return nil
}
