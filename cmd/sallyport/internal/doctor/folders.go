package doctor

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	goruntime "runtime"
	"time"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/host"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/install"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/registry/lock"
)

// folders examines the plugin folder, the state folder and the lock file.
func (s Subject) folders(r *Report) {
	s.pluginFolder(r)
	s.stateFolder(r)
	for _, path := range install.Leftovers(s.Settings, s.Now) {
		r.add(Warning, "leftover", "an interrupted installation left %s", path).fixable("remove it", func() error { return os.RemoveAll(path) })
	}
	var broken *lock.FileError
	switch l, err := host.ReadLock(s.Settings); {
	case errors.As(err, &broken):
		r.add(Problem, "lock file", "%v; no plugin serves", err).next("put a good copy in its place, or remove it to trust the present bytes")
	case err != nil:
		r.add(Problem, "lock", "%v; a host that starts now serves no plugin", err)
	default:
		_ = l.Close() // nothing was written
	}
}

func (s Subject) pluginFolder(r *Report) {
	dir := s.Settings.Text("dir")
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.add(Warning, "plugin folder", "there is no folder %s yet", dir).fixable("make it", func() error { return os.MkdirAll(dir, 0o700) })
	case err != nil:
		r.add(Problem, "plugin folder", "%v", err)
	case !info.IsDir():
		r.add(Problem, "plugin folder", "%s is a file, not a folder", dir)
	default:
		r.add(OK, "plugin folder", "%s", dir)
		s.writableByOthers(r, "plugin folder", dir, info)
	}
}

func (s Subject) stateFolder(r *Report) {
	dir := s.Settings.Text("state")
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.add(OK, "state folder", "%s, which the first host makes", dir)
	case err != nil:
		r.add(Problem, "state folder", "%v", err)
	case !info.IsDir():
		r.add(Problem, "state folder", "%s is a file, not a folder", dir)
	default:
		if err := takes(dir, info); err != nil {
			r.add(Problem, "state folder", "nothing can be written to %s, so that no host starts: %v", dir, err).next("make room, or make it yours to write, or name another folder: --state FOLDER")
			return
		}
		used := sizeOf(dir)
		r.add(OK, "state folder", "%s, %s: audit log %s, compiled %s, approved %s, recorded %s", dir, size(used), size(sizeOf(s.Settings.State().Audit())),
			size(sizeOf(s.Settings.State().Compiled())), size(sizeOf(s.Settings.State().Approved())), size(sizeOf(s.Settings.State().Recorded())))
		s.writableByOthers(r, "state folder", dir, info)
	}
}

// probeSize is the size of the file that is written to examine a folder: more than the pages that a store adds at once.
const probeSize = 64 << 10

// takes returns the reason that a folder takes no files: its mode, a file system that is read-only, a full disk. The folder
// keeps its time, which the clock is compared with.
func takes(dir string, before fs.FileInfo) error {
	f, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, probeSize))
	err = errors.Join(err, f.Close(), os.Remove(f.Name()))
	_ = os.Chtimes(dir, time.Time{}, before.ModTime()) // only its owner may
	return err
}

// writableByOthers reports a file or folder that other users of this machine can change.
func (s Subject) writableByOthers(r *Report, topic, path string, info fs.FileInfo) {
	mode := info.Mode().Perm()
	if goruntime.GOOS == "windows" || mode&0o022 == 0 {
		return
	}
	f := r.add(Problem, topic, "others can write to %s (mode %04o), and so grant or replace plugins", path, mode)
	if itself, err := os.Lstat(path); err != nil || itself.Mode()&fs.ModeSymlink != 0 {
		f.next("it is a link: chmod go-w its target, if that belongs to Sallyport alone")
		return
	}
	f.fixable("take their write permission away", func() error { return protect(path, info) })
}

// protect takes the write permission of others away from a file that was examined. A file that took its place, or a
// link there, is left as it is.
func protect(path string, examined fs.FileInfo) error {
	if now, err := os.Lstat(path); err != nil {
		return err
	} else if !os.SameFile(now, examined) {
		return errReplaced
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if now, err := f.Stat(); err != nil {
		return err
	} else if !os.SameFile(now, examined) {
		return errReplaced
	}
	return f.Chmod(examined.Mode().Perm() &^ 0o022)
}

var errReplaced = errors.New("it was replaced meanwhile, and is left as it is")

// sizeOf returns the bytes of all files in a folder, as far as they can be read.
func sizeOf(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil // counts as nothing
		}
		if info, err := d.Info(); err == nil {
			n += info.Size()
		}
		return nil
	})
	return n
}

// size formats a number of bytes, rounded to the next lower unit.
func size(n int64) string {
	for _, unit := range []int64{1 << 30, 1 << 20, 1 << 10} {
		if n >= unit {
			return grant.FormatSize(n / unit * unit)
		}
	}
	return grant.FormatSize(n)
}
