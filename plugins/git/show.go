package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	sallyport "github.com/sallyport-mcp/sallyport/pdk/go"
)

type showArgs struct {
	Repo    string `json:"repo,omitempty" doc:"a path in the repository; the granted folder if absent"`
	Rev     string `json:"rev,omitempty" doc:"a commit, branch or tag, or one with a path: HEAD~2:src/main.go; HEAD if absent"`
	Stat    bool   `json:"stat,omitempty" doc:"of a commit only which files it changed, and by how much"`
	Path    string `json:"path,omitempty" doc:"of a commit only its changes here"`
	Context int    `json:"context" doc:"unchanged lines around a change" minimum:"0" maximum:"100" default:"3"`
	Start   int    `json:"start,omitempty" doc:"of a file the first line to show, counted from 1" minimum:"1"`
	Lines   int    `json:"lines,omitempty" doc:"of a file how many lines to show" minimum:"1"`
}

func show(_ *sallyport.Call, a showArgs) (string, error) {
	r, err := open(a.Repo)
	if err != nil {
		return "", err
	}
	rev, path, inTree := strings.Cut(a.Rev, ":")
	h, err := r.resolve(rev)
	if err != nil {
		return "", err
	}
	out := output{}
	if inTree {
		err = r.showPath(&out, h, cleanPath(path), a)
	} else {
		err = r.showObject(&out, h, a)
	}
	return out.String(), err
}

// showObject writes an object, and for a tag also its target.
func (r *repository) showObject(out *output, h plumbing.Hash, a showArgs) error {
	o, err := object.GetObject(r, h)
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return fmt.Errorf("there is no object %s in this repository", h)
	}
	if err != nil {
		return err
	}
	switch o := o.(type) {
	case *object.Tag:
		out.printf("tag %s\nTagger: %s\n\n%s\n", o.Name, o.Tagger.String(), strings.TrimSpace(o.Message))
		h, err := r.peel(o.Target)
		if err != nil {
			return err
		}
		return r.showObject(out, h, a)
	case *object.Commit:
		return r.showCommit(out, o, a)
	case *object.Tree:
		listTree(out, o)
	case *object.Blob:
		return showBlob(out, o, a)
	}
	return nil
}

// showCommit writes a commit and its difference to its first parent.
func (r *repository) showCommit(out *output, c *object.Commit, a showArgs) error {
	writeCommit(out, c, r.decorations()[c.Hash])
	to, err := c.Tree()
	if err != nil {
		return err
	}
	from := &object.Tree{}
	if parent, err := c.Parent(0); err == nil {
		if from, err = parent.Tree(); err != nil {
			return err
		}
	} else if len(c.ParentHashes) > 0 { // at the boundary of a shallow clone the parent is missing
		out.printf("(the parent %s is not here, so the changes are unknown)\n", short(c.ParentHashes[0]))
		return nil
	}
	changes, err := treeChanges(from, to, cleanPath(a.Path))
	if err != nil {
		return err
	}
	return writeChanges(out, changes, a.Stat, a.Context)
}

// treeChanges compares two trees, with rename detection, at or below the path.
func treeChanges(from, to *object.Tree, path string) ([]change, error) {
	found, err := object.DiffTreeWithOptions(context.Background(), from, to, nil)
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(c *object.Change) bool {
		return path != "" && !isBelow(c.From.Name, path) && !isBelow(c.To.Name, path)
	})
	if found, err = object.DetectRenames(found, object.DefaultDiffTreeOptions); err != nil {
		return nil, err
	}
	var changes []change
	for _, c := range found {
		changes = append(changes, change{side(c.From), side(c.To)}.split()...)
	}
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.path(), b.path()) })
	return changes, nil
}

func side(e object.ChangeEntry) *blob {
	if e.Name == "" {
		return nil
	}
	return &blob{path: e.Name, mode: e.TreeEntry.Mode, hash: e.TreeEntry.Hash, read: func() ([]byte, error) {
		f, err := e.Tree.TreeEntryFile(&e.TreeEntry)
		if err != nil {
			return nil, err
		}
		return readBlob(&f.Blob)
	}}
}

// errLarge is returned for a file that is too large to compare.
var errLarge = errors.New("too large to show")

func readBlob(b *object.Blob) ([]byte, error) {
	if b.Size > maxCompared {
		return nil, errLarge
	}
	rd, err := b.Reader()
	if err != nil {
		return nil, err
	}
	defer rd.Close()
	return io.ReadAll(rd)
}

// showPath writes a file or folder of a commit.
func (r *repository) showPath(out *output, h plumbing.Hash, path string, a showArgs) error {
	c, err := r.commit(h)
	if err != nil {
		return err
	}
	root, err := c.Tree()
	if err != nil {
		return err
	}
	if path == "" {
		listTree(out, root)
		return nil
	}
	e, err := root.FindEntry(path)
	if err != nil {
		return fmt.Errorf("commit %s has no %s", short(c.Hash), path)
	}
	return r.showObject(out, e.Hash, a)
}

func listTree(out *output, t *object.Tree) {
	for _, e := range t.Entries {
		switch e.Mode {
		case filemode.Dir:
			out.printf("%s/\n", e.Name)
		case filemode.Submodule:
			out.printf("%s @ %s (submodule)\n", e.Name, short(e.Hash))
		default:
			out.printf("%s\n", e.Name)
		}
	}
}

func showBlob(out *output, b *object.Blob, a showArgs) error {
	data, err := readBlob(b)
	if err != nil {
		return fmt.Errorf("the file has %d bytes: %w", b.Size, err)
	}
	if isBinary(data) {
		return fmt.Errorf("the file is not a text: %d bytes", b.Size)
	}
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		if n >= a.Start && (a.Lines == 0 || n < max(a.Start, 1)+a.Lines) {
			out.printf("%s", line)
		}
	}
	return nil
}
