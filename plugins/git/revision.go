package main

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// refPlaces are the places of a short ref name, in git's order.
var refPlaces = []string{"%s", "refs/%s", "refs/tags/%s", "refs/heads/%s", "refs/remotes/%s", "refs/remotes/%s/HEAD"}

// minPrefix is the minimum length of an abbreviated hash, as in git.
const minPrefix = 4

// resolve returns the object that a revision names: a branch, tag, HEAD, @ or a full or abbreviated hash, followed by
// any number of ^, ^2, ~3, ^{commit} and ^{tree}.
func (r *repository) resolve(rev string) (plumbing.Hash, error) {
	name, steps := rev, ""
	if i := strings.IndexAny(rev, "^~"); i >= 0 {
		name, steps = rev[:i], rev[i:]
	}
	h, err := r.named(name)
	if err != nil {
		return h, err
	}
	for steps != "" {
		if h, steps, err = r.step(h, steps); err != nil {
			return h, fmt.Errorf("%s: %w", rev, err)
		}
	}
	return h, nil
}

func (r *repository) named(name string) (plumbing.Hash, error) {
	if name == "@" || name == "" {
		name = "HEAD"
	}
	if plumbing.IsHash(name) {
		return plumbing.NewHash(name), nil
	}
	for _, place := range refPlaces {
		ref, err := storer.ResolveReference(r, plumbing.ReferenceName(fmt.Sprintf(place, name)))
		if err == nil {
			return ref.Hash(), nil
		}
	}
	if name == "HEAD" {
		return plumbing.ZeroHash, errors.New("there is no commit yet, or the branch is not granted: it is in .git/refs and .git/packed-refs")
	}
	return r.abbreviated(name)
}

// abbreviated finds an object by the beginning of its hash.
func (r *repository) abbreviated(name string) (plumbing.Hash, error) {
	unknown := fmt.Errorf("there is no branch, tag or commit %q; the refs tool lists them", name)
	even := name[:len(name)&^1]
	prefix, err := hex.DecodeString(even)
	if err != nil || len(name) < minPrefix || len(name) > 40 {
		return plumbing.ZeroHash, unknown
	}
	candidates, err := r.HashesWithPrefix(prefix)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	found := map[plumbing.Hash]bool{}
	for _, h := range candidates {
		if strings.HasPrefix(h.String(), strings.ToLower(name)) {
			found[h] = true
		}
	}
	for h := range found {
		if len(found) == 1 {
			return h, nil
		}
	}
	if len(found) > 1 {
		return plumbing.ZeroHash, fmt.Errorf("%s is the beginning of %d objects; give more of it", name, len(found))
	}
	return plumbing.ZeroHash, unknown
}

// step applies the first ^, ^n, ~n or ^{type} of steps, and returns the rest.
func (r *repository) step(h plumbing.Hash, steps string) (plumbing.Hash, string, error) {
	if rest, ok := strings.CutPrefix(steps, "^{"); ok {
		kind, rest, ok := strings.Cut(rest, "}")
		if !ok {
			return h, "", errors.New("a { without }")
		}
		h, err := r.peelTo(h, kind)
		return h, rest, err
	}
	sign, rest := steps[0], steps[1:]
	digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
	n := 1
	if digits > 0 {
		var err error
		if n, err = strconv.Atoi(rest[:digits]); err != nil {
			return h, "", err
		}
	}
	rest = rest[digits:]
	if rest != "" && rest[0] != '^' && rest[0] != '~' {
		return h, "", fmt.Errorf("%q is not understood", rest)
	}
	h, err := r.ancestor(h, sign, n)
	return h, rest, err
}

// ancestor returns the nth parent for ^, and the nth ancestor along first parents for ~.
func (r *repository) ancestor(h plumbing.Hash, sign byte, n int) (plumbing.Hash, error) {
	c, err := r.commit(h)
	if err != nil {
		return h, err
	}
	if n == 0 {
		return c.Hash, nil
	}
	if sign == '^' {
		if n > len(c.ParentHashes) {
			return h, fmt.Errorf("commit %s has %d parents", short(c.Hash), len(c.ParentHashes))
		}
		return c.ParentHashes[n-1], nil
	}
	for range n {
		if len(c.ParentHashes) == 0 {
			return h, errors.New("the history is not that long")
		}
		if c, err = r.commit(c.ParentHashes[0]); err != nil {
			return h, err
		}
	}
	return c.Hash, nil
}

func (r *repository) peelTo(h plumbing.Hash, kind string) (plumbing.Hash, error) {
	switch kind {
	case "commit":
		c, err := r.commit(h)
		if err != nil {
			return h, err
		}
		return c.Hash, nil
	case "tree":
		c, err := r.commit(h)
		if err != nil {
			return h, err
		}
		return c.TreeHash, nil
	case "":
		return r.peel(h)
	}
	return h, fmt.Errorf("^{%s} is not understood", kind)
}

// maxTags bounds a chain of tags of tags.
const maxTags = 16

// peel follows tags to their target.
func (r *repository) peel(h plumbing.Hash) (plumbing.Hash, error) {
	for range maxTags {
		t, err := object.GetTag(r, h)
		if errors.Is(err, plumbing.ErrObjectNotFound) {
			return h, nil
		}
		if err != nil {
			return h, err
		}
		h = t.Target
	}
	return h, errors.New("too many tags of tags")
}

// commit reads a commit, given by itself or by a tag.
func (r *repository) commit(h plumbing.Hash) (*object.Commit, error) {
	h, err := r.peel(h)
	if err != nil {
		return nil, err
	}
	c, err := object.GetCommit(r, h)
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return nil, fmt.Errorf("%s is not a commit of this repository, or lies beyond a shallow clone", short(h))
	}
	return c, err
}

// commitOf reads the commit of a revision. An empty one means HEAD.
func (r *repository) commitOf(rev string) (*object.Commit, error) {
	h, err := r.resolve(rev)
	if err != nil {
		return nil, err
	}
	return r.commit(h)
}

func short(h plumbing.Hash) string { return h.String()[:10] }
