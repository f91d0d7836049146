package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// walker walks a history in the order of git log, newest commit first. With a path it returns only the commits that
// changed it, and at a merge it follows only a parent with the same content at the path, if there is one (git's
// default history simplification).
type walker struct {
	r       *repository
	path    string
	shallow map[plumbing.Hash]bool // commits at the boundary of a shallow clone, without parents
	hidden  map[plumbing.Hash]bool // commits excluded by the range
	bottom  map[plumbing.Hash]bool // ends of the excluded part
	seen    map[plumbing.Hash]bool
	queue   []*object.Commit // by commit time, newest first; equal times in the order of discovery
	entries map[plumbing.Hash]entry
}

// entry is the tree entry at the path in a commit. The zero value means none.
type entry struct {
	mode filemode.FileMode
	hash plumbing.Hash
}

func (r *repository) newWalker(path string) (*walker, error) {
	w := &walker{
		r: r, path: path, shallow: map[plumbing.Hash]bool{}, hidden: map[plumbing.Hash]bool{}, bottom: map[plumbing.Hash]bool{},
		seen: map[plumbing.Hash]bool{}, entries: map[plumbing.Hash]entry{},
	}
	all, err := r.Shallow()
	for _, h := range all {
		w.shallow[h] = true
	}
	return w, err
}

// begin queues the tops, and hides the bottoms and their ancestors.
func (w *walker) begin(tops, bottoms []*object.Commit) error {
	for _, c := range bottoms {
		w.bottom[c.Hash] = true
		if err := w.hide(c); err != nil {
			return err
		}
	}
	for _, c := range tops {
		w.push(c)
	}
	return nil
}

func (w *walker) hide(c *object.Commit) error {
	for rest := []*object.Commit{c}; len(rest) > 0; {
		c, rest = rest[len(rest)-1], rest[:len(rest)-1]
		if w.hidden[c.Hash] {
			continue
		}
		w.hidden[c.Hash] = true
		parents, err := w.parents(c)
		if err != nil {
			return err
		}
		rest = append(rest, parents...)
	}
	return nil
}

func (w *walker) push(c *object.Commit) {
	if w.seen[c.Hash] || w.hidden[c.Hash] {
		return
	}
	w.seen[c.Hash] = true
	at := len(w.queue)
	for at > 0 && w.queue[at-1].Committer.When.Unix() < c.Committer.When.Unix() {
		at--
	}
	w.queue = slices.Insert(w.queue, at, c)
}

// parents returns the parents of a commit, none at the boundary of a shallow clone.
func (w *walker) parents(c *object.Commit) ([]*object.Commit, error) {
	if w.shallow[c.Hash] {
		return nil, nil
	}
	all := make([]*object.Commit, len(c.ParentHashes))
	for i, h := range c.ParentHashes {
		p, err := object.GetCommit(w.r, h)
		if errors.Is(err, plumbing.ErrObjectNotFound) {
			return nil, fmt.Errorf("commit %s is missing, the parent of %s: the repository is not whole, or objects of it are not granted", h, short(c.Hash))
		}
		if err != nil {
			return nil, err
		}
		all[i] = p
	}
	return all, nil
}

// next returns the next commit to show, or nil at the end.
func (w *walker) next() (*object.Commit, error) {
	for len(w.queue) > 0 {
		c := w.queue[0]
		w.queue = w.queue[1:]
		parents, err := w.parents(c)
		if err != nil {
			return nil, err
		}
		same, follow, err := w.compare(c, parents)
		if err != nil {
			return nil, err
		}
		for _, p := range follow {
			w.push(p)
		}
		if !same {
			return c, nil
		}
	}
	return nil, nil
}

// compare reports whether a commit has the same entry at the path as its parents, and returns the parents to follow.
func (w *walker) compare(c *object.Commit, parents []*object.Commit) (same bool, follow []*object.Commit, err error) {
	if w.path == "" {
		return false, parents, nil
	}
	own, err := w.entry(c)
	if err != nil {
		return false, nil, err
	}
	if len(parents) == 0 {
		return own == entry{}, nil, nil
	}
	relevant, changed, changedHidden := false, false, false
	for _, p := range parents {
		other, err := w.entry(p)
		if err != nil {
			return false, nil, err
		}
		counts := !w.hidden[p.Hash] || w.bottom[p.Hash]
		relevant = relevant || counts
		switch {
		case own == other && counts:
			return true, []*object.Commit{p}, nil
		case own == other:
		case counts:
			changed = true
		default:
			changedHidden = true
		}
	}
	if relevant {
		return !changed, parents, nil
	}
	return !changedHidden, parents, nil
}

// entry returns the entry at the path in a commit.
func (w *walker) entry(c *object.Commit) (entry, error) {
	if e, ok := w.entries[c.TreeHash]; ok {
		return e, nil
	}
	t, err := c.Tree()
	if err != nil {
		return entry{}, err
	}
	found, err := w.find(t)
	if err != nil {
		return entry{}, err
	}
	w.entries[c.TreeHash] = found
	return found, nil
}

// find returns the entry at the path below a tree.
func (w *walker) find(t *object.Tree) (entry, error) {
	parts := strings.Split(w.path, "/")
	for i, name := range parts {
		at := slices.IndexFunc(t.Entries, func(e object.TreeEntry) bool { return e.Name == name })
		switch {
		case at < 0:
			return entry{}, nil
		case i == len(parts)-1:
			return entry{t.Entries[at].Mode, t.Entries[at].Hash}, nil
		case t.Entries[at].Mode != filemode.Dir:
			return entry{}, nil
		}
		next, err := object.GetTree(w.r, t.Entries[at].Hash)
		if err != nil {
			return entry{}, fmt.Errorf("the folder %s of a commit: %w", strings.Join(parts[:i+1], "/"), err)
		}
		t = next
	}
	return entry{}, nil
}
