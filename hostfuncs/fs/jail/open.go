package jail

import (
	"errors"
	"io/fs"
	"os"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail/system"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// filePerm and folderPerm are the modes of created files and folders, less the umask of the process. WASI has no
// modes.
const (
	filePerm   fs.FileMode = 0o666
	folderPerm fs.FileMode = 0o777
)

// Open implements wasi.Tree.
func (t *Tree) Open(path string, o wasi.OpenOptions) (wasi.File, wasi.Errno) {
	return again(func() (wasi.File, wasi.Errno) { return t.openOnce(path, o) })
}

func (t *Tree) openOnce(path string, o wasi.OpenOptions) (wasi.File, wasi.Errno) {
	op := Read
	if o.Write || o.Create {
		op = Write
	} else if o.Directory {
		op = List
	}
	exclusive := o.Create && o.Exclusive
	p, e := t.paths.walk(path, !o.NoFollow && !exclusive, op)
	if e != wasi.ESUCCESS {
		return nil, e
	}
	defer p.close()
	if p.name != "" && p.info == nil && o.Create {
		if e := t.rules.mayCreate(p, o); e != wasi.ESUCCESS {
			return nil, e
		}
		return createFile(p, o)
	}
	if e := t.access.see(p, op); e != wasi.ESUCCESS {
		return nil, e
	}
	switch {
	case exclusive:
		return nil, wasi.EEXIST
	case p.isDir() && o.Write:
		return nil, wasi.EISDIR
	case p.isDir():
		return t.openDir(p)
	case p.info.Mode()&fs.ModeSymlink != 0:
		return nil, wasi.ELOOP
	case o.Directory:
		return nil, wasi.ENOTDIR
	}
	if e := t.rules.mayOpen(p, o); e != wasi.ESUCCESS {
		return nil, e
	}
	return openFile(p, o)
}

// openFile opens an existing file. It is truncated only after it was verified to be the file that was decided on.
func openFile(p *place, o wasi.OpenOptions) (wasi.File, wasi.Errno) {
	if !p.info.Mode().IsRegular() {
		return nil, wasi.EACCES
	}
	f, err := p.parent().root.OpenFile(p.name, accessFlags(o), 0)
	if err != nil {
		return nil, lookedErrno(err)
	}
	info, err := f.Stat()
	if err == nil && !os.SameFile(info, p.info) {
		err = raced
	}
	if err == nil && o.Truncate {
		err = f.Truncate(0)
	}
	if err != nil {
		_ = f.Close()
		return nil, system.Errno(err)
	}
	return newFile(p, f, info, o), wasi.ESUCCESS
}

// createFile creates a file at a vacant place. O_EXCL follows no link that appears meanwhile.
func createFile(p *place, o wasi.OpenOptions) (wasi.File, wasi.Errno) {
	f, err := p.parent().root.OpenFile(p.name, accessFlags(o)|os.O_CREATE|os.O_EXCL, filePerm)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil, raced
	case err != nil:
		return nil, system.Errno(err)
	}
	return newFile(p, f, nil, o), wasi.ESUCCESS
}

func accessFlags(o wasi.OpenOptions) int {
	flags := os.O_RDONLY
	switch {
	case o.Read && o.Write:
		flags = os.O_RDWR
	case o.Write:
		flags = os.O_WRONLY
	}
	return flags | system.NoBlock
}

// openDir opens a folder for listing.
func (t *Tree) openDir(p *place) (wasi.File, wasi.Errno) {
	d := &folder{tree: t, guest: p.guest, host: p.host}
	if !p.synthetic() {
		d.real, d.info = p.host, p.info
		root := p.parent().root
		if p.name != "" {
			var err error
			if root, err = openFolder(root, p.name, p.info); err != nil {
				return nil, lookedErrno(err)
			}
			defer func() { _ = root.Close() }()
		}
		f, err := root.Open(".")
		if err != nil {
			return nil, system.Errno(err)
		}
		d.f = f
	}
	t.folders[d] = struct{}{}
	return d, wasi.ESUCCESS
}
