package main

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/index"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// workChanges compares a tree with the working files that git knows: those in its index, and those of the
// tree that are gone from it. Files that were never added are not compared.
func (r *repository) workChanges(from *object.Tree, path string) ([]change, error) {
	if r.work == "" {
		return nil, errors.New("a bare repository has no working files; give to")
	}
	old, err := r.treeBlobs(from, path)
	if err != nil {
		return nil, err
	}
	idx, err := r.Index()
	if err != nil {
		return nil, err
	}
	w := workTree{r: r, crlf: r.crlf()}
	var changes []change
	for _, e := range idx.Entries {
		if path != "" && !isBelow(e.Name, path) || e.Mode == filemode.Submodule || e.Stage != 0 {
			continue
		}
		c := change{old[e.Name], w.blob(e)}
		delete(old, e.Name)
		if !c.same() {
			changes = append(changes, c)
		}
	}
	for _, b := range old { // not in the index any more
		changes = append(changes, change{b, nil})
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Compare(a.path(), b.path()) })
	return changes, nil
}

// treeBlobs are all files of a tree by their path. They are not read before they are needed.
func (r *repository) treeBlobs(t *object.Tree, path string) (map[string]*blob, error) {
	blobs := map[string]*blob{}
	w := object.NewTreeWalker(t, true, nil)
	defer w.Close()
	for {
		name, e, err := w.Next()
		switch {
		case errors.Is(err, io.EOF):
			return blobs, nil
		case err != nil:
			return nil, err
		case e.Mode == filemode.Dir || e.Mode == filemode.Submodule || path != "" && !isBelow(name, path):
			continue
		}
		blobs[name] = &blob{name, e.Mode, e.Hash, func() ([]byte, error) {
			b, err := object.GetBlob(r, e.Hash)
			if err != nil {
				return nil, err
			}
			return readBlob(b)
		}}
	}
}

// workTree reads working files.
type workTree struct {
	r    *repository
	crlf bool
}

// blob is the working file of an index entry, nil if it is gone.
func (w workTree) blob(e *index.Entry) *blob {
	path := filepath.Join(w.r.work, filepath.FromSlash(e.Name))
	info, err := os.Lstat(path)
	if err != nil {
		return nil
	}
	b := &blob{path: e.Name, mode: e.Mode, hash: e.Hash}
	b.read = func() ([]byte, error) { return w.load(path, info) }
	if e.SkipWorktree || e.Size == uint32(info.Size()) && e.ModifiedAt.Equal(info.ModTime()) {
		return b // git itself trusts size and time
	}
	data, err := b.read()
	if err != nil {
		b.hash = plumbing.ZeroHash
		return b
	}
	b.hash = plumbing.ComputeHash(plumbing.BlobObject, data)
	if b.hash != e.Hash && w.crlf {
		data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
		b.hash = plumbing.ComputeHash(plumbing.BlobObject, data)
	}
	return b
}

func (w workTree) load(path string, info fs.FileInfo) ([]byte, error) {
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(path)
		return []byte(target), err
	}
	if info.Size() > maxCompared || !info.Mode().IsRegular() {
		return nil, errLarge
	}
	data, err := os.ReadFile(path)
	if err == nil && w.crlf && !isBinary(data) {
		data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	}
	return data, err
}
