package jail

import (
	"errors"
	"io"
	"os"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail/system"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// file is an open file of the host.
type file struct {
	guest  string
	f      *os.File
	read   bool
	write  bool
	append bool // opened with O_APPEND: writes go to the end, regardless of the offset
	at     Spot
}

var _ wasi.File = (*file)(nil)

func newFile(p *place, f *os.File, info os.FileInfo, o wasi.OpenOptions) *file {
	at := Spot{Guest: p.guest, Host: p.host, Real: p.host, Info: info}
	return &file{guest: p.guest, f: f, read: o.Read, write: o.Write, at: at}
}

// Spot returns the place where the file was opened, with the file information of that time.
func (f *file) Spot() Spot { return f.at }

func (f *file) Path() string { return f.guest }

func (f *file) Stat() (wasi.Stat, wasi.Errno) {
	info, err := f.f.Stat()
	if err != nil {
		return wasi.Stat{}, system.Errno(err)
	}
	return system.Stat(info), wasi.ESUCCESS
}

func (f *file) ReadAt(p []byte, off int64) (int, wasi.Errno) {
	if !f.read {
		return 0, wasi.EBADF
	}
	n, err := f.f.ReadAt(p, off)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, system.Errno(err)
}

func (f *file) WriteAt(p []byte, off int64) (int, wasi.Errno) {
	if !f.write {
		return 0, wasi.EBADF
	}
	if f.append {
		if err := system.SetAppend(f.f, false); err != nil {
			return 0, system.Errno(err)
		}
		f.append = false
	}
	n, err := f.f.WriteAt(p, off)
	return n, system.Errno(err)
}

// Append writes at the end of the file: in one write where the system supports O_APPEND on an open file, otherwise in
// two steps, between which another process can write.
func (f *file) Append(p []byte) (int, wasi.Errno) {
	if !f.write {
		return 0, wasi.EBADF
	}
	if !f.append {
		f.append = system.SetAppend(f.f, true) == nil
	}
	if f.append {
		n, err := f.f.Write(p)
		return n, system.Errno(err)
	}
	info, err := f.f.Stat()
	if err != nil {
		return 0, system.Errno(err)
	}
	n, err := f.f.WriteAt(p, info.Size())
	return n, system.Errno(err)
}

func (f *file) Truncate(size int64) wasi.Errno {
	if !f.write {
		return wasi.EINVAL
	}
	return system.Errno(f.f.Truncate(size))
}

func (f *file) Sync() wasi.Errno { return system.Errno(f.f.Sync()) }

func (f *file) Chtimes(t wasi.Times) wasi.Errno {
	if !f.write {
		return wasi.EBADF
	}
	st, e := f.Stat()
	if e != wasi.ESUCCESS {
		return e
	}
	return system.Errno(system.SetTimes(f.f, complete(t, st)))
}

func (f *file) ReadDir(int) ([]wasi.DirEntry, wasi.Errno) { return nil, wasi.ENOTDIR }
func (f *file) Rewind() wasi.Errno                        { return wasi.ENOTDIR }
func (f *file) Close() wasi.Errno                         { return system.Errno(f.f.Close()) }

// complete replaces unset times by the current ones.
func complete(t wasi.Times, st wasi.Stat) (atimeMtime [2]int64) {
	atimeMtime = [2]int64{st.Atime, st.Mtime}
	if t.Atime != nil {
		atimeMtime[0] = *t.Atime
	}
	if t.Mtime != nil {
		atimeMtime[1] = *t.Mtime
	}
	return atimeMtime
}
