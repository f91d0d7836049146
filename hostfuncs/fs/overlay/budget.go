package overlay

import "github.com/sallyport-mcp/sallyport/hostfuncs/wasi"

// Default limits of the changes of one call.
const (
	defaultBytes = 256 << 20 // written content, in bytes
	defaultFiles = 10_000    // paths created, changed, moved or removed; each is an entry in memory
)

// Share is the part of the changes under one grant.
type Share struct {
	ID           any   // comparable; nil is no share
	Bytes, Files int64 // limits; 0 is none
}

// Full describes a change that would have exceeded a limit.
type Full struct {
	Host  string // path of the change
	Share any    // ID of the share with that limit; nil for the limit of the call
	Files bool   // the limit counts files instead of bytes
	Used  int64  // before the change
	More  int64  // requested by the change
	Limit int64
}

// budget bounds the changes of a call and of each share of them.
type budget struct {
	bytes, files int64
	share        func(host string) Share // nil means none
	refused      func(Full)              // called for each refused change; nil if nobody is told
	parts        map[any]*part
	used         int64 // bytes of contents
}

// part is the usage of a share.
type part struct {
	Share
	used, count int64
}

// newBudget returns the budget of a call, with defaults for limits of 0.
func newBudget(o Options) *budget {
	b := &budget{bytes: o.Bytes, files: o.Files, share: o.Share, refused: o.Full, parts: map[any]*part{}}
	if b.bytes <= 0 {
		b.bytes = defaultBytes
	}
	if b.files <= 0 {
		b.files = defaultFiles
	}
	return b
}

// part returns the share of a path; nil if it has none.
func (b *budget) part(host string) *part {
	if b.share == nil {
		return nil
	}
	s := b.share(host)
	if s.ID == nil || s.Bytes == 0 && s.Files == 0 {
		return nil
	}
	if b.parts[s.ID] == nil {
		b.parts[s.ID] = &part{Share: s}
	}
	return b.parts[s.ID]
}

// admit decides on one more path, when the call has changed the given number of them. ENOSPC is returned beyond a
// limit.
func (b *budget) admit(host string, p *part, changed int64) wasi.Errno {
	if p != nil && p.Files > 0 && p.count >= p.Files {
		return b.full(Full{Host: host, Share: p.ID, Files: true, Used: p.count, More: 1, Limit: p.Files})
	}
	if changed >= b.files {
		return b.full(Full{Host: host, Files: true, Used: changed, More: 1, Limit: b.files})
	}
	return wasi.ESUCCESS
}

// grow decides on more bytes of a content. ENOSPC is returned beyond a limit.
func (b *budget) grow(c *content, more int64) wasi.Errno {
	if c.part != nil && c.part.Bytes > 0 && more > c.part.Bytes-c.part.used {
		return b.full(Full{Host: c.host, Share: c.part.ID, Used: c.part.used, More: more, Limit: c.part.Bytes})
	}
	if more > b.bytes-b.used {
		return b.full(Full{Host: c.host, Used: b.used, More: more, Limit: b.bytes})
	}
	return wasi.ESUCCESS
}

// account counts more bytes of a content, or fewer.
func (b *budget) account(c *content, more int64) {
	b.used += more
	if c.part != nil {
		c.part.used += more
	}
}

// full reports an exceeded limit and returns ENOSPC.
func (b *budget) full(f Full) wasi.Errno {
	if b.refused != nil {
		b.refused(f)
	}
	return wasi.ENOSPC
}
