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

// workChanges compares a tree with the tracked files of the work tree: those in the index, and those of the tree that
// are missing from it. Untracked files are not compared.
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
		if e.Stage != 0 && i > 0 && idx.Entries[i-1].Name == e.Name { // a further stage of an unresolved merge
			continue
		}
		c := change{old[e.Name], w.blob(e)}
		delete(old, e.Name)
		if !c.same() {
			changes = append(changes, c.split()...)
		}
	}
	for _, b := range old { // removed from the index
		changes = append(changes, change{b, nil})
	}
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.path(), b.path()) })
	return changes, nil
}

// treeBlobs returns all files of a tree by path, and reads none of them yet.
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

// workTree reads files of the work tree.
type workTree struct {
	r     *repository
	crlf  bool
	index time.Time // modification time of the index file
	rules map[string][]gitattributes.MatchAttribute
}

func (r *repository) workTree() *workTree {
	w := &workTree{r: r, crlf: r.crlf(), rules: map[string][]gitattributes.MatchAttribute{}}
	if info, err := os.Stat(filepath.Join(r.dir, "index")); err == nil {
		w.index = info.ModTime()
	}
	return w
}

// blob returns the file of an index entry, or nil if it is missing. The executable bit is not visible in the sandbox,
// so that the mode is that of the index, as with core.fileMode off.
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
	case err != nil && e.SkipWorktree: // omitted by a sparse checkout; an existing one counts
		return b
	case err != nil || info.IsDir():
		return nil
	}
	b.mode = modeOf(info, e.Mode)
	unchanged := e.Size == uint32(info.Size()) && e.ModifiedAt.Equal(info.ModTime()) && e.ModifiedAt.Before(w.index)
	if unchanged && e.Stage == 0 && !e.IntentToAdd { // as in git, unless the file is as new as the index
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

// modeOf returns the mode of a file: that of a link for a link, and else that of the index if it is not a link.
func modeOf(info fs.FileInfo, known filemode.FileMode) filemode.FileMode {
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return filemode.Symlink
	case known == filemode.Symlink:
		return filemode.Regular
	}
	return known
}

// load reads a file of the work tree as git would store it.
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

// normalizes reports whether git stores a file with LF line ends: according to its attributes (text, eol, crlf), or
// else to the configuration.
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

// storedCRLF reports whether the index has the file with carriage returns: git then keeps them, unless the file is
// declared as text.
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

// attributes returns those of a file, from .gitattributes in its folders and info/attributes. Unreadable files are
// ignored.
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
