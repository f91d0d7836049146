package landing

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// Prefix begins the names of temporaries.
const Prefix = ".sallyport-"

// ErrConflict is in the chain of a *PathError whose path somebody else changed.
var ErrConflict = errors.New("somebody else changed it")

// ErrOwner is in the chain of a *PathError whose file belongs to another user: replacing it would take it
// away from them.
var ErrOwner = errors.New("it belongs to another user, whom a new file would not keep")

// PathError says which path stopped a landing. Nothing of the set has landed.
type PathError struct {
	Path string
	Err  error
}

// Error is the path and the cause.
func (e *PathError) Error() string { return fmt.Sprintf("%s: %v", e.Path, e.Err) }

// Unwrap returns the cause.
func (e *PathError) Unwrap() error { return e.Err }

// Change is what is to become of one path. Exactly one of Put, Remove and Touch is meant.
type Change struct {
	Folder *os.Root // that holds the name; it stays the caller's
	Path   string   // absolute, without links
	Name   string   // in Folder

	Put    *Entry // is to be there
	Remove bool   // nothing is to be there
	Touch  *Times // only the times change

	// Was is what the call found there, nil for nothing. With Check it is a conflict if there is something
	// else by now.
	Was   fs.FileInfo
	Check bool
}

// Times are set where they are not nil.
type Times struct{ Access, Modify *time.Time }

// Entry is a file, a folder with all in it, or a symbolic link. Entries that are one file with several names
// are one pointer.
type Entry struct {
	Dir    bool
	Target string // of a link; "" is none

	Content io.ReaderAt // of a file, Size bytes; nil if From has it
	Size    int64
	From    *Source // the file that is moved here

	Like     fs.FileInfo // whose mode and owner it gets; nil is a new one's
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
	Was    fs.FileInfo // it must still be this, unchanged
}

// changed says whether a file is another one, or has another content, than it was.
func changed(was, now fs.FileInfo) bool {
	if was == nil || now == nil {
		return was != now
	}
	if !os.SameFile(was, now) || was.Mode().Type() != now.Mode().Type() {
		return true
	}
	return !was.IsDir() && (was.Size() != now.Size() || !was.ModTime().Equal(now.ModTime()))
}

// stat is what is at a name; nil for nothing.
func stat(root *os.Root, name string) (fs.FileInfo, error) {
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return info, err
}

// check finds changes of others.
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
