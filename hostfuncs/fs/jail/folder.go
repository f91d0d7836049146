package jail

import (
	"errors"
	"hash/fnv"
	"io"
	"os"
	"path"
	"path/filepath"
	"unicode/utf8"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail/system"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// openFolders are the open folders of a call: renames update their paths.
type openFolders map[*folder]struct{}

// moved updates the paths of the folders at and below a renamed path.
func (o openFolders) moved(a, b *place) {
	for d := range o {
		if rest, ok := under(d.guest, a.guest); ok {
			d.guest = path.Join(b.guest, rest)
			d.host = filepath.Join(b.host, filepath.FromSlash(rest))
		}
	}
}

// folder is an open folder of the host, or a synthetic one above all mounts (f is nil).
type folder struct {
	tree        *Tree
	guest, host string
	real        string      // host path without links when it was opened
	info        os.FileInfo // file information when it was opened
	f           *os.File
	begun       bool            // the mounts have been listed
	seen        map[string]bool // names of the mounts, which hide the host's entries
}

var _ wasi.File = (*folder)(nil)

func (d *folder) Path() string { return d.guest }

// Spot returns the place of the folder.
func (d *folder) Spot() Spot {
	return Spot{Guest: d.guest, Host: d.host, Real: d.real, Info: d.info, Dir: true, Fixed: d.f == nil}
}

func (d *folder) Stat() (wasi.Stat, wasi.Errno) {
	if d.f == nil {
		return syntheticStat(d.guest), wasi.ESUCCESS
	}
	info, err := d.f.Stat()
	if err != nil {
		return wasi.Stat{}, system.Errno(err)
	}
	return system.Stat(info), wasi.ESUCCESS
}

// syntheticStat describes a folder above all mounts. Its inode is a hash of its path.
func syntheticStat(guest string) wasi.Stat {
	h := fnv.New64a()
	_, _ = io.WriteString(h, guest)
	return wasi.Stat{Ino: h.Sum64(), Nlink: 1, Type: wasi.TypeDirectory}
}

// ReadDir lists the mounts in the folder, then the host's entries that the guest may see.
func (d *folder) ReadDir(n int) ([]wasi.DirEntry, wasi.Errno) {
	if !d.begun {
		d.begun, d.seen = true, make(map[string]bool)
		if mounts := d.tree.paths.mountEntries(d.guest); len(mounts) > 0 {
			for _, m := range mounts {
				d.seen[m.Name] = true
			}
			return mounts, wasi.ESUCCESS
		}
	}
	if d.f == nil {
		return nil, wasi.ESUCCESS
	}
	for {
		entries, err := d.f.ReadDir(n)
		if out := d.filter(entries); len(out) > 0 {
			return out, wasi.ESUCCESS
		}
		if errors.Is(err, io.EOF) {
			return nil, wasi.ESUCCESS
		}
		if err != nil {
			return nil, system.Errno(err)
		}
	}
}

// filter returns the visible entries with names that the guest can use.
func (d *folder) filter(entries []os.DirEntry) []wasi.DirEntry {
	var out []wasi.DirEntry
	for _, entry := range entries {
		name := entry.Name()
		if d.seen[name] || !utf8.ValidString(name) || checkName(name) != wasi.ESUCCESS {
			continue
		}
		if d.tree.access.visible(filepath.Join(d.host, name), entry.IsDir()) {
			out = append(out, dirEntry(entry))
		}
	}
	return out
}

// dirEntry describes an entry, with its inode if it still exists.
func dirEntry(entry os.DirEntry) wasi.DirEntry {
	e := wasi.DirEntry{Name: entry.Name(), Type: wasi.FiletypeOf(entry.Type())}
	if info, err := entry.Info(); err == nil {
		e.Ino = system.Stat(info).Ino
	}
	return e
}

func (d *folder) Rewind() wasi.Errno {
	d.begun = false
	if d.f == nil {
		return wasi.ESUCCESS
	}
	_, err := d.f.Seek(0, io.SeekStart)
	return system.Errno(err)
}

func (d *folder) Sync() wasi.Errno {
	if d.f == nil {
		return wasi.ESUCCESS
	}
	return system.Errno(system.SyncFolder(d.f))
}

func (d *folder) Chtimes(t wasi.Times) wasi.Errno {
	return d.tree.Chtimes(d.guest, t, true)
}

func (d *folder) Close() wasi.Errno {
	delete(d.tree.folders, d)
	if d.f == nil {
		return wasi.ESUCCESS
	}
	return system.Errno(d.f.Close())
}

func (d *folder) ReadAt([]byte, int64) (int, wasi.Errno)  { return 0, wasi.EISDIR }
func (d *folder) WriteAt([]byte, int64) (int, wasi.Errno) { return 0, wasi.EISDIR }
func (d *folder) Append([]byte) (int, wasi.Errno)         { return 0, wasi.EISDIR }
func (d *folder) Truncate(int64) wasi.Errno               { return wasi.EISDIR }
