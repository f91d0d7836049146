// Package fileid identifies file contents: by a stamp without reading them, and by the digest of bytes read while no
// process wrote them.
package fileid

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// SettleTime is how long a file must be unchanged before it is read. A writer that pauses longer is detected from the
// contents, and on Linux by a file lease.
const SettleTime = 100 * time.Millisecond

// ErrNotRegular is the error for a folder, a device or the like.
var ErrNotRegular = errors.New("not a regular file")

// Stamp identifies the contents of a file without reading them. Equal stamps mean equal bytes, unless a writer sets the
// clock back. The zero Stamp means no file.
type Stamp struct {
	Device, Inode uint64 // 0 where the system has none
	Size          int64  // bytes
	Mtime, Ctime  int64  // nanoseconds since 1970; Ctime is 0 where the system has none
	Path          string // replaces Device and Inode where there are none
	Beside        string // the Key of the file that belongs to this one; "" if there is none
}

// With returns the stamp of a file together with another one that belongs to it. Both ages count.
func (s Stamp) With(other Stamp) Stamp {
	s.Beside = s.Key() + "+" + other.Key()
	s.Mtime = max(s.Mtime, other.Mtime)
	s.Ctime = max(s.Ctime, other.Ctime)
	return s
}

// Of returns the stamp of a regular file; links are followed.
func Of(path string) (Stamp, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Stamp{}, err
	}
	return from(path, info)
}

func from(path string, info os.FileInfo) (Stamp, error) {
	if !info.Mode().IsRegular() {
		return Stamp{}, ErrNotRegular
	}
	s := Stamp{Size: info.Size(), Mtime: info.ModTime().UnixNano()}
	if !s.identify(info) {
		s.Path = path
	}
	return s, nil
}

// Key returns the stamp as text.
func (s Stamp) Key() string {
	key := fmt.Sprintf("%d:%d:%d:%d:%d:%s", s.Device, s.Inode, s.Size, s.Mtime, s.Ctime, s.Path)
	if s.Beside != "" {
		key += "+" + s.Beside
	}
	return key
}

// Age returns the time since the last change of the file; negative if that is in the future.
func (s Stamp) Age(now time.Time) time.Duration {
	return now.Sub(time.Unix(0, max(s.Mtime, s.Ctime)))
}

// Quiet returns how long a file with this stamp, first seen at since, is known to be unchanged.
func (s Stamp) Quiet(since, now time.Time) time.Duration {
	quiet := now.Sub(since)
	if s.Ctime != 0 { // cannot be set back, so it also covers the time before this process
		quiet = max(quiet, s.Age(now))
	}
	return quiet
}
