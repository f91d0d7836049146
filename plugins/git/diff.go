package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/object"

	sallyport "github.com/sallyport-mcp/sallyport/pdk/go"
)

type diffArgs struct {
	Repo    string `json:"repo,omitempty" doc:"a path in the repository; the granted folder if absent"`
	From    string `json:"from,omitempty" doc:"a commit, branch or tag, or a range: main..topic, main...topic (since they parted); HEAD if absent"`
	To      string `json:"to,omitempty" doc:"a commit, branch or tag; the working files if absent"`
	Path    string `json:"path,omitempty" doc:"only this file or folder, relative to the repository"`
	Stat    bool   `json:"stat,omitempty" doc:"only which files changed, and by how much"`
	Context int    `json:"context" doc:"unchanged lines around a change" minimum:"0" maximum:"100" default:"3"`
}

func diff(_ *sallyport.Call, a diffArgs) (string, error) {
	r, err := open(a.Repo)
	if err != nil {
		return "", err
	}
	changes, err := r.changes(a)
	if err != nil {
		return "", err
	}
	if len(changes) == 0 {
		return "no differences", nil
	}
	out := output{}
	err = writeChanges(&out, changes, a.Stat, a.Context)
	return out.String(), err
}

func (r *repository) changes(a diffArgs) ([]change, error) {
	from, to, sinceParted, err := a.ends()
	if err != nil {
		return nil, err
	}
	c, err := r.commitOf(from)
	if err != nil {
		return nil, err
	}
	if to == "" {
		tree, err := c.Tree()
		if err != nil {
			return nil, err
		}
		return r.workChanges(tree, cleanPath(a.Path))
	}
	d, err := r.commitOf(to)
	if err != nil {
		return nil, err
	}
	if sinceParted {
		if c, err = parting(c, d); err != nil {
			return nil, err
		}
	}
	return commitChanges(c, d, cleanPath(a.Path))
}

// ends splits a range into its two revisions.
func (a diffArgs) ends() (from, to string, sinceParted bool, err error) {
	from, to = a.From, a.To
	for _, dots := range []string{"...", ".."} {
		b, c, ok := strings.Cut(from, dots)
		switch {
		case ok && to != "":
			return "", "", false, errors.New("from is a range, so to must be absent")
		case ok:
			if c == "" {
				c = "HEAD"
			}
			return b, c, dots == "...", nil
		}
	}
	return from, to, false, nil
}

// parting returns the best common ancestor of two commits.
func parting(c, d *object.Commit) (*object.Commit, error) {
	bases, err := c.MergeBase(d)
	if err != nil {
		return nil, err
	}
	if len(bases) == 0 {
		return nil, fmt.Errorf("%s and %s have nothing in common", short(c.Hash), short(d.Hash))
	}
	return bases[0], nil
}

func commitChanges(c, d *object.Commit, path string) ([]change, error) {
	from, err := c.Tree()
	if err != nil {
		return nil, err
	}
	to, err := d.Tree()
	if err != nil {
		return nil, err
	}
	return treeChanges(from, to, path)
}
