package wasi

import (
	"context"
	"encoding/binary"
	"strings"
	"unicode/utf8"

	"github.com/sallyport-mcp/sallyport/runtime"
)

const (
	// maxPath is the maximum length of a path in bytes, as on Linux (PATH_MAX).
	maxPath = 4096
	// maxVectors is the maximum number of buffers of one read or write, as on Linux (IOV_MAX).
	maxVectors = 1024
	// maxTransfer is the maximum number of bytes that one read or write moves. Since buffers may overlap, the size of
	// the guest's memory is no limit. Both may move fewer bytes than requested.
	maxTransfer = 16 << 20
)

var le = binary.LittleEndian

// call is the context of one host function: context and state of the call, and the memory of the guest.
type call struct {
	*State
	ctx context.Context
	mem runtime.Memory
}

func (c call) bytes(ptr, size uint64) ([]byte, Errno) {
	b, ok := c.mem.Read(uint32(ptr), uint32(size))
	if !ok {
		return nil, EFAULT
	}
	return b, ESUCCESS
}

func (c call) put(ptr uint64, b []byte) Errno {
	if !c.mem.Write(uint32(ptr), b) {
		return EFAULT
	}
	return ESUCCESS
}

func (c call) put32(ptr uint64, v uint32) Errno {
	b, e := c.bytes(ptr, 4)
	if e == ESUCCESS {
		le.PutUint32(b, v)
	}
	return e
}

func (c call) put64(ptr uint64, v uint64) Errno {
	b, e := c.bytes(ptr, 8)
	if e == ESUCCESS {
		le.PutUint64(b, v)
	}
	return e
}

// writable checks that a result can be written, before any effect.
func (c call) writable(ptr, size uint64) Errno {
	_, e := c.bytes(ptr, size)
	return e
}

// text reads a string for use in a path: UTF-8 without NUL, at most maxPath bytes.
func (c call) text(ptr, size uint64) (string, Errno) {
	if uint32(size) > maxPath {
		return "", ENAMETOOLONG
	}
	b, e := c.bytes(ptr, size)
	if e != ESUCCESS {
		return "", e
	}
	s := string(b)
	switch {
	case s == "":
		return "", ENOENT
	case strings.ContainsRune(s, 0):
		return "", EINVAL
	case !utf8.ValidString(s):
		return "", EILSEQ
	}
	return s, ESUCCESS
}

// path reads a path below the folder fd and returns it as an absolute path. EPERM is returned for a path that begins
// with a slash or leaves its folder.
func (c call) path(fd, ptr, size uint64) (string, Errno) {
	d := c.files.get(uint32(fd))
	if d == nil {
		return "", EBADF
	}
	if !d.dir {
		return "", ENOTDIR
	}
	s, e := c.text(ptr, size)
	if e != ESUCCESS {
		return "", e
	}
	base := strings.TrimSuffix(d.file.Path(), "/")
	if climbs(s) {
		if c.climbed != nil {
			c.climbed(base+"/", s)
		}
		return "", EPERM
	}
	if len(base)+1+len(s) > maxPath {
		return "", ENAMETOOLONG
	}
	return base + "/" + s, ESUCCESS
}

// climbs reports whether a path, taken literally, leaves the folder that it starts in.
func climbs(path string) bool {
	if path[0] == '/' {
		return true
	}
	depth := 0
	for part := range strings.SplitSeq(path, "/") {
		switch part {
		case "", ".":
		case "..":
			if depth--; depth < 0 {
				return true
			}
		default:
			depth++
		}
	}
	return false
}

// vectors reads count (pointer, length) pairs and returns the views of memory that they describe, at most maxTransfer
// bytes in total.
func (c call) vectors(ptr, count uint64) ([][]byte, Errno) {
	if uint32(count) > maxVectors {
		return nil, EINVAL
	}
	raw, e := c.bytes(ptr, 8*uint64(uint32(count)))
	if e != ESUCCESS {
		return nil, e
	}
	out := make([][]byte, 0, uint32(count))
	left := maxTransfer
	for ; len(raw) > 0; raw = raw[8:] {
		b, e := c.bytes(uint64(le.Uint32(raw)), uint64(le.Uint32(raw[4:])))
		if e != ESUCCESS {
			return nil, e
		}
		if b = b[:min(len(b), left)]; len(b) > 0 {
			out = append(out, b)
		}
		left -= len(b)
	}
	return out, ESUCCESS
}
