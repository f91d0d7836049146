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
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/gitattributes"
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
	if errors.Is(err, index.ErrUnknownExtension) {
		return nil, errors.New("the repository's index is split or sparse, which is not understood; git update-index --no-split-index and git sparse-checkout reapply --no-sparse-index make it whole")
	}
	if err != nil {
		return nil, err
	}
	w := r.workTree()
	var changes []change
	for i, e := range idx.Entries {
		if path != "" && !isBelow(e.Name, path) {
			continue
		}
		if e.Stage != 0 && i > 0 && idx.Entries[i-1].Name == e.Name { // another stage of a merge that is not resolved
			continue
		}
		c := change{old[e.Name], w.blob(e)}
		delete(old, e.Name)
		if !c.same() {
			changes = append(changes, c.split()...)
		}
	}
	for _, b := range old { // not in the index any more
		changes = append(changes, change{b, nil})
	}
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.path(), b.path()) })
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
		case e.Mode == filemode.Dir || path != "" && !isBelow(name, path):
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
	r     *repository
	crlf  bool
	index time.Time // when the index was written
	rules map[string][]gitattributes.MatchAttribute
}

func (r *repository) workTree() *workTree {
	w := &workTree{r: r, crlf: r.crlf(), rules: map[string][]gitattributes.MatchAttribute{}}
	if info, err := os.Stat(filepath.Join(r.dir, "index")); err == nil {
		w.index = info.ModTime()
	}
	return w
}

// blob is the working file of an index entry, nil if it is gone. Whether it can be executed is not to be seen here: its mode
// is that of the index, as with core.fileMode off.
func (w *workTree) blob(e *index.Entry) *blob {
	b := &blob{path: e.Name, mode: e.Mode, hash: e.Hash, read: func() ([]byte, error) {
		o, err := object.GetBlob(w.r, e.Hash)
		if err != nil {
			return nil, err
		}
		return readBlob(o)
	}}
	if e.Mode == filemode.Submodule {
		return b
	}
	path := filepath.Join(w.r.work, filepath.FromSlash(e.Name))
	info, err := os.Lstat(path)
	switch {
	case err != nil && e.SkipWorktree: // a sparse checkout left it out; one that is there counts
		return b
	case err != nil || info.IsDir():
		return nil
	}
	b.mode = modeOf(info, e.Mode)
	unchanged := e.Size == uint32(info.Size()) && e.ModifiedAt.Equal(info.ModTime()) && e.ModifiedAt.Before(w.index)
	if unchanged && e.Stage == 0 && !e.IntentToAdd { // git itself trusts size and time, but of a file as young as its index
		return b
	}
	b.read = func() ([]byte, error) { return w.load(e.Name, path, info) }
	data, err := b.read()
	if err != nil {
		b.hash = plumbing.ZeroHash
		return b
	}
	b.hash = plumbing.ComputeHash(plumbing.BlobObject, data)
	return b
}

// modeOf is the mode of a working file: a link, or else that of the index if it was no link.
func modeOf(info fs.FileInfo, known filemode.FileMode) filemode.FileMode {
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return filemode.Symlink
	case known == filemode.Symlink:
		return filemode.Regular
	}
	return known
}

// load reads a working file as git would store it.
func (w *workTree) load(name, path string, info fs.FileInfo) ([]byte, error) {
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(path)
		return []byte(target), err
	}
	if info.Size() > maxCompared || !info.Mode().IsRegular() {
		return nil, errLarge
	}
	data, err := os.ReadFile(path)
	if err == nil && bytes.Contains(data, []byte("\r\n")) && w.normalizes(name, data) {
		data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	}
	return data, err
}

// normalizes tells whether git stores a file with plain line ends: its attributes say so (text, eol, crlf), or the
// configuration does and they do not.
func (w *workTree) normalizes(name string, data []byte) bool {
	attributes := w.attributes(name)
	text, eol := attributes["text"], attributes["eol"]
	switch {
	case text != nil && text.IsUnset() || attributes["binary"] != nil && attributes["binary"].IsSet():
		return false
	case text != nil && text.IsSet():
		return true
	case text != nil && text.IsValueSet() && text.Value() == "auto":
		return !isBinary(data) && !w.storedCRLF(name)
	case eol != nil && eol.IsValueSet():
		return true
	}
	return w.crlf && !isBinary(data) && !w.storedCRLF(name)
}

// storedCRLF tells whether the index has the file with carriage returns: git then leaves them, unless a file is said to be
// text.
func (w *workTree) storedCRLF(name string) bool {
	idx, err := w.r.Index()
	if err != nil {
		return false
	}
	e, err := idx.Entry(name)
	if err != nil {
		return false
	}
	o, err := object.GetBlob(w.r, e.Hash)
	if err != nil {
		return false
	}
	data, err := readBlob(o)
	return err == nil && bytes.Contains(data, []byte("\r\n"))
}

// attributes are those of a file, from .gitattributes in its folders and info/attributes. What cannot be read says nothing.
func (w *workTree) attributes(name string) map[string]gitattributes.Attribute {
	parts := strings.Split(name, "/")
	var rules []gitattributes.MatchAttribute
	for i := range parts {
		rules = append(rules, w.rulesOf(parts[:i])...)
	}
	if f, err := os.Open(filepath.Join(w.r.common, "info", "attributes")); err == nil {
		own, err := gitattributes.ReadAttributes(f, nil, true)
		if f.Close() == nil && err == nil {
			rules = append(rules, own...)
		}
	}
	found, _ := gitattributes.NewMatcher(rules).Match(parts, []string{"text", "eol", "binary"})
	return found
}

func (w *workTree) rulesOf(dirs []string) []gitattributes.MatchAttribute {
	key := strings.Join(dirs, "/")
	if rules, ok := w.rules[key]; ok {
		return rules
	}
	rules, err := gitattributes.ReadAttributesFile(tree{w.r.work}, dirs, ".gitattributes", len(dirs) == 0)
	if err != nil {
		rules = nil
	}
	w.rules[key] = rules
	return rules
}
