package commit

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Modes of new files and folders, less the umask of the process.
const (
	filePerm   fs.FileMode = 0o666
	folderPerm fs.FileMode = 0o777
)

// make creates an entry under an unused name, and flushes its content to disk.
func (l *landing) make(root *os.Root, name string, e *Entry) error {
	switch {
	case e.Dir:
		return l.makeDir(root, name, e)
	case e.Target != "":
		return root.Symlink(filepath.FromSlash(e.Target), name)
	}
	if first, ok := l.same[e]; ok {
		if link(first.root, first.name, root, name) == nil {
			return nil
		}
	} else {
		l.same[e] = made{root, name}
	}
	if e.Content == nil && e.From != nil {
		return moveHere(root, name, e)
	}
	return write(root, name, e)
}

func (l *landing) makeDir(root *os.Root, name string, e *Entry) error {
	if err := root.Mkdir(name, folderPerm); err != nil {
		return err
	}
	if e.Like != nil {
		if err := root.Chmod(name, e.Like.Mode().Perm()|0o700); err != nil {
			return err
		}
	}
	for _, c := range e.Children {
		if err := l.make(root, filepath.Join(name, c.Name), c.Entry); err != nil {
			return err
		}
	}
	if err := syncFolder(root, name); err != nil {
		return err
	}
	return e.setTimes(root, name)
}

// moveHere gives a file that is to move a hard link with the new name, or copies it if that is not possible.
func moveHere(root *os.Root, name string, e *Entry) error {
	if err := link(e.From.Folder, e.From.Name, root, name); err != nil {
		src, err := e.From.Folder.Open(e.From.Name)
		if err != nil {
			return err
		}
		defer func() { _ = src.Close() }()
		c := *e
		c.Content, c.Size, c.Like = src, e.From.Was.Size(), e.From.Was
		return write(root, name, &c)
	}
	now, err := root.Lstat(name)
	if err == nil && changed(e.From.Was, now) {
		err = ErrConflict
	}
	return errors.Join(err, e.setTimes(root, name))
}

func write(root *os.Root, name string, e *Entry) (err error) {
	perm := filePerm
	if e.Like != nil {
		perm = 0o600 // until the owner is set
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if e.Size > 0 {
		if _, err := io.Copy(f, io.NewSectionReader(e.Content, 0, e.Size)); err != nil {
			return err
		}
	}
	if e.Like != nil {
		if err := keepOwner(f, e.Like); err != nil {
			return err
		}
		if err := f.Chmod(e.Like.Mode().Perm() | e.Like.Mode()&fs.ModeSticky); err != nil {
			return err
		}
	}
	if err := e.setTimes(root, name); err != nil {
		return err
	}
	return f.Sync()
}

func (e *Entry) setTimes(root *os.Root, name string) error {
	if e.Times.Access == nil && e.Times.Modify == nil {
		return nil
	}
	now, err := root.Lstat(name)
	if err != nil {
		return err
	}
	access, modify := touchOf(&e.Times, now).times()
	return setTimes(root, name, access, modify)
}

func setTimes(root *os.Root, name string, access, modify time.Time) error {
	err := root.Chtimes(name, access, modify)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// syncFolders flushes the folders of the operations to disk.
func syncFolders(ops []*op) error {
	done := map[string]bool{}
	for _, o := range ops {
		if !done[o.Folder] {
			done[o.Folder] = true
			if err := syncFolder(o.root, "."); err != nil {
				return err
			}
		}
	}
	return nil
}
