package overlay

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/commit"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// Effect describes one change, for the report of a dry run.
type Effect struct {
	Host string
	Do   string // write, remove, mkdir, link, times
	Size int64  // of the new content of a file, in bytes
}

// Effects lists the changes, sorted by path.
func (o *Overlay) Effects() []Effect {
	var list []Effect
	for _, n := range o.changes.sorted() {
		e := Effect{Host: n.at.Host}
		switch n.kind {
		case gone:
			e.Do = "remove"
		case folder:
			e.Do = "mkdir"
		case link:
			e.Do = "link"
		case touched:
			e.Do = "times"
		case file:
			e.Do = "write"
			if n.file.data != nil {
				e.Size = n.file.data.size
			} else if n.file.at.Info != nil {
				e.Size = n.file.at.Info.Size()
			}
		}
		list = append(list, e)
	}
	return list
}

// Changes prepares the changes of the call for landing. The folders that it opens stay open until release is called.
func (o *Overlay) Changes() (changes []commit.Change, release func(), err error) {
	b := &builder{files: o.files, roots: map[string]*os.Root{}, entries: map[*inode]*commit.Entry{}, made: map[string]*commit.Entry{}}
	for _, n := range o.changes.sorted() {
		if err := b.add(n); err != nil {
			b.release()
			return nil, nil, &commit.PathError{Path: n.at.Host, Err: err}
		}
	}
	return b.changes, b.release, nil
}

// builder converts nodes to changes.
type builder struct {
	files   *files
	changes []commit.Change
	roots   map[string]*os.Root      // of existing folders, by real path
	entries map[*inode]*commit.Entry // hard links share one entry
	made    map[string]*commit.Entry // folders to be created, by real path
}

func (b *builder) release() {
	for _, r := range b.roots {
		_ = r.Close()
	}
}

// root opens the parent folder of a place. ErrConflict is returned if it was moved or removed.
func (b *builder) root(guest, real string) (*os.Root, error) {
	dir := filepath.Dir(real)
	if r := b.roots[dir]; r != nil {
		return r, nil
	}
	r, e := b.files.lower.Folder(guest)
	if e != wasi.ESUCCESS { // it was there when the call wrote
		return nil, errors.Join(commit.ErrConflict, e)
	}
	b.roots[dir] = r
	if at, err := filepath.EvalSymlinks(dir); err != nil || at != dir {
		return nil, errors.Join(commit.ErrConflict, err)
	}
	return r, nil
}

func (b *builder) add(n *node) error {
	if n.kind == file && b.untouched(n) {
		return nil
	}
	entry, err := b.entry(n)
	if err != nil {
		return err
	}
	dir, name := filepath.Split(n.at.Real)
	if in := b.made[b.files.changes.key(strings.TrimSuffix(dir, string(filepath.Separator)))]; in != nil {
		if entry != nil {
			in.Children = append(in.Children, commit.Child{Name: name, Entry: entry})
		}
		return nil
	}
	c := commit.Change{Path: n.at.Real, Name: name, Put: entry, Was: n.was}
	if c.Folder, err = b.root(n.at.Guest, n.at.Real); err != nil {
		return err
	}
	switch {
	case n.kind == gone:
		c.Remove = true
		c.Check = n.was.Mode().IsRegular() && b.files.knew(n)
	case n.kind == touched:
		c.Touch = timesOf(n.times)
	case n.kind == file && n.file.data == nil && n.file.lower != "" && b.files.changes.key(n.file.at.Real) == b.files.changes.key(n.at.Real):
		c.Put, c.Touch = nil, timesOf(n.file.times)
	default:
		c.Check = n.sure || n.kind == file && b.files.knew(n)
	}
	b.changes = append(b.changes, c)
	return nil
}

// untouched reports whether the file of the host already equals the node.
func (b *builder) untouched(n *node) bool {
	in := n.file
	return in.data == nil && in.lower != "" && in.times == (wasi.Times{}) && b.files.changes.key(in.at.Real) == b.files.changes.key(n.at.Real)
}

// entry returns the object to create at a node; nil for a removal.
func (b *builder) entry(n *node) (*commit.Entry, error) {
	switch n.kind {
	case folder:
		e := &commit.Entry{Dir: true, Times: *timesOf(n.times)}
		b.made[b.files.changes.key(n.at.Real)] = e
		return e, nil
	case link:
		return &commit.Entry{Target: n.target}, nil
	case file:
		return b.file(n.file)
	}
	return nil, nil
}

func (b *builder) file(in *inode) (*commit.Entry, error) {
	if e := b.entries[in]; e != nil {
		return e, nil
	}
	e := &commit.Entry{Times: *timesOf(in.times)}
	b.entries[in] = e
	if in.lower != "" {
		e.Like = in.at.Info
	}
	if in.data != nil {
		e.Content, e.Size = in.data, in.data.size
		return e, nil
	}
	root, err := b.root(in.lower, in.at.Real)
	if err != nil {
		return nil, err
	}
	e.From = &commit.Source{Folder: root, Name: filepath.Base(in.at.Real), Path: in.at.Real, Was: in.at.Info}
	return e, nil
}

func timesOf(t wasi.Times) *commit.Times {
	return &commit.Times{Access: timeOf(t.Atime), Modify: timeOf(t.Mtime)}
}

func timeOf(ns *int64) *time.Time {
	if ns == nil {
		return nil
	}
	t := time.Unix(0, *ns)
	return &t
}
