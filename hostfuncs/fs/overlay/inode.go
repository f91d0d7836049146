package overlay

import (
	"math"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail"
	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail/system"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// inode is one file under all its names. Its content is the host's until the call writes to it.
type inode struct {
	files *files
	lower string    // path in the tree; empty for a file created by the call
	at    jail.Spot // the same place, with the file information of the first access
	known bool      // a node exists or existed for it
	names int       // number of nodes that refer to it
	opens int       // number of open handles
	read  bool      // the call has read the host's content, so that its writes depend on it
	data  *content  // nil while the content is the host's
	ino   uint64
	mtime int64
	times wasi.Times // times set by the call
}

// attach adds a node for a file of the host that is about to change. A known file has a node already, or lost it when
// the call moved or removed it.
func (in *inode) attach() wasi.Errno {
	if in.known {
		return wasi.ESUCCESS
	}
	return in.files.changes.put(&node{kind: file, at: in.at, was: in.at.Info, file: in})
}

// own returns the content that the call may write to. On first use the first size bytes of the host's content are
// copied into it.
func (in *inode) own(size int64) (*content, wasi.Errno) {
	if in.data != nil {
		return in.data, wasi.ESUCCESS
	}
	if e := in.attach(); e != wasi.ESUCCESS {
		return nil, e
	}
	c := &content{part: in.files.budget.part(in.at.Host), host: in.at.Host}
	if in.lower != "" && size > 0 {
		in.read = true
		if e := in.copyUp(c, size); e != wasi.ESUCCESS {
			in.files.budget.account(c, -c.size)
			c.drop()
			return nil, e
		}
	}
	in.data, in.mtime = c, time.Now().UnixNano()
	return c, wasi.ESUCCESS
}

func (in *inode) copyUp(c *content, size int64) wasi.Errno {
	f, e := in.files.lower.Open(in.lower, wasi.OpenOptions{Read: true})
	if e != wasi.ESUCCESS {
		return e
	}
	defer f.Close()
	buf := make([]byte, 64<<10)
	for off := int64(0); off < size; {
		n, e := f.ReadAt(buf[:min(int64(len(buf)), size-off)], off)
		if e != wasi.ESUCCESS || n == 0 {
			return e
		}
		if e := in.files.write(c, buf[:n], off); e != wasi.ESUCCESS {
			return e
		}
		off += int64(n)
	}
	return wasi.ESUCCESS
}

func (in *inode) writeAt(p []byte, off int64) (int, wasi.Errno) {
	c, e := in.own(math.MaxInt64)
	if e == wasi.ESUCCESS {
		e = in.files.write(c, p, off)
	}
	if e != wasi.ESUCCESS {
		return 0, e
	}
	in.mtime = time.Now().UnixNano()
	return len(p), wasi.ESUCCESS
}

func (in *inode) truncate(size int64) wasi.Errno {
	if size < 0 {
		return wasi.EINVAL
	}
	c, e := in.own(size)
	if e == wasi.ESUCCESS {
		e = in.files.reserve(c, size)
	}
	if e != wasi.ESUCCESS {
		return e
	}
	if c.truncate(size) != nil {
		return wasi.EIO
	}
	in.mtime = time.Now().UnixNano()
	return wasi.ESUCCESS
}

// stat describes the file as the call sees it.
func (in *inode) stat() (wasi.Stat, wasi.Errno) {
	var st wasi.Stat
	if in.lower != "" {
		st = system.Stat(in.at.Info)
		if in.data == nil {
			if now, e := in.files.lower.Stat(in.lower, false); e == wasi.ESUCCESS {
				st = now
			}
		}
	} else {
		st = wasi.Stat{Ino: in.ino, Nlink: 1, Type: wasi.TypeRegular}
	}
	if in.data != nil {
		st.Size, st.Mtime, st.Ctime = in.data.size, in.mtime, in.mtime
		st.Atime = max(st.Atime, in.mtime)
	}
	return withTimes(st, in.times), wasi.ESUCCESS
}

func withTimes(st wasi.Stat, t wasi.Times) wasi.Stat {
	if t.Atime != nil {
		st.Atime = *t.Atime
	}
	if t.Mtime != nil {
		st.Mtime = *t.Mtime
	}
	return st
}

// merge returns old with the times that t sets.
func merge(old, t wasi.Times) wasi.Times {
	if t.Atime != nil {
		at := *t.Atime
		old.Atime = &at
	}
	if t.Mtime != nil {
		mt := *t.Mtime
		old.Mtime = &mt
	}
	return old
}

// unused drops the content of a file without names and handles.
func (in *inode) unused() {
	if in.names == 0 && in.opens == 0 && in.known {
		in.drop()
	}
}

func (in *inode) drop() {
	if in.data != nil {
		in.files.budget.account(in.data, -in.data.size)
		in.data.drop()
		in.data = nil
	}
}
