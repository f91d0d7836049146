package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"

	"github.com/sallyport-mcp/sallyport/plugins/internal/granted"
)

const (
	// cacheSize and largeObject keep the memory for objects well below the 64 MiB of an instance.
	cacheSize   = 8 << 20
	largeObject = 8 << 20
	// maxPointer bounds a .git file, which holds one path.
	maxPointer = 4 << 10
)

// repository is an open repository.
type repository struct {
	*filesystem.Storage
	dir    string // .git, or the git folder of a linked work tree
	common string // .git shared by all work trees
	work   string // work tree, "" for a bare repository
}

// open opens the repository that contains a path, found at the path or in the nearest folder above it.
func open(path string) (*repository, error) {
	start, err := granted.Clean(path)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(start); err != nil || granted.Nothing() {
		return nil, granted.Explain(start, errors.Join(fs.ErrNotExist, err))
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		gitDir, work, err := gitDirOf(dir)
		if err != nil {
			return nil, err
		}
		if gitDir != "" {
			return openDir(gitDir, work)
		}
		if dir == filepath.Dir(dir) {
			return nil, fmt.Errorf("%s is in no git repository, or the repository's .git is not granted", start)
		}
	}
}

// gitDirOf returns the git folder of dir, or "" if dir is not a repository.
func gitDirOf(dir string) (gitDir, work string, err error) {
	dot := filepath.Join(dir, ".git")
	info, err := os.Stat(dot)
	switch {
	case err == nil && info.IsDir():
		return dot, dir, nil
	case err == nil:
		target, err := pointer(dot, "gitdir: ")
		return target, dir, err
	case isGitDir(dir):
		return dir, "", nil
	}
	return "", "", nil
}

func isGitDir(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// pointer reads a file with the path of a folder, relative to the file.
func pointer(path, prefix string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", granted.Explain(path, err)
	}
	target, ok := strings.CutPrefix(strings.TrimSpace(string(data[:min(len(data), maxPointer)])), prefix)
	if !ok {
		return "", fmt.Errorf("%s does not name a repository", path)
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(path), target)
	}
	if _, err := os.Stat(target); err != nil {
		return "", granted.Explain(target, err)
	}
	return target, nil
}

func openDir(gitDir, work string) (*repository, error) {
	var files billy.Filesystem = tree{gitDir}
	r := &repository{dir: gitDir, common: gitDir, work: work}
	common := filepath.Join(gitDir, "commondir")
	if _, err := os.Stat(common); err == nil { // a linked work tree
		shared, err := pointer(common, "")
		if err != nil {
			return nil, err
		}
		r.common = shared
		files = dotgit.NewRepositoryFilesystem(tree{gitDir}, tree{shared})
	}
	r.Storage = filesystem.NewStorageWithOptions(files, cache.NewObjectLRU(cacheSize), filesystem.Options{
		LargeObjectThreshold: largeObject, AlternatesFS: tree{granted.Root},
	})
	return r, r.check()
}

// check refuses unknown repository formats, rather than showing incomplete data.
func (r *repository) check() error {
	c, err := r.Config()
	if err != nil {
		return fmt.Errorf("the repository's config: %w", err)
	}
	extensions := c.Raw.Section("extensions")
	if f := extensions.Option("objectformat"); f != "" && f != "sha1" {
		return fmt.Errorf("the repository names its objects by %s; only sha1 is understood", f)
	}
	if f := extensions.Option("refstorage"); f != "" && f != "files" {
		return fmt.Errorf("the repository keeps its refs as %s; only files are understood", f)
	}
	return nil
}

// crlf reports whether work tree files may have different line ends than stored ones.
func (r *repository) crlf() bool {
	c, err := r.Config()
	if err != nil {
		return false
	}
	v := c.Raw.Section("core").Option("autocrlf")
	return v == "true" || v == "input"
}
