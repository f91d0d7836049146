package wasi

// maxDescriptors is the maximum number of open descriptors of one call. The limit of the host process is shared by all
// calls.
const maxDescriptors = 512

// Descriptor flags (fdflags).
const (
	flagAppend   uint16 = 1 << 0
	flagDsync    uint16 = 1 << 1
	flagNonblock uint16 = 1 << 2
	flagRsync    uint16 = 1 << 3
	flagSync     uint16 = 1 << 4

	flagsAll = flagAppend | flagDsync | flagNonblock | flagRsync | flagSync
)

// Rights that C libraries use: they derive the access mode and isatty from them, and open files with at most the
// inheriting rights of a folder.
const (
	rightDatasync uint64 = 1 << 0
	rightRead     uint64 = 1 << 1
	rightSeek     uint64 = 1 << 2
	rightTell     uint64 = 1 << 5
	rightWrite    uint64 = 1 << 6
	rightAllocate uint64 = 1 << 8
	rightReaddir  uint64 = 1 << 14
	rightSetSize  uint64 = 1 << 22 // of an open file; of a path it is 1 << 19

	rightsAll     uint64 = 1<<30 - 1
	rightsReading        = rightRead | rightReaddir
	rightsStream         = rightsAll &^ (rightSeek | rightTell)
	rightsFolder         = rightsAll &^ (rightDatasync | rightRead | rightSeek | rightTell | rightWrite | rightAllocate | rightSetSize | 1<<19)
)

// descriptor is one open descriptor: a stream, or a file with its position.
type descriptor struct {
	stream  *stream // nil for a file
	file    File    // nil for a stream
	dir     bool    // file is a folder
	preopen bool
	flags   uint16
	rights  uint64 // as given to path_open; reported, not enforced
	inherit uint64
	offset  int64
	list    listing // of a folder
}

// table contains the descriptors of a call, by number.
type table struct {
	slots []*descriptor
}

// get returns nil for a number that is not open.
func (t *table) get(fd uint32) *descriptor {
	if uint64(fd) >= uint64(len(t.slots)) {
		return nil
	}
	return t.slots[fd]
}

// add assigns the lowest free number to d; false if there is none.
func (t *table) add(d *descriptor) (uint32, bool) {
	for i, old := range t.slots {
		if old == nil {
			t.slots[i] = d
			return uint32(i), true
		}
	}
	if len(t.slots) >= maxDescriptors {
		return 0, false
	}
	t.slots = append(t.slots, d)
	return uint32(len(t.slots) - 1), true
}

// full reports whether add would fail. It is called before the file is opened.
func (t *table) full() bool {
	if len(t.slots) < maxDescriptors {
		return false
	}
	for _, d := range t.slots {
		if d == nil {
			return false
		}
	}
	return true
}

func (t *table) close(fd uint32) Errno {
	d := t.get(fd)
	if d == nil {
		return EBADF
	}
	t.slots[fd] = nil
	return d.close()
}

// move renumbers the descriptor from to to, and closes the old descriptor to.
func (t *table) move(from, to uint32) Errno {
	if t.get(from) == nil || t.get(to) == nil {
		return EBADF
	}
	if from == to {
		return ESUCCESS
	}
	old := t.slots[to]
	t.slots[to], t.slots[from] = t.slots[from], nil
	_ = old.close() // closed even after an error
	return ESUCCESS
}

func (t *table) closeAll() {
	for i, d := range t.slots {
		if d != nil {
			_ = d.close()
		}
		t.slots[i] = nil
	}
}

func (d *descriptor) close() Errno {
	if d.file == nil {
		return ESUCCESS
	}
	return d.file.Close()
}

func (d *descriptor) filetype() Filetype {
	if d.file == nil {
		return TypeUnknown
	}
	if d.dir {
		return TypeDirectory
	}
	st, _ := d.file.Stat()
	return st.Type
}

// regular returns the file of the descriptor, or the error for reading or writing at an offset if it has none.
func (d *descriptor) regular() (File, Errno) {
	switch {
	case d == nil:
		return nil, EBADF
	case d.file == nil:
		return nil, ESPIPE
	case d.dir:
		return nil, EISDIR
	}
	return d.file, ESUCCESS
}

// preopen is the folder "/" on descriptor 3. It opens the root of the tree at first use, since most calls use no
// files.
type preopen struct {
	state *State
	root  File
}

var _ File = (*preopen)(nil)

func (p *preopen) open() (File, Errno) {
	if p.root != nil {
		return p.root, ESUCCESS
	}
	f, e := p.state.Tree().Open("/", OpenOptions{Directory: true})
	if e == ESUCCESS {
		p.root = f
	}
	return f, e
}

func (p *preopen) Path() string                       { return "/" }
func (p *preopen) ReadAt([]byte, int64) (int, Errno)  { return 0, EISDIR }
func (p *preopen) WriteAt([]byte, int64) (int, Errno) { return 0, EISDIR }
func (p *preopen) Append([]byte) (int, Errno)         { return 0, EISDIR }
func (p *preopen) Truncate(int64) Errno               { return EISDIR }

func (p *preopen) Stat() (Stat, Errno) {
	f, e := p.open()
	if e != ESUCCESS {
		return Stat{}, e
	}
	return f.Stat()
}

func (p *preopen) Sync() Errno {
	f, e := p.open()
	if e != ESUCCESS {
		return e
	}
	return f.Sync()
}

func (p *preopen) Chtimes(t Times) Errno {
	f, e := p.open()
	if e != ESUCCESS {
		return e
	}
	return f.Chtimes(t)
}

func (p *preopen) ReadDir(n int) ([]DirEntry, Errno) {
	f, e := p.open()
	if e != ESUCCESS {
		return nil, e
	}
	return f.ReadDir(n)
}

func (p *preopen) Rewind() Errno {
	f, e := p.open()
	if e != ESUCCESS {
		return e
	}
	return f.Rewind()
}

func (p *preopen) Close() Errno {
	if p.root == nil {
		return ESUCCESS
	}
	return p.root.Close()
}
